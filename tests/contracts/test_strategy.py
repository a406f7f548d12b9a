"""What every strategy keeps to: the same events, once each, in one order, found something or not."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import pytest

from shrag.serving.composition.strategy import CompositionStrategy
from shrag.serving.engine import STRATEGIES, Engine
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Answer, AnswerSentence, Event, Hits, Keywords, Node, Queries, Ranking, Timings
from shrag.serving.strategy import Strategy

_Kind = TypeVar("_Kind")

QUESTIONS = [
    "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?",
    "How fast does a restored salt marsh bury blue carbon?",
    "김치찌개 끓이는 법은?",
    "zzzz qqqq",
    "…?!",
    "what is it?",
]

NEEDS_MODEL = {
    "direct",
    "previous-context",
    "self-ask",
    "rewrite",
    "raise-direct",
    "cot",
    "cot-rag",
    "least-to-most",
    "least-to-most-rag",
    "step-back",
    "step-back-rag",
    "hyde",
}
"""Strategies that are nothing without a language model; those with a threshold of the paper's need vectors of one."""

WITHOUT_MODEL = [
    strategy for name, strategy in STRATEGIES.items() if name not in {*NEEDS_MODEL, "raise-0.84", "raise-0.80"}
]


def test_what_cannot_do_without_a_model_says_so_and_the_rest_can_be_asked(demo: Engine) -> None:
    assert set(demo.strategies) == {strategy.name for strategy in WITHOUT_MODEL}
    for name in NEEDS_MODEL:
        with pytest.raises(StrategyUnavailable, match=f"strategy {name} needs a language model"):
            demo.events(QUESTIONS[0], strategy=name)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("strategy", WITHOUT_MODEL, ids=lambda strategy: strategy.name)
def test_every_question_gives_every_event_in_order(demo: Engine, strategy: Strategy, question: str) -> None:
    events = list(demo.events(question, strategy=strategy.name))
    kinds = [type(event) for event in events if not isinstance(event, AnswerSentence | Node)]
    assert kinds == [Keywords, Queries, Hits, Ranking, Answer, Timings]
    hits, ranking, answer = _first(Hits, events), _first(Ranking, events), _first(Answer, events)
    assert len(hits.hits) == len(_first(Queries, events).queries)
    assert {ranked.record.docid for ranked in ranking.records} <= set(hits.pool)
    assert [ranked.rank for ranked in ranking.records] == list(range(1, len(ranking.records) + 1))
    assert bool(ranking.reason) == (not ranking.records)
    said = [event.sentence for event in events if isinstance(event, AnswerSentence)]
    assert said == [sentence for section in answer.sections for sentence in section.sentences]
    assert bool(answer.reason) == (not answer.sections)
    cited = {number for sentence in said for number in sentence.citations}
    assert cited == {citation.number for citation in answer.citations}
    by_docid = {ranked.record.docid: ranked.record for ranked in ranking.records}
    for sentence in said:
        assert sentence.sound
        for citation in answer.citations:
            if citation.number in sentence.citations:
                record = by_docid[citation.docid]
                assert sentence.text in record.text or sentence.text == record.title


@pytest.mark.parametrize("strategy", WITHOUT_MODEL, ids=lambda strategy: strategy.name)
def test_a_search_is_an_ask_without_the_answer(demo: Engine, strategy: Strategy) -> None:
    for question in QUESTIONS:
        searched = demo.search(question, k=7, strategy=strategy.name)
        asked = demo.ask(question, k=7, strategy=strategy.name).search
        assert (searched.ranking, searched.hits, searched.keywords) == (asked.ranking, asked.hits, asked.keywords)
        assert "answer" not in searched.timings.seconds


@pytest.mark.parametrize("strategy", WITHOUT_MODEL, ids=lambda strategy: strategy.name)
def test_events_survive_json(demo: Engine, strategy: Strategy) -> None:
    for event in demo.events(QUESTIONS[0], strategy=strategy.name):
        again = msgspec.json.decode(msgspec.json.encode(event), type=type(event))
        assert again == event


@pytest.mark.parametrize("strategy", WITHOUT_MODEL, ids=lambda strategy: strategy.name)
def test_k_bounds_the_records_and_more_of_them_begin_with_the_same(demo: Engine, strategy: Strategy) -> None:
    three = demo.search(QUESTIONS[1], k=3, strategy=strategy.name).ranking.records
    ten = demo.search(QUESTIONS[1], k=10, strategy=strategy.name).ranking.records
    if isinstance(strategy, CompositionStrategy):  # its stages say how many there are
        assert len(three) <= 3
        assert len(three) <= len(ten) <= 10
    else:
        assert (len(three), len(ten)) == (3, 10)
    assert [ranked.record for ranked in ten[:3]] == [ranked.record for ranked in three]


def _first(kind: type[_Kind], events: list[Event]) -> _Kind:
    return next(event for event in events if isinstance(event, kind))
