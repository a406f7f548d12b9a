"""The experiment ``languages`` has the four pairs of languages, and each joint index beside one of its own."""

from __future__ import annotations

import pytest

from shrag.evaluation.experiments.engines import index_name
from shrag.evaluation.experiments.spec import CorpusSource, Experiment, Selection
from shrag.evaluation.experiments.spec_file import find_experiment, read_experiment


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return read_experiment(find_experiment("languages"))


def test_each_pair_of_languages_is_a_set_of_one_index(experiment: Experiment) -> None:
    pairs = {each.name: each for each in experiment.sets if each.subset}
    assert set(pairs) == {f"scholarly-{asked}-{told}" for asked in ("en", "ko") for told in ("en", "ko")}
    for name, each in pairs.items():
        asked, told = name.split("-")[1:]
        assert isinstance(each.subset, Selection)
        assert each.subset.where == {"question_language": asked, "record_language": told}
    assert len({index_name(each, "") for each in experiment.sets if each.name.startswith("scholarly")}) == 1


def test_each_joint_set_has_the_questions_of_the_set_it_is_compared_with_and_more_records(
    experiment: Experiment,
) -> None:
    sets = {each.name: each for each in experiment.sets}
    joint = [each for each in experiment.sets if each.compare_with]
    assert len(joint) == 4
    for each in joint:
        alone = sets[each.compare_with]
        assert (each.topics, each.qrels, each.sample) == (alone.topics, alone.qrels, alone.sample)
        assert isinstance(each.corpus, CorpusSource)
        assert isinstance(alone.corpus, CorpusSource)
        assert set(alone.corpus.paths) < set(each.corpus.paths)


def test_refusals_are_measured_on_three_collections(experiment: Experiment) -> None:
    assert [each.name for each in experiment.sets if each.unanswerable_source] == ["scholarly", "demo", "wiki-ko"]
