from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.availability import leave_out_missing
from shrag.evaluation.experiments.language_models import LanguageModels, ModelChoice
from shrag.evaluation.experiments.spec import (
    Claim,
    Condition,
    CorpusSource,
    Experiment,
    Selection,
    UnanswerableSource,
)
from tests.support.scripted_models import ScriptedModel
from tests.support.small_experiment import BM25, DEMO_SET, OR, SMALL

GPQA = msgspec.structs.replace(DEMO_SET, name="gpqa", references="gpqa.csv", bring="the questions of GPQA")
DENSE = Condition("dense", encoder="gte", group="dense", bring="the weights of mGTE")
WRITTEN = Condition("written", model=True, answers=True, group="written", bring="a language model")
FULL = msgspec.structs.replace(
    SMALL, sets=(DEMO_SET, GPQA), conditions=(OR, BM25, DENSE, WRITTEN), plots=(), baseline="or"
)


CHOICE = ModelChoice("scripted", "f", lambda seed: nullcontext(ScriptedModel()))
NONE = LanguageModels()


def _left(experiment: Experiment, tmp_path: Path, models: LanguageModels = NONE) -> tuple[Experiment, list[str]]:
    lines: list[str] = []
    return leave_out_missing(experiment, tmp_path / "data", tmp_path / "weights", models, lines.append), lines


def test_what_was_not_brought_is_left_out_with_a_line_each(tmp_path: Path) -> None:
    left, lines = _left(FULL, tmp_path)
    assert [each.name for each in left.sets] == ["demo"]
    assert [each.name for each in left.conditions] == ["or", "bm25"]
    assert lines == [
        "the set gpqa is left out: gpqa.csv is missing. It needs the questions of GPQA",
        "the condition dense is left out: there are no weights of gte. It needs the weights of mGTE",
        "the condition written is left out: no language model is configured. It needs a language model",
    ]


def test_what_was_brought_stays(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gpqa.csv").touch()
    (tmp_path / "weights" / "gte").mkdir(parents=True)
    left, lines = _left(FULL, tmp_path, LanguageModels(CHOICE))
    assert (left, lines) == (FULL, [])


@pytest.mark.parametrize(
    ("field", "value", "file"),
    [
        ("topics", "t.tsv", "t.tsv"),
        ("qrels", "q.txt", "q.txt"),
        ("corpus", CorpusSource("miracl", ("shrag:demo/records.jsonl", "ko")), "ko"),
        ("subset", Selection("list.tsv"), "list.tsv"),
        ("unanswerable", "far.tsv", "far.tsv"),
        ("unanswerable", UnanswerableSource("shrag:demo/unanswerable.tsv", "kinds.tsv"), "kinds.tsv"),
    ],
)
def test_each_file_of_a_set_is_missed(tmp_path: Path, field: str, value: object, file: str) -> None:
    whole = msgspec.structs.replace(GPQA, name="whole", references="")
    lacking = msgspec.structs.replace(whole, name="lacking", **{field: value})
    experiment = msgspec.structs.replace(FULL, sets=(whole, lacking), conditions=(OR,))
    assert _left(experiment, tmp_path)[1] == [
        f"the set lacking is left out: {file} is missing. It needs the questions of GPQA",
    ]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / file).touch()
    assert _left(experiment, tmp_path) == (experiment, [])


def test_a_set_over_an_index_of_ones_own_needs_no_corpus_no_references_and_no_folder_of_data(tmp_path: Path) -> None:
    own = msgspec.structs.replace(GPQA, corpus=None, index="own", references="")
    assert _left(msgspec.structs.replace(FULL, sets=(own,), conditions=(OR,)), tmp_path)[1] == []


def test_what_a_condition_lacks_stops_the_run_later_where_nobody_was_asked_to_bring_it(tmp_path: Path) -> None:
    required = tuple(msgspec.structs.replace(each, bring="") for each in (DENSE, WRITTEN))
    experiment = msgspec.structs.replace(FULL, sets=(DEMO_SET,), conditions=(OR, *required))
    assert _left(experiment, tmp_path) == (experiment, [])


def test_a_condition_that_names_a_language_model_without_an_address_is_left_out(tmp_path: Path) -> None:
    flash, pro = (msgspec.structs.replace(WRITTEN, name=name, model=name, group=name) for name in ("flash", "pro"))
    two = msgspec.structs.replace(FULL, sets=(DEMO_SET,), conditions=(OR, flash, pro))
    left, lines = _left(two, tmp_path, LanguageModels(CHOICE, {"flash": CHOICE}))
    assert [each.name for each in left.conditions] == ["or", "flash"]
    assert lines == ["the condition pro is left out: the language model pro has no address. It needs a language model"]


def test_a_file_that_nobody_was_asked_to_bring_is_left_to_stop_the_run(tmp_path: Path) -> None:
    required = msgspec.structs.replace(FULL, sets=(msgspec.structs.replace(GPQA, bring=""),), conditions=(OR,))
    assert _left(required, tmp_path) == (required, [])


def test_without_the_baseline_nothing_is_compared_with_it(tmp_path: Path) -> None:
    claimed = msgspec.structs.replace(FULL, baseline="dense", claims=(Claim("Dense is best.", "nDCG@10"),))
    left, _ = _left(claimed, tmp_path)
    assert (left.baseline, left.claims) == ("", ())
    assert [each.name for each in left.conditions] == ["or", "bm25"]


def test_an_experiment_of_which_nothing_is_left_is_refused_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(ExperimentRejected, match=r"The experiment has no set left: gpqa.csv is missing. It needs"):
        _left(msgspec.structs.replace(FULL, sets=(GPQA,)), tmp_path)
    with pytest.raises(
        ExperimentRejected,
        match=r"The experiment has no condition left.*no language model is "
        r"configured",
    ):
        _left(msgspec.structs.replace(FULL, conditions=(WRITTEN,), baseline=""), tmp_path)
