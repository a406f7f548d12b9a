from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from shrag.evaluation.questions.outcome import (
    AnswerRecord,
    QuestionOutcome,
    QuestionRecord,
    RelevantRecord,
    _answer_record,
    record_answer,
    record_error,
    record_ranking,
    record_search,
)
from shrag.indexing.search_engine import Hit
from shrag.serving.engine import Engine
from shrag.serving.events import Answer, Citation, Confidence, Section, Sentence
from shrag.serving.results import SearchResult

QUESTION = "그래핀은 전자파를 얼마나 차단하는가?"


def test_a_search_is_told_by_keywords_queries_pool_and_the_ranks_of_relevant_records(demo: Engine) -> None:
    result = demo.search(QUESTION, k=5)
    judged = {"DEMO-MAT-001": 2, "DEMO-AI-001": 1, "DEMO-NOT-THERE": 1, "DEMO-MAT-002": 0}
    asked = record_search("q", result, judged)
    outcome = asked.outcome
    assert [keyword.partition(" → ")[0] for keyword in outcome.keywords] == [
        keyword.text for keyword in result.keywords.keywords
    ]
    assert outcome.queries == result.queries.queries
    assert (outcome.num_candidates, outcome.num_retrieved) == (len(result.hits.candidates), len(result.ranking.records))
    assert outcome.relevant[0] == RelevantRecord("DEMO-MAT-001", 2, 1, candidate=True)
    assert outcome.relevant[-1] == RelevantRecord("DEMO-NOT-THERE", 1, None, candidate=False)
    assert outcome.num_relevant_candidates == len({"DEMO-MAT-001", "DEMO-AI-001"} & set(result.hits.candidates))
    assert [hit.docid for hit in asked.hits] == [ranked.record.docid for ranked in result.ranking.records]
    assert asked.hits[0].score == result.ranking.records[0].score
    assert asked.seconds == result.timings.seconds
    assert outcome.answer is None


def test_an_answer_is_kept_with_the_records_it_cites(demo: Engine) -> None:
    outcome = record_answer("q", demo.ask(QUESTION), {}).outcome
    assert outcome.answer is not None
    assert outcome.answer.kind == "extractive"
    assert "그래핀" in outcome.answer.text
    assert "DEMO-MAT-001" in outcome.answer.cited
    assert (outcome.answer.precision, outcome.answer.recall) == (None, None)
    nothing = record_answer("q", demo.ask("zzzz qqqq"), {}).outcome
    assert nothing.answer is not None
    assert (nothing.reason, nothing.answer.reason, nothing.answer.cited) == ("unknown_words", "unknown_words", ())


def test_a_peers_pool_is_its_ranking() -> None:
    asked = record_ranking("q", [Hit("a", 2.0), Hit("b", 1.0)], {"b": 1, "c": 1, "a": 0})
    outcome = asked.outcome
    assert (outcome.num_candidates, outcome.num_relevant_candidates, outcome.num_retrieved) == (2, 1, 2)
    assert outcome.relevant == (RelevantRecord("b", 1, 2, True), RelevantRecord("c", 1, None, False))
    assert (outcome.reason, record_ranking("q", [], {}).outcome.reason) == ("", "nothing_found")


def test_a_question_that_could_not_be_asked_found_nothing_and_says_why() -> None:
    asked = record_error("q", "The question is empty: write one.", {"a": 1})
    assert asked.outcome.error.startswith("The question is empty")
    assert (asked.outcome.num_retrieved, asked.hits) == (0, [])
    assert asked.outcome.relevant == (RelevantRecord("a", 1, None, False),)


@pytest.mark.parametrize("grade", [0, -1])
def test_what_is_judged_not_relevant_is_not_among_the_relevant(grade: int) -> None:
    assert record_ranking("q", [Hit("a", 1.0)], {"a": grade}).outcome.relevant == ()


def test_the_confidence_is_stored_with_the_threshold_it_is_refused_by(demo: Engine) -> None:
    result = demo.search(QUESTION)
    outcome = record_search("q", result, {}).outcome
    assert result.ranking.confidence is not None
    assert outcome.confidence == result.ranking.confidence.value
    assert outcome.threshold == result.ranking.confidence.threshold
    assert not outcome.refused
    plain = record_search("q", demo.search(QUESTION, strategy="bm25"), {}).outcome
    assert (plain.confidence, plain.threshold, plain.refused) == (None, None, False)


def test_a_question_is_refused_by_its_answer_else_by_the_confidence_else_where_nothing_is_found() -> None:
    low = QuestionOutcome("q", num_retrieved=3, confidence=0.04, threshold=0.05)
    assert low.refused
    assert not msgspec.structs.replace(low, confidence=0.05).refused
    answer = AnswerRecord("t", "t", "en", "extractive", "", None, None, "", ())
    assert not msgspec.structs.replace(low, answer=answer).refused
    assert msgspec.structs.replace(low, answer=msgspec.structs.replace(answer, reason="nothing_fits")).refused
    assert QuestionOutcome("q").refused
    assert not QuestionOutcome("q", num_retrieved=1).refused
    assert not QuestionOutcome("q", error="too long").refused


def test_all_citations_count_also_of_records_named_without_a_sentence() -> None:
    source = Citation(1, "a", "A")
    section = Section("record", (Sentence("One.", (1,)),), source)
    answer = Answer("extractive", "en", (section,), (source, Citation(2, "b", "B")))
    assert _answer_record(answer).cited == ("a", "b")


def test_every_part_of_a_search_is_stored_and_five_of_its_records_for_reports() -> None:
    docids = list("abcdefg")
    result = SimpleNamespace(
        ranking=SimpleNamespace(
            records=[
                SimpleNamespace(record=SimpleNamespace(docid=docid), score=float(-at))
                for at, docid in enumerate(docids)
            ],
            reason="",
            confidence=Confidence(0.75, "high", threshold=0.5),
        ),
        hits=SimpleNamespace(candidates=[*docids, "x"], depth=15),
        keywords=SimpleNamespace(
            keywords=[
                SimpleNamespace(text="그래핀", translations=("graphene", "graphenes")),
                SimpleNamespace(text="EMI", translations=()),
            ]
        ),
        queries=SimpleNamespace(queries=(("그래핀", "EMI"), ("그래핀",))),
        fallbacks=(SimpleNamespace(stage="keywords"),),
        nodes=(),
        model_calls=[
            SimpleNamespace(prompt_tokens=100, completion_tokens=20),
            SimpleNamespace(prompt_tokens=3, completion_tokens=4),
        ],
        timings=SimpleNamespace(seconds={"search": 0.5}),
    )
    record = record_search("q", cast("SearchResult", result), {"z": 1, "c": 2, "x": 1, "a": 1, "b": 0})
    assert record.outcome == QuestionOutcome(
        "q",
        keywords=("그래핀 → graphene", "EMI"),
        queries=(("그래핀", "EMI"), ("그래핀",)),
        num_candidates=8,
        num_relevant_candidates=3,
        depth=15,
        num_retrieved=7,
        relevant=(
            RelevantRecord("a", 1, 1, True),
            RelevantRecord("c", 2, 3, True),
            RelevantRecord("x", 1, None, True),
            RelevantRecord("z", 1, None, False),
        ),
        top_docids=("a", "b", "c", "d", "e"),
        fallbacks=("keywords",),
        confidence=0.75,
        threshold=0.5,
    )
    assert (record.tokens, record.seconds, record.ranking[1]) == (127, {"search": 0.5}, ("b", -1.0))
    assert QuestionOutcome("q") == QuestionOutcome("q", num_candidates=0, num_relevant_candidates=0, depth=0)
    assert QuestionRecord(QuestionOutcome("q")).tokens == 0


def test_a_confidence_without_a_threshold_refuses_only_where_nothing_is_found() -> None:
    assert not QuestionOutcome("q", num_retrieved=1, confidence=0.0).refused
    assert QuestionOutcome("q", confidence=0.9).refused
