from __future__ import annotations

import msgspec
import pytest

from shrag.evaluation.answer_figures import ANSWER_FIGURES, answer_figures
from shrag.evaluation.outcome import GivenAnswer, Outcome
from shrag.evaluation.references import Reference
from shrag.indexing.korean import KoreanMorphemes

SPLIT = KoreanMorphemes().split
KO = GivenAnswer(
    text="##제목##\n차폐\n\n##서론##\n금속이다. [1]\n\n##본론##\n금속은 전파를 막는다. [1]",
    plain="금속은 전파를 막는다.",
    language="ko",
    kind="extractive",
    model="",
    precision=1.0,
    recall=0.5,
    reason="",
    cited=("a",),
)
EN = msgspec.structs.replace(KO, text="Yes.", plain="Yes, metals block radio waves", language="en", recall=None)
REFUSED = msgspec.structs.replace(KO, plain="금속은 전파를 막는다.", reason="nothing_fits", precision=None, recall=None)
METAL = Reference("q", answers=("금속은 전파를 흡수한다.", "금속은 전파를 막는다"), short=("전파",))


def _one(answer: GivenAnswer | None, reference: Reference, **fields: object) -> dict[str, float]:
    outcome = Outcome("q", answer=answer, **fields)  # type: ignore[arg-type]
    return {
        name: values["q"] for name, values in answer_figures([outcome], {"q": reference}, 50, SPLIT).items() if values
    }


def test_an_answer_that_is_the_reference_is_whole_by_every_figure() -> None:
    assert _one(KO, METAL, found=25) == {
        "rouge_l": 1.0,
        "rouge_l_characters": 1.0,
        "short_answer": 1.0,
        "exact": 1.0,
        "citation_precision": 1.0,
        "citation_recall": 0.5,
        "form": 1.0,
        "refusal": 1.0,
        "retrieval_ratio": 0.5,
    }


def test_korean_is_compared_by_morphemes_and_english_by_words() -> None:
    # 금속/은/전파/를 of 금속/은/전파/를/막/는다 are in 금속/은/전파/를/흡수/하/ㄴ다: 4 of 6 and of 7.
    korean = _one(KO, Reference("q", answers=("금속은 전파를 흡수한다.",)))
    assert korean["rouge_l"] == pytest.approx(2 * 4 / (6 + 7))
    # 금속은전파를 are six of nine letters, and 다 at the end one more, of ten.
    assert korean["rouge_l_characters"] == pytest.approx(2 * 7 / (9 + 10))
    english = _one(EN, Reference("q", answers=("Metals stop radio waves.",), yes=True))
    assert english["rouge_l"] == pytest.approx(2 * 3 / (5 + 4))
    assert (english["yes_no"], english["citation_recall"], english["form"]) == (1.0, 0.0, 0.0)


def test_a_refusal_of_what_can_be_answered_is_worth_nothing() -> None:
    figures = _one(REFUSED, msgspec.structs.replace(METAL, yes=True, choices=("x", "y"), choice="A"))
    assert set(figures) == set(ANSWER_FIGURES)
    assert figures.pop("choice_or_draw") == 0.5
    assert set(figures.values()) == {0.0}


@pytest.mark.parametrize(
    ("made", "accuracy", "any_made", "or_draw"), [("C", 1.0, 1.0, 1.0), ("A", 0.0, 1.0, 0.0), ("", 0.0, 0.0, 0.25)]
)
def test_a_choice_is_right_wrong_or_not_made(made: str, accuracy: float, any_made: float, or_draw: float) -> None:
    reference = Reference("q", choices=("one", "two", "three", "four"), choice="C")
    figures = _one(msgspec.structs.replace(EN, choice=made), reference)
    assert [figures[name] for name in ("choice_accuracy", "choice_made", "choice_or_draw")] == [
        accuracy,
        any_made,
        or_draw,
    ]
    assert "choice_made" not in _one(EN, METAL)


def test_what_cannot_be_answered_has_refusal_alone() -> None:
    unanswerable = Reference("q", answerable=False)
    assert _one(REFUSED, unanswerable) == {"refusal": 1.0, "retrieval_ratio": 0.0}
    assert _one(KO, unanswerable, found=99) == {"refusal": 0.0, "retrieval_ratio": 1.0}


def test_a_question_that_could_not_be_asked_is_neither_answered_nor_refused() -> None:
    outcomes = [Outcome("q", error="too long"), Outcome("r", answer=KO), Outcome("s", answer=KO)]
    references = {"q": Reference("q", answerable=False), "r": msgspec.structs.replace(METAL, qid="r")}
    found = answer_figures(outcomes, references, 50, SPLIT)
    assert found["refusal"] == {"q": 0.0, "r": 1.0}
    assert found["rouge_l"] == {"r": 1.0}


def test_a_search_alone_has_a_retrieval_ratio_and_no_reference_has_nothing() -> None:
    assert _one(None, METAL, found=5) == {"retrieval_ratio": 0.1}
    assert answer_figures([Outcome("q", answer=KO)], {}, 50, SPLIT) == {}
    assert answer_figures([], {"q": METAL}, 50, SPLIT) == {}
