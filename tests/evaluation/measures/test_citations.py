from __future__ import annotations

from shrag.evaluation.measures.citations import citation_support
from shrag.serving.events import Answer, Section, Sentence


def _answer(*sentences: Sentence) -> Answer:
    title = Section("title", (Sentence("제목", ()),))
    return Answer("generated", "ko", (title, Section("body", sentences)) if sentences else (), ())


def test_precision_is_over_citations_and_recall_over_sentences() -> None:
    # Four sentences, citing 2, 1, 1 and none; the third does not hold: 3 of 4 citations, 2 of 4 sentences.
    found = citation_support(
        _answer(
            Sentence("가", (1, 2)),
            Sentence("나", (3,)),
            Sentence("다", (1,), supported=False, issue="number"),
            Sentence("라", (), supported=False, issue="no_citation"),
        )
    )
    assert found == (3 / 4, 2 / 4)


def test_a_citation_of_a_record_that_is_not_there_counts_against_precision() -> None:
    missing = Sentence("나", (), supported=False, issue="no_such_record")
    assert citation_support(_answer(Sentence("가", (1,)), missing)) == (0.5, 0.5)


def test_an_extractive_answer_has_neither() -> None:
    section = Section("record", (Sentence("가", (1,)),))
    assert citation_support(Answer("extractive", "ko", (section,), ())) == (None, None)


def test_a_refusal_has_neither_and_an_answer_without_citations_has_no_precision() -> None:
    assert citation_support(_answer()) == (None, None)
    assert citation_support(_answer(Sentence("가", ()))) == (None, 0.0)
