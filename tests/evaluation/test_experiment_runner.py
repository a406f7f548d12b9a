"""Whole runs of an experiment: reproducible, resumable at any point, refused where they do not match."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.files import lock_folder
from shrag.corpora.ingest.add import add_corpus
from shrag.evaluation import experiment_runner
from shrag.evaluation.errors import ExperimentRejected, ResultsMismatch
from shrag.evaluation.experiment_runner import RunOptions
from shrag.evaluation.experiments import part as journal
from shrag.evaluation.experiments.engines import OpenIndexes
from shrag.evaluation.experiments.language_models import LanguageModels, ModelChoice
from shrag.evaluation.experiments.part import ExperimentPart, read_outcomes
from shrag.evaluation.experiments.run_card import read_card
from shrag.evaluation.experiments.spec import Condition, LanguageModelSource
from shrag.evaluation.measures.trec_run import read_run
from shrag.evaluation.questions.outcome import QuestionRecord
from shrag.evaluation.reports.result_folder import ResultFolder, open_results
from shrag.evaluation.reports.table import read_table
from shrag.indexing.build.builder import build_index
from shrag.indexing.errors import UnknownEncoder
from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import LanguageModel
from shrag.serving.engine import open_engine
from shrag.serving.search_settings import SearchSettings
from tests.support.scripted_models import ScriptedModel, listed
from tests.support.small_experiment import DEMO_SET, OR, SMALL, contents, folders, run_small

pytestmark = pytest.mark.slow


def test_a_second_run_has_the_same_bytes_whatever_the_number_of_threads(
    demo_home: Path, results_folder: Path, tmp_path: Path
) -> None:
    run_small(demo_home, tmp_path / "again", plots=True, threads=3)
    assert contents(tmp_path / "again") == contents(results_folder)
    one, other = read_card(results_folder), read_card(tmp_path / "again")
    assert (one.fingerprint, one.files) == (other.fingerprint, other.files)
    assert set(one.files) == set(contents(results_folder))


def test_without_a_number_of_threads_there_is_one_for_each_core_and_four_at_most(results_folder: Path) -> None:
    (session,) = read_card(results_folder).sessions
    assert session.threads == min(4, len(os.sched_getaffinity(0)))


def test_a_run_is_what_the_engine_ranks_with_the_settings_of_the_condition(
    demo_home: Path, results_folder: Path
) -> None:
    engine = open_engine(demo_home / "indexes", "demo")
    lines = read_run(results_folder / "demo" / "and.run")
    topics = (results_folder / "demo" / "topics.tsv").read_text(encoding="utf-8").splitlines()
    assert len(topics) == 10
    for topic in topics:
        qid, _, text = topic.partition("\t")
        found = engine.search(text, k=20, every_record=True, settings=SearchSettings(ands=9))
        assert [line.docid for line in lines if line.qid == qid] == [r.record.docid for r in found.ranking.records]
    assert {line.tag for line in lines} == {"shrag-and"}
    engine.close()


def test_the_folder_has_all_that_is_needed_to_judge_it_again(results_folder: Path) -> None:
    assert sorted(path.name for path in (results_folder / "demo").iterdir()) == [
        *(f"{name}.{kind}" for name in ("and", "bm25", "or") for kind in ("questions.jsonl", "run", "times.jsonl")),
        "qrels.txt",
        "titles.json",
        "topics.tsv",
    ]
    assert sorted(path.name for path in results_folder.iterdir() if path.name != ".lock") == [
        *("card.json", "demo", "plots", "table.json", "table.md", "times.json"),
    ]
    outcomes = read_outcomes(results_folder, ExperimentPart("demo", "bm25"))
    assert all(outcome.answer and outcome.answer.kind == "extractive" for outcome in outcomes)
    titles = json.loads((results_folder / "demo" / "titles.json").read_bytes())
    named = {
        docid for outcome in outcomes for docid in (*outcome.top_docids, *(each.docid for each in outcome.relevant))
    }
    assert named <= set(titles)


def test_no_path_of_the_machine_is_in_the_results(demo_home: Path, results_folder: Path) -> None:
    for name, data in {**contents(results_folder), "card": (results_folder / "card.json").read_bytes()}.items():
        assert str(demo_home).encode() not in data, name
        assert str(Path(__file__).parents[2]).encode() not in data, name


def test_sets_that_cannot_be_compared_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("x\tWhy?\n")
    (tmp_path / "qrels.txt").write_text("x 0 DEMO-MAT-001 1\n")
    apart = msgspec.structs.replace(
        DEMO_SET, name="apart", topics="topics.tsv", qrels="qrels.txt", index="demo", compare_with="demo"
    )
    experiment = msgspec.structs.replace(SMALL, sets=(DEMO_SET, apart))
    with pytest.raises(ExperimentRejected, match="The sets apart and demo have no judged question in common"):
        experiment_runner.run_experiment(experiment, tmp_path / "results", folders(tmp_path / "home", tmp_path))
    assert not (tmp_path / "home" / "corpora").exists()


def test_where_no_condition_that_is_judged_is_left_the_run_still_ends_with_its_table(tmp_path: Path) -> None:
    peer = Condition("bm25s", peer="bm25s")
    experiment = msgspec.structs.replace(SMALL, conditions=(peer,), baseline="", judge=True, judge_records=5)
    unjudged = msgspec.structs.replace(SMALL, judge=False, judge_records=0)
    lines: list[str] = []
    for each in (experiment, unjudged):
        experiment_runner._judge(
            ResultFolder(tmp_path, each, judge="scripted"),
            ModelChoice("scripted", "", lambda seed: nullcontext(ScriptedModel())),
            OpenIndexes(tmp_path),
            RunOptions(log=lines.append),
        )
    assert lines == []


class _Killed(BaseException):
    """What no part of the runner catches, as a kill is."""


@pytest.mark.parametrize("stopped_after", [1, 10, 11, 30])
def test_stopped_anywhere_and_gone_on_with_it_ends_in_the_same_files_and_asks_nothing_twice(
    demo_home: Path, results_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_after: int
) -> None:
    real, asked = journal.append_to_journal, 0

    def append_to_journal(path: Path, coming: Iterator[QuestionRecord]) -> Iterator[QuestionRecord]:
        nonlocal asked
        for each in real(path, coming):
            asked += 1
            yield each
            if asked == stopped_after:
                raise _Killed

    folder = tmp_path / "stopped"
    with monkeypatch.context() as patched:
        patched.setattr(experiment_runner, "append_to_journal", append_to_journal)
        with pytest.raises(_Killed):
            run_small(demo_home, folder, threads=1)
    with pytest.raises(ResultsMismatch, match="already holds results: continue them with --resume"):
        run_small(demo_home, folder)
    ran = run_small(demo_home, folder, resume=True)
    assert ran.questions_asked == 30 - stopped_after
    assert not (folder / "plots").exists()  # they were not asked for
    sessions = read_card(folder).sessions
    assert [bool(session.ended) for session in sessions] == [False, True]
    assert run_small(demo_home, folder, plots=True, resume=True).questions_asked == 0
    assert contents(folder) == contents(results_folder)


def test_a_part_that_was_being_written_is_written_again(demo_home: Path, results_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(results_folder, folder)
    (folder / "demo" / "and.questions.jsonl").unlink()
    (folder / "demo" / "and.run").write_text("half")
    assert run_small(demo_home, folder, plots=True, resume=True).questions_asked == 10
    assert contents(folder) == contents(results_folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"k": 19}, r"come from a different configuration \(experiment.k was 20 and is 19\)"),
        ({"seed": 1}, r"come from a different configuration \(experiment.seed was 0 and is 1 and 1 more\)"),
        (
            {"sets": (msgspec.structs.replace(DEMO_SET, sample=9),)},
            r"sets\[0\].sample was 10 and is 9 and 2 more",
        ),
    ],
)
def test_results_made_otherwise_are_not_gone_on_with(
    demo_home: Path, results_folder: Path, tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(results_folder, folder)
    before = contents(folder)
    with pytest.raises(ResultsMismatch, match=says):
        run_small(demo_home, folder, msgspec.structs.replace(SMALL, **changes), resume=True)
    assert contents(folder) == before


def test_an_index_of_other_records_is_refused(demo_home: Path, results_folder: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "other", tmp_path / "copy"
    shutil.copytree(results_folder, folder)
    records = (Path(__file__).parents[2] / "corpora" / "demo" / "records.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "fewer.jsonl").write_bytes(b"".join(records[:60]))
    add_corpus(home / "corpora", "demo", "scienceon", [tmp_path / "fewer.jsonl"], replace=True)
    with pytest.raises(ResultsMismatch, match="The corpus demo was read from other files than the set demo names"):
        run_small(home, folder, resume=True)
    build_index(home / "corpora", home / "indexes", "demo")
    as_it_is = msgspec.structs.replace(SMALL, sets=(msgspec.structs.replace(DEMO_SET, corpus=None, index="demo"),))
    with pytest.raises(ResultsMismatch, match=r"come from a different configuration \(experiment.sets\[0\].corpus was"):
        run_small(home, folder, as_it_is, resume=True)
    run_small(demo_home, tmp_path / "named", as_it_is)
    with pytest.raises(
        ResultsMismatch, match=r"come from a different configuration \(indexes.demo.corpus was \"[0-9a-f]+…"
    ):
        run_small(home, tmp_path / "named", as_it_is, resume=True)


def test_other_code_is_refused(
    demo_home: Path, results_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(results_folder, folder)
    monkeypatch.setattr("shrag.evaluation.experiments.run_card.code_digest", lambda: "0" * 64)
    with pytest.raises(ResultsMismatch, match=r'code was .* and is "0000'):
        run_small(demo_home, folder, resume=True)


def test_a_folder_that_another_process_writes_is_left_alone(demo_home: Path, tmp_path: Path) -> None:
    with lock_folder(tmp_path / "r"), pytest.raises(ResultsMismatch, match="is being written by process"):
        run_small(demo_home, tmp_path / "r")


def test_a_question_that_cannot_be_asked_is_an_error_and_counts_as_zero(demo_home: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "t.tsv").write_text(f"long\t{'긴 ' * 1_500}\nfine\t그래핀 에어로겔 차폐\n", encoding="utf-8")
    (data / "q.txt").write_text("long 0 DEMO-MAT-001 1\nfine 0 DEMO-MAT-001 1\n")
    judged = msgspec.structs.replace(DEMO_SET, topics=str(data / "t.tsv"), qrels=str(data / "q.txt"), sample=None)
    experiment = msgspec.structs.replace(SMALL, sets=(judged,), conditions=(OR,), measures=("RR",), plots=())
    (row,) = run_small(demo_home, tmp_path / "r", experiment).table.sets[0].rows
    assert (row.questions, row.errors, row.empty) == (2, 1, 1)
    assert row.cells["RR"].mean == pytest.approx(1 / 2)
    errors = [outcome.error for outcome in read_outcomes(tmp_path / "r", ExperimentPart("demo", "or"))]
    assert errors == ["The question has 2999 characters, at most 2000 are read: shorten it.", ""]


def _choice(models: list[tuple[int, ScriptedModel]], failing: bool = False) -> ModelChoice:
    @contextmanager
    def opened(seed: int) -> Iterator[LanguageModel]:
        # What the model says depends on its seed: so do the keywords, and the means of the repeats.
        korean = listed("그래핀", "차폐") if seed % 2 else listed("재택근무", "갈등")
        model = ScriptedModel(ModelUnavailable("away") if failing else korean, listed("graphene"))
        models.append((seed, model))
        yield model

    return ModelChoice("scripted", "f" * 64, opened)


def test_a_condition_with_a_model_is_repeated_each_time_with_a_seed_of_its_own(demo_home: Path, tmp_path: Path) -> None:
    models: list[tuple[int, ScriptedModel]] = []
    conditions = (Condition("or", group="or"), Condition("without", model=False, group="without"))
    experiment = msgspec.structs.replace(SMALL, conditions=conditions, repeats=3, seed=5, plots=())
    ran = run_small(demo_home, tmp_path / "r", experiment, _choice(models))
    assert [seed for seed, model in models if model.asked] == [5, 6, 7]
    assert ran.questions_asked == 3 * 10 + 10
    files = sorted(path.name for path in (tmp_path / "r" / "demo").glob("*.run"))
    assert files == ["or.1.run", "or.2.run", "or.3.run", "without.run"]
    with_model, without = ran.table.sets[0].rows
    collected = with_model.cells["num_candidates"]
    means = collected.repeats
    assert len(means) == 3
    assert means[0] == means[2] != means[1]
    assert collected.mean == pytest.approx(sum(means) / 3)
    assert collected.spread == pytest.approx(abs(means[0] - means[1]) / 3**0.5)
    assert (len(without.cells["num_candidates"].repeats), without.cells["num_candidates"].spread) == (1, None)
    assert read_card(tmp_path / "r").identity.model.name == "scripted"


def test_two_conditions_have_a_language_model_each(demo_home: Path, tmp_path: Path) -> None:
    def choice(name: str, *korean: str) -> ModelChoice:
        @contextmanager
        def opened(seed: int) -> Iterator[LanguageModel]:
            yield ScriptedModel(listed(*korean), listed("graphene"))

        return ModelChoice(name, name * 8, opened)

    conditions = tuple(Condition(name, model=name, group=name) for name in ("flash", "pro"))
    sources = (LanguageModelSource("flash"), LanguageModelSource("pro"))
    experiment = msgspec.structs.replace(SMALL, conditions=conditions, models=sources, baseline="flash", plots=())
    named = {"flash": choice("small", "그래핀", "차폐"), "pro": choice("large", "재택근무")}
    models = LanguageModels(None, named)
    run_small(demo_home, tmp_path / "r", experiment, models)
    identity = read_card(tmp_path / "r").identity
    assert {name: (each.name, each.fingerprint) for name, each in identity.models.items()} == {
        "flash": ("small", "small" * 8),
        "pro": ("large", "large" * 8),
    }
    assert (identity.model.name, identity.stochastic_conditions) == ("", ("flash", "pro"))
    flash, pro = (read_outcomes(tmp_path / "r", ExperimentPart("demo", name)) for name in ("flash", "pro"))
    for outcomes, word in ((flash, "그래핀"), (pro, "재택근무")):
        assert all(any(keyword.startswith(word) for keyword in each.keywords) for each in outcomes)
    # What a query was asked for is the paper's ten, whatever the k of the experiment.
    assert read_card(tmp_path / "r").depths == {"demo/flash": (10, 10), "demo/pro": (10, 10)}
    del named["pro"]
    with pytest.raises(ExperimentRejected, match="pro needs a language model, and the language model pro has no addr"):
        run_small(demo_home, tmp_path / "s", experiment, models)


def test_a_model_that_fails_is_counted_and_one_that_is_needed_and_not_there_refused(
    demo_home: Path, tmp_path: Path
) -> None:
    experiment = msgspec.structs.replace(SMALL, conditions=(Condition("or", model=True, group="or"),), plots=())
    with pytest.raises(
        ExperimentRejected, match="The condition or needs a language model, and no language model is conf"
    ):
        run_small(demo_home, tmp_path / "r", experiment)
    with pytest.raises(
        ExperimentRejected, match="The condition or needs a language model, and --no-model is given: leave out --no-mo"
    ):
        run_small(demo_home, tmp_path / "r", experiment, LanguageModels(ignored=True))
    assert not (tmp_path / "r").exists()
    ran = run_small(demo_home, tmp_path / "r", experiment, _choice([], failing=True))
    assert ran.table.sets[0].rows[0].fallbacks == 10


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        (Condition("h", strategy="hyde"), "The condition h cannot be run: The strategy hyde needs a language model"),
        (Condition("v", strategy="raise-0.84"), "The condition v cannot be run: .* needs vectors that a model made"),
    ],
)
def test_a_strategy_that_lacks_what_it_needs_is_named_before_a_question_is_asked(
    demo_home: Path, tmp_path: Path, condition: Condition, says: str
) -> None:
    experiment = msgspec.structs.replace(SMALL, conditions=(OR, condition))
    with pytest.raises(ExperimentRejected, match=says):
        run_small(demo_home, tmp_path / "r", experiment)
    assert not (tmp_path / "r" / "card.json").exists()


def test_an_encoder_that_does_not_exist_is_refused_before_an_index_is_built(demo_home: Path, tmp_path: Path) -> None:
    new = msgspec.structs.replace(DEMO_SET, name="new")
    experiment = msgspec.structs.replace(SMALL, sets=(new,), conditions=(OR, Condition("v", encoder="mine")))
    with pytest.raises(UnknownEncoder, match="There is no encoder 'mine'"):
        run_small(demo_home, tmp_path / "r", experiment)
    assert not (demo_home / "corpora" / "new").exists()


def test_vectors_that_a_strategy_with_a_model_needs_are_missed_before_a_question_is_asked(
    demo_home: Path, tmp_path: Path
) -> None:
    models: list[tuple[int, ScriptedModel]] = []
    experiment = msgspec.structs.replace(SMALL, conditions=(OR, Condition("v", strategy="raise-0.84")))
    with pytest.raises(ExperimentRejected, match=r"The condition v cannot be run: .* needs vectors that a model made"):
        run_small(demo_home, tmp_path / "r", experiment, _choice(models))
    assert not (tmp_path / "r" / "card.json").exists()
    assert not any(model.asked for _, model in models)


def test_an_unfinished_part_is_not_seen_as_a_result(demo_home: Path, results_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(results_folder, folder)
    (folder / "demo" / "bm25.questions.jsonl").unlink()
    with pytest.raises(
        ResultsMismatch, match=r"is not finished \(demo/bm25 is missing\): complete it with .* --resume"
    ):
        open_results(folder)
    assert read_table(results_folder).sets[0].rows[0].questions == 10
