from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.corpora.files import lock_folder
from shrag.evaluation.errors import EvaluationError, ResultsMismatch
from shrag.evaluation.experiments.part import ExperimentPart, read_outcomes
from shrag.evaluation.judging.judged_results import judge_results
from shrag.evaluation.judging.judgements import JUDGEMENTS_FILE, read_judgements
from shrag.evaluation.reports.result_folder import open_results
from shrag.models.errors import ModelUnavailable
from tests.evaluation.judging.test_llm_judge import ScriptedJudge, scores
from tests.support.small_experiment import OR, SMALL, run_small


@pytest.fixture
def folder(results_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results_folder, tmp_path / "copy"))


def _answered(folder: Path) -> int:
    outcomes = read_outcomes(folder, ExperimentPart("demo", "bm25"))
    return sum(outcome.answer is not None and not outcome.answer.reason for outcome in outcomes)


def test_every_answer_is_marked_once_and_the_results_stay_as_they_are(folder: Path) -> None:
    count = _answered(folder)
    assert count >= 8
    judge = ScriptedJudge(*(scores(8, 50, True) for _ in range(count)))
    (found,) = judge_results(open_results(folder)[0], judge)
    assert (found.set, found.condition, found.refused) == ("demo", "bm25", 10 - count)
    assert (found.summary.judge, found.summary.scored) == ("scripted-judge", count)
    assert found.summary.relevance is not None
    assert found.summary.relevance[0] == 8.0
    # No line is left to write: a second asking would fail.
    assert judge_results(open_results(folder)[0], judge) == [found]


def test_a_judge_that_was_stopped_goes_on_behind_the_last_whole_line(folder: Path) -> None:
    count = _answered(folder)
    with pytest.raises(ModelUnavailable):
        judge_results(open_results(folder)[0], ScriptedJudge(scores(2, 0, False), ModelUnavailable("gone")))
    with (folder / JUDGEMENTS_FILE).open("a", encoding="utf-8") as stream:
        stream.write('{"set": "demo", "condi')
    judge = ScriptedJudge(*(scores(8, 50, True) for _ in range(count - 1)))
    (found,) = judge_results(open_results(folder)[0], judge)
    assert judge.lines == []
    assert found.summary.relevance is not None
    assert found.summary.relevance[0] == pytest.approx((2 + 8 * (count - 1)) / count)
    assert len((folder / JUDGEMENTS_FILE).read_bytes().splitlines()) == count


def test_who_only_reads_leaves_the_line_that_a_judge_is_writing(folder: Path) -> None:
    count = _answered(folder)
    judge_results(open_results(folder)[0], ScriptedJudge(*(scores(8, 50, True) for _ in range(count))))
    path = folder / JUDGEMENTS_FILE
    whole = path.read_bytes()
    path.write_bytes(whole + '{"set": "demo", "condi가'.encode()[:-1])  # a character cut in two
    begun = path.read_bytes()
    assert len(read_judgements(folder, "scripted-judge")) == count
    assert path.read_bytes() == begun
    judge_results(open_results(folder)[0], ScriptedJudge())
    assert path.read_bytes() == whole


def test_another_judge_marks_for_itself(folder: Path) -> None:
    count = _answered(folder)
    judge_results(open_results(folder)[0], ScriptedJudge(*(scores(8, 50, True) for _ in range(count))))
    other = ScriptedJudge(*(scores(2, 0, False) for _ in range(count)))
    other.name = "other"
    (found,) = judge_results(open_results(folder)[0], other)
    assert found.summary.judge == "other"
    assert found.summary.relevance is not None
    assert found.summary.relevance[0] == 2.0


def test_results_without_answers_and_a_damaged_file_are_refused(demo_home: Path, folder: Path, tmp_path: Path) -> None:
    import msgspec

    run_small(demo_home, tmp_path / "none", msgspec.structs.replace(SMALL, conditions=(OR,), plots=()))
    with pytest.raises(EvaluationError, match=r"has no answers to judge: run it with `answers = true`"):
        judge_results(open_results(tmp_path / "none")[0], ScriptedJudge())
    for damaged in (b"{}\n", b'"\xff"\n'):
        (folder / JUDGEMENTS_FILE).write_bytes(damaged)
        with pytest.raises(ResultsMismatch, match=r"judgements.jsonl line 1 is not a judgement"):
            judge_results(open_results(folder)[0], ScriptedJudge())
        assert (folder / JUDGEMENTS_FILE).read_bytes() == damaged


def test_the_command_prints_each_mean_with_the_judges_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    count = _answered(folder)
    judge = ScriptedJudge(*(scores(8, 50, True) for _ in range(count - 1)), "none", "none")
    judge.close = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setattr("shrag.cli.commands.judge.open_language_model", lambda settings: judge)
    assert run(["judge", str(folder)]) == 0
    header, line = (each.split("\t") for each in capsys.readouterr().out.splitlines())
    assert header == [
        "set",
        "condition",
        "judge",
        "scored",
        "unscored",
        "refused",
        "relevance",
        "answerability",
        "overall",
        "valid",
    ]
    assert line[:6] == ["demo", "bm25", "scripted-judge", str(count - 1), "1", str(10 - count)]
    assert line[6:9] == ["8.000 [8.000, 8.000]", "0.500 [0.500, 0.500]", "6.750 [6.750, 6.750]"]
    assert line[9].startswith("1.000 [0.")


def test_the_command_does_not_judge_while_another_process_writes_in_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = ScriptedJudge()
    judge.close = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setattr("shrag.cli.commands.judge.open_language_model", lambda settings: judge)
    with lock_folder(folder):
        assert run(["judge", str(folder)]) == 4
    assert f"{folder} is being written by process" in capsys.readouterr().err


def test_the_command_needs_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", str(folder)]) == 2
    assert "No language model is configured: set [llm] url" in capsys.readouterr().err
