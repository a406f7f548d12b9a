from __future__ import annotations

import msgspec
import pytest

from shrag.evaluation.questions.figures import (
    ANSWER_FIGURES,
    PROCESS_FIGURES,
    ChoiceBaselines,
    answer_figures,
    choice_baselines,
)
from shrag.evaluation.questions.outcome import AnswerRecord, QuestionOutcome, RelevantRecord
from shrag.evaluation.questions.reference_answers import Reference
from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes

SPLIT = KoreanMorphemes().split
KO = AnswerRecord(
    text="##제목##\n차폐\n\n##서론##\n금속이다. [1]\n\n##본론##\n금속은 전파를 막는다. [1]",
    plain="금속은 전파를 막는다.",
    language="ko",
    kind="generated",
    model="m",
    precision=1.0,
    recall=0.5,
    reason="",
    cited=("a",),
)
EN = msgspec.structs.replace(KO, text="Yes.", plain="Yes, metals block radio waves", language="en", recall=None)
REFUSED = msgspec.structs.replace(KO, plain="금속은 전파를 막는다.", reason="nothing_fits", precision=None, recall=None)
METAL = Reference("q", answers=("금속은 전파를 흡수한다.", "금속은 전파를 막는다"), short_answers=("전파",))


def _one(answer: AnswerRecord | None, reference: Reference, **fields: object) -> dict[str, float]:
    outcome = QuestionOutcome("q", answer=answer, **fields)  # type: ignore[arg-type]
    return {
        name: values["q"] for name, values in answer_figures([outcome], {"q": reference}, 50, SPLIT).items() if values
    }


def test_an_answer_that_is_the_reference_is_whole_by_every_figure() -> None:
    assert _one(KO, METAL, num_retrieved=25) == {
        "rouge_l": 1.0,
        "accuracy": 1.0,
        "rouge_l_above_0.7": 1.0,
        "rouge_l_above_0.5": 1.0,
        "rouge_l_above_0.3": 1.0,
        "rouge_l_characters": 1.0,
        "string_match": 1.0,
        "exact_match": 1.0,
        "citation_precision": 1.0,
        "citation_recall": 0.5,
        "well_formed": 1.0,
        "refusal_accuracy": 1.0,
        "retrieval_ratio": 0.5,
    }


def test_citations_are_figures_of_runs_in_which_a_model_wrote_and_its_failures_count() -> None:
    extractive = msgspec.structs.replace(KO, kind="extractive", model="", precision=None, recall=None)
    assert not {"citation_precision", "citation_recall"} & set(_one(extractive, METAL))
    outcomes = [QuestionOutcome("q", answer=KO), QuestionOutcome("r", answer=extractive)]
    figures = answer_figures(outcomes, {"q": METAL, "r": METAL}, 50, SPLIT)
    assert figures["citation_precision"] == {"q": 1.0, "r": 0.0}
    assert figures["citation_recall"] == {"q": 0.5, "r": 0.0}


def test_korean_is_compared_by_morphemes_and_english_by_words() -> None:
    # 금속/은/전파/를 of 금속/은/전파/를/막/는다 are in 금속/은/전파/를/흡수/하/ㄴ다: 4 of 6 and of 7.
    korean = _one(KO, Reference("q", answers=("금속은 전파를 흡수한다.",)))
    assert korean["rouge_l"] == pytest.approx(2 * 4 / (6 + 7))
    # 금속은전파를 are six of nine letters, and 다 at the end one more, of ten.
    assert korean["rouge_l_characters"] == pytest.approx(2 * 7 / (9 + 10))
    english = _one(EN, Reference("q", answers=("Metals stop radio waves.",), yes_no=True))
    assert english["rouge_l"] == pytest.approx(2 * 3 / (5 + 4))
    assert (english["yes_no_accuracy"], english["citation_recall"], english["well_formed"]) == (1.0, 0.0, 0.0)


def test_a_refusal_of_what_can_be_answered_is_worth_nothing() -> None:
    reference = msgspec.structs.replace(METAL, yes_no=True, choices=("x", "y"), choice="A")
    figures = _one(REFUSED, reference, relevant=(RelevantRecord("a", 1, 1),))
    assert set(figures) == set(ANSWER_FIGURES)
    assert figures.pop("choice_accuracy_with_guessing") == 0.5
    assert set(figures.values()) == {0.0}


@pytest.mark.parametrize(
    ("made", "accuracy", "any_made", "or_draw"), [("C", 1.0, 1.0, 1.0), ("A", 0.0, 1.0, 0.0), ("", 0.0, 0.0, 0.25)]
)
def test_a_choice_is_right_wrong_or_not_made(made: str, accuracy: float, any_made: float, or_draw: float) -> None:
    reference = Reference("q", choices=("one", "two", "three", "four"), choice="C")
    figures = _one(msgspec.structs.replace(EN, choice=made), reference)
    assert [figures[name] for name in ("choice_accuracy", "choice_rate", "choice_accuracy_with_guessing")] == [
        accuracy,
        any_made,
        or_draw,
    ]
    assert "choice_rate" not in _one(EN, METAL)


def test_rouge_is_counted_above_each_threshold() -> None:
    # ROUGE-L is 8/13, about 0.62.
    figures = _one(KO, Reference("q", answers=("금속은 전파를 흡수한다.",)))
    assert [figures[f"rouge_l_above_{least}"] for least in (0.7, 0.5, 0.3)] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("reference", "accuracy"),
    [
        (Reference("q", answers=("Something else.",), yes_no=True), 1.0),
        (Reference("q", yes_no=True), 1.0),
        (Reference("q", answers=("Something else.",), short_answers=("metals",)), 1.0),
        (Reference("q", answers=("Something else.",), short_answers=("wood",)), 0.0),
        (Reference("q", answers=("Something else.",)), 0.0),
        (Reference("q", answers=("Something else.",), yes_no=True, choices=("a", "b"), choice="B"), 0.0),
    ],
)
def test_accuracy_is_the_strictest_measure_that_the_reference_allows(reference: Reference, accuracy: float) -> None:
    assert _one(EN, reference)["accuracy"] == accuracy


def test_what_cannot_be_answered_has_refusal_alone() -> None:
    unanswerable = Reference("q", answerable=False)
    assert _one(REFUSED, unanswerable) == {"refusal_accuracy": 1.0, "retrieval_ratio": 0.0}
    assert _one(KO, unanswerable, num_retrieved=99) == {"refusal_accuracy": 0.0, "retrieval_ratio": 1.0}


def test_a_question_that_could_not_be_asked_is_neither_answered_nor_refused() -> None:
    outcomes = [
        QuestionOutcome("q", error="too long"),
        QuestionOutcome("r", answer=KO),
        QuestionOutcome("s", answer=KO),
    ]
    references = {"q": Reference("q", answerable=False), "r": msgspec.structs.replace(METAL, qid="r")}
    found = answer_figures(outcomes, references, 50, SPLIT)
    assert found["refusal_accuracy"] == {"q": 0.0, "r": 1.0}
    assert found["rouge_l"] == {"r": 1.0}


def test_a_search_alone_has_a_retrieval_ratio_and_no_reference_has_nothing() -> None:
    assert _one(None, METAL, num_retrieved=5) == {"retrieval_ratio": 0.1}
    assert answer_figures([QuestionOutcome("q", answer=KO)], {}, 50, SPLIT) == {}
    assert answer_figures([], {"q": METAL}, 50, SPLIT) == {}


def _asked(letter: str, count: int) -> Reference:
    return Reference("q", choices=tuple(map(str, range(count))), choice=letter)


def test_a_draw_is_worth_the_mean_over_the_questions_and_a_letter_its_share() -> None:
    asked = [_asked("A", 2), _asked("B", 4), _asked("B", 4), Reference("no choices", answers=("x",))]
    assert choice_baselines(asked) == ChoiceBaselines((1 / 2 + 2 / 4) / 3, 2 / 3, "B")


def test_of_letters_that_are_right_as_often_the_first_is_named() -> None:
    assert choice_baselines([_asked("C", 4), _asked("B", 4)]) == ChoiceBaselines(0.25, 0.5, "B")


def test_without_choices_there_is_no_level() -> None:
    assert choice_baselines([]) is None
    assert choice_baselines([Reference("q", answers=("x",))]) is None


TWO = (RelevantRecord("a", 1, 1), RelevantRecord("b", 1, None))


@pytest.mark.parametrize(
    ("outcome", "candidates", "recall", "success"),
    [
        (QuestionOutcome("q", num_candidates=30, num_relevant_candidates=2, relevant=TWO), 30.0, 1.0, 1.0),
        (QuestionOutcome("q", num_candidates=30, num_relevant_candidates=1, relevant=TWO), 30.0, 0.5, 1.0),
        (QuestionOutcome("q", num_candidates=30, relevant=TWO), 30.0, 0.0, 0.0),
        (QuestionOutcome("q", relevant=TWO, error="too long"), 0.0, 0.0, 0.0),
        # Judged, and nothing of it relevant: nothing can be found, as trec_eval counts it.
        (QuestionOutcome("q", num_candidates=30), 30.0, 0.0, 0.0),
    ],
)
def test_figures_are_of_all_candidates(
    outcome: QuestionOutcome, candidates: float, recall: float, success: float
) -> None:
    assert {name: figure(outcome, 1) for name, figure in PROCESS_FIGURES.items()} == {
        "num_candidates": candidates,
        "candidate_recall": recall,
        "candidate_success": success,
    }


@pytest.mark.parametrize(
    ("relevant", "recall", "success"),
    [
        ((RelevantRecord("a", 2, 1, True), RelevantRecord("b", 1, None, False)), 1.0, 1.0),
        ((RelevantRecord("b", 1, 1, True), RelevantRecord("a", 2, None, False)), 0.0, 0.0),
        ((RelevantRecord("b", 1, 1, True),), 0.0, 0.0),
        # Written before outcomes said which records were candidates.
        ((RelevantRecord("a", 2, 1), RelevantRecord("b", 1, None)), 0.5, 1.0),
    ],
)
def test_candidates_count_if_their_grade_is_at_least_min_grade(
    relevant: tuple[RelevantRecord, ...], recall: float, success: float
) -> None:
    outcome = QuestionOutcome("q", num_candidates=1, num_relevant_candidates=1, relevant=relevant)
    assert PROCESS_FIGURES["candidate_recall"](outcome, 2) == recall
    assert PROCESS_FIGURES["candidate_success"](outcome, 2) == success


def test_citations_are_judged_where_a_record_answers_by_its_grade() -> None:
    graded = (RelevantRecord("b", 2, 2), RelevantRecord("a", 1, 1))
    outcome = QuestionOutcome("q", answer=msgspec.structs.replace(KO, cited=("a", "b")), relevant=graded)

    def shares(outcome: QuestionOutcome, grade: int) -> tuple[float | None, float | None]:
        found = answer_figures([outcome], {"q": Reference("q")}, 50, SPLIT, grade)
        return found.get("cites_relevant", {}).get("q"), found.get("leads_relevant", {}).get("q")

    assert shares(outcome, 1) == (1.0, 1.0)
    assert shares(outcome, 2) == (1.0, 0.0)
    assert shares(outcome, 3) == (None, None)
    assert shares(msgspec.structs.replace(outcome, answer=REFUSED), 1) == (0.0, 0.0)
