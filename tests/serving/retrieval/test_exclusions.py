from __future__ import annotations

import pytest

from shrag.serving.engine import Engine
from shrag.serving.results import SearchResult
from shrag.serving.retrieval.exclusions import read_exclusion


@pytest.mark.parametrize(
    ("text", "rest", "phrases"),
    [
        ("deep learning NOT medical images", "deep learning", [["medical", "images"]]),
        ("딥러닝 영상 NOT 의료", "딥러닝 영상", [["의료"]]),
        (
            "solar cells AND NOT (perovskite OR film stress) 2020",
            "solar cells 2020",
            [["perovskite"], ["film", "stress"]],
        ),
        ('battery NOT "lithium ion" NOT cars, Korea', "battery , Korea", [["lithium", "ion"], ["cars"]]),
        ("딥러닝 NOT (의료, 교육)", "딥러닝", [["의료"], ["교육"]]),
        ("water NOT zzzqqq NOT film AND quality", "water AND quality", [["film"]]),
    ],
)
def test_what_follows_not_is_left_out_up_to_the_next_operator_or_mark(
    demo: Engine, text: str, rest: str, phrases: list[list[str]]
) -> None:
    found = read_exclusion(text, demo.open_index)
    assert found is not None
    assert (found.rest.text, [[word.text for word in phrase] for phrase in found.phrases]) == (rest, phrases)


@pytest.mark.parametrize(
    "text",
    [
        "수질 오염 원인",
        "cancer not caused by smoking",
        "의료를 제외하고 딥러닝으로 영상을 분석한 논문",
        "Does coffee NOT cause cancer?",
        "HEART CANCER NOT FILM",
        "design of a NOT gate",
        "NOT cancer",
        "water NOT zzzqqq",
        "NOT",
        "",
    ],
)
def test_a_question_is_read_as_it_stands_without_an_operator_or_without_anything_to_leave_out_or_to_search_for(
    demo: Engine, text: str
) -> None:
    assert read_exclusion(text, demo.open_index) is None


@pytest.mark.parametrize(("question", "phrase"), [("learning outcomes", "students"), ("교육 효과", "학생")])
def test_records_with_a_phrase_are_left_out_in_both_languages_and_it_is_said(
    demo: Engine, question: str, phrase: str
) -> None:
    def search(text: str) -> tuple[SearchResult, list[bool]]:
        result = demo.search(text, k=10)
        found = demo.open_index.store.fetch([each.record.docid for each in result.ranking.records])
        return result, [not {"학생", "student"}.isdisjoint(each.contents_terms) for each in found if each is not None]

    whole, with_phrase = search(question)
    assert whole.keywords.excluded == ()
    assert any(with_phrase)
    rest, with_phrase = search(f"{question} NOT {phrase}")
    assert (rest.keywords.excluded, with_phrase) == ((phrase,), [False] * 10)
    assert rest.keywords.keywords == whole.keywords.keywords
    assert rest.queries.queries == tuple((*query, f"− {phrase}") for query in whole.queries.queries)
