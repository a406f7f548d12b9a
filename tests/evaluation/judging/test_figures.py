from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.experiments.language_models import ModelChoice
from shrag.evaluation.experiments.part import ExperimentPart
from shrag.evaluation.experiments.spec import Experiment
from shrag.evaluation.judging.figures import JUDGE_FIGURES, judge_figures
from shrag.evaluation.judging.judgements import JudgedAnswer
from shrag.evaluation.judging.llm_judge import Judgement, JudgeScores
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.reports.result_folder import open_results
from shrag.evaluation.reports.table import read_table
from tests.evaluation.judging.test_llm_judge import ScriptedJudge, scores
from tests.support.small_experiment import BM25, OR, SMALL, run_small


def _judged(qid: str, given: JudgeScores | None) -> JudgedAnswer:
    return JudgedAnswer("s", "c", qid, Judgement("judge", given, "" if given else "not JSON"))


def test_scores_are_measures_and_what_has_none_has_the_lowest() -> None:
    judgements = {"good": _judged("good", JudgeScores(9, 50, True)), "unread": _judged("unread", None)}
    found = judge_figures([QuestionOutcome(qid) for qid in ("good", "unread", "refused")], judgements)
    assert found == {
        "semantic_coherence": {"good": 9.0, "unread": 1.0, "refused": 1.0},
        "answerability": {"good": 0.5, "unread": 0.0, "refused": 0.0},
        "overall_assessment": {"good": 7.25, "unread": 1.0, "refused": 1.0},
        "response_validity": {"good": 1.0, "unread": 0.0, "refused": 0.0},
    }
    assert tuple(found) == JUDGE_FIGURES


JUDGED: Experiment = msgspec.structs.replace(
    SMALL, conditions=tuple(msgspec.structs.replace(each, model=False) for each in (OR, BM25)), plots=(), judge=True
)


@pytest.mark.slow
def test_an_experiment_has_its_answers_judged_once_and_stores_the_means(demo_home: Path, tmp_path: Path) -> None:
    asked: list[ScriptedJudge] = []

    @contextmanager
    def judge(seed: int) -> Iterator[ScriptedJudge]:
        asked.append(ScriptedJudge(*(scores(8, 40, True) for _ in range(10))))
        yield asked[-1]

    run_small(demo_home, tmp_path / "r", JUDGED, ModelChoice("scripted-judge", "f", judge))
    assert len(asked) == 1
    results, card = open_results(tmp_path / "r")
    assert card.identity.model.name == "scripted-judge"
    outcomes = results.outcomes(ExperimentPart("demo", "bm25"))
    answered = sum(each.answer is not None and not each.answer.reason for each in outcomes)
    (row,) = [row for row in read_table(tmp_path / "r").sets[0].rows if row.condition == "bm25"]
    assert row.cells["response_validity"].mean == pytest.approx(answered / 10)
    assert row.cells["semantic_coherence"].mean == pytest.approx((8 * answered + 10 - answered) / 10)


@pytest.mark.slow
def test_without_a_model_the_answers_are_not_judged_and_a_line_says_so(demo_home: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    run_small(demo_home, tmp_path / "r", JUDGED, log=lines.append)
    assert "nothing is judged: no language model is configured" in lines
    assert not set(JUDGE_FIGURES) & set(read_table(tmp_path / "r").columns)
