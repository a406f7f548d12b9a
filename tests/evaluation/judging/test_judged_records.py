from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from shrag.cli.main import run
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.engines import OpenIndexes
from shrag.evaluation.experiments.language_models import ModelChoice
from shrag.evaluation.experiments.spec import Condition
from shrag.evaluation.judging.judged_records import judge_records
from shrag.evaluation.judging.record_relevance import (
    RELEVANCE_FILE,
    JudgedRecord,
    level_shares,
    read_record_relevance,
    relevance_figures,
    step_records,
)
from shrag.evaluation.judging.relevance import RelevanceLevel
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.reports.result_folder import open_results
from shrag.evaluation.reports.table import read_table
from shrag.serving.events import Node
from tests.evaluation.judging.test_llm_judge import ScriptedJudge
from tests.support.small_experiment import OR, SMALL, run_small

SAMPLE = 4


@pytest.fixture
def folder(results_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results_folder, tmp_path / "copy"))


def level(value: int) -> str:
    return json.dumps({"reason": "It says so.", "level": value})


def steps(*docids: str) -> QuestionOutcome:
    nodes = (Node(0, None, "question", "?"), Node(1, 0, "step", "How?", docids=docids))
    return QuestionOutcome("q", nodes=nodes, top_docids=("top",))


def test_the_records_of_each_step_are_judged_ten_or_as_many_as_it_is_solved_from() -> None:
    outcome = steps(*(f"d{number}" for number in range(12)))
    for settings, shown in (({}, 10), ({"step_records": 5}, 5), ({"step_records": 0}, 10)):
        found = step_records([outcome], {"q": "?"}, Condition("raise", settings=dict[str, object](settings)), 0, 0)
        assert [(each.step, each.text, each.docid) for each in found] == [(1, "How?", f"d{n}") for n in range(shown)]
    (single,) = step_records([QuestionOutcome("q", top_docids=("top",))], {"q": "?"}, Condition("bm25"), 0, 0)
    assert single == ("q", 0, "?", "top")


def test_a_sample_is_drawn_by_the_seed_and_a_larger_one_holds_a_smaller() -> None:
    outcome = steps(*(f"d{number}" for number in range(10)))
    drawn = {most: step_records([outcome], {"q": "?"}, Condition("c"), most, 7) for most in (3, 6)}
    assert [len(found) for found in drawn.values()] == [3, 6]
    assert set(drawn[3]) < set(drawn[6])
    assert step_records([outcome], {"q": "?"}, Condition("c"), 3, 8) != drawn[3]


def test_shares_are_over_all_records_and_figures_over_each_question() -> None:
    levels = {"a": (4, 4, 3, None), "b": (1,)}
    judged = [
        JudgedRecord("s", "c", qid, 1, f"d{n}", "j", RelevanceLevel(given) if given else None, "")
        for qid, values in levels.items()
        for n, given in enumerate(values)
    ]
    shares = level_shares("s", "c", "j", judged, 0)
    assert (shares.scored, shares.unscored) == (4, 1)
    assert {name: share for name, (share, _) in shares.shares.items()} == {
        **{"not_relevant": 0.25, "superficially_relevant": 0.0, "partially_relevant": 0.25, "fully_relevant": 0.5},
    }
    figures = relevance_figures(judged)
    assert figures["fully_relevant"] == {"a": pytest.approx(2 / 3), "b": 0.0}
    assert figures["not_relevant"] == {"a": 0.0, "b": 1.0}


def test_each_pair_is_judged_once_and_goes_on_behind_the_last_whole_line(folder: Path, demo_home: Path) -> None:
    results = open_results(folder)[0]
    with OpenIndexes(demo_home / "indexes") as indexes:
        judge = ScriptedJudge(*(level(n % 4 + 1) for n in range(3 * SAMPLE)))
        found = judge_records(results, lambda *_: indexes["demo"], judge, SAMPLE)
        assert [(each.condition, each.scored, each.unscored) for each in found] == [
            ("or", SAMPLE, 0),
            ("and", SAMPLE, 0),
            ("bm25", SAMPLE, 0),
        ]
        assert [share for share, _ in found[0].shares.values()] == [0.25] * 4
        with (folder / RELEVANCE_FILE).open("a", encoding="utf-8") as stream:
            stream.write('{"set": "demo", "condi')
        assert judge_records(results, lambda *_: indexes["demo"], ScriptedJudge(), SAMPLE) == found
    (folder / RELEVANCE_FILE).write_text("{}\n")
    with pytest.raises(ResultsMismatch, match=r"relevance.jsonl line 1 is not a judgement"):
        read_record_relevance(folder, "scripted-judge")


def test_the_command_prints_the_shares_of_the_levels(
    folder: Path,
    demo_home: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(demo_home, own_home)
    judge = ScriptedJudge(level(4), level(4), level(1), level(2), "none", "none", level(3))
    judge.close = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setattr("shrag.cli.commands.judge.open_language_model", lambda settings: judge)
    assert run(["judge", str(folder), "--records", "--sample", "2"]) == 0
    header, first, _, last = (each.split("\t") for each in capsys.readouterr().out.splitlines())
    assert header[:5] == ["set", "condition", "judge", "scored", "unscored"]
    assert header[5:] == ["not_relevant", "superficially_relevant", "partially_relevant", "fully_relevant"]
    assert (first[:5], first[8][:5]) == (["demo", "or", "scripted-judge", "2", "0"], "1.000")
    assert last[3:5] == ["1", "1"]


@pytest.mark.slow
def test_the_card_names_the_judge_of_records_even_if_no_condition_has_a_model(demo_home: Path, tmp_path: Path) -> None:
    @contextmanager
    def judge(seed: int) -> Iterator[ScriptedJudge]:
        yield ScriptedJudge(*[level(4)] * SAMPLE)

    conditions = (msgspec.structs.replace(OR, model=False),)
    experiment = msgspec.structs.replace(SMALL, conditions=conditions, plots=(), judge_records=SAMPLE)
    run_small(demo_home, tmp_path / "r", experiment, ModelChoice("scripted-judge", "f", judge))
    assert open_results(tmp_path / "r")[1].identity.model.name == "scripted-judge"
    (row,) = read_table(tmp_path / "r").sets[0].rows
    assert row.cells["fully_relevant"].mean == 1.0
