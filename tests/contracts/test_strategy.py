"""Contract of strategies: the same events, once each, in one order, found something or not, with a model or not.

And that none passes over a setting: it looks records up by it, or refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, get_args

import msgspec
import pytest

from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.engine import Engine
from shrag.serving.errors import ModelNeeded, SettingRejected, StrategyUnavailable
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Fallback,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Purpose,
    Queries,
    RankedRecord,
    Ranking,
    Timings,
    Truncated,
)
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.pipeline.strategy import PipelineStrategy
from shrag.serving.strategies.registry import STRATEGIES
from shrag.serving.strategy import Strategy
from tests.conftest import ROOT
from tests.support.hostile_input import HOSTILE, GarbageModel, check_events, first

pytestmark = pytest.mark.slow

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
    "cot-query",
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

NEEDS_VECTORS = {"raise-0.84", "raise-0.80"}

WITHOUT_MODEL = [strategy for name, strategy in STRATEGIES.items() if name not in NEEDS_MODEL | NEEDS_VECTORS]
WITH_MODEL = [strategy for name, strategy in STRATEGIES.items() if name not in NEEDS_VECTORS]

UNSEARCHED = {"cot", "least-to-most", "step-back"}
"""Strategies that look nothing up."""

SET: Mapping[str, Any] = {
    "keywords": 1,
    "ands": 1,
    "and_reading": "required",
    "words": "compound",
    "languages": "en",
    "queries": "longest",
    "extra_queries": "none",
    "glossary": False,
    "candidates": "dense",
    "rerank": False,
    "depth": 3,
}
"""Every setting with a value that is not its default, but for the order of keywords, which none refuses."""


PIPELINES = {name for name, strategy in STRATEGIES.items() if isinstance(strategy, PipelineStrategy)}
STEPWISE = {name for name in STRATEGIES if name.startswith(("raise", "cot", "least", "step", "hyde"))} - {"cot-query"}
UNDIVIDED = {"cot", "cot-rag", "raise-direct"}
TURNS = {"previous-context", "self-ask"}

ACCEPTED: Mapping[str, tuple[Any, set[str]]] = {
    "answer": ("brief", set(STRATEGIES) - UNSEARCHED),
    "paper": ("No such paper", PIPELINES),
    "calls": (3, set(STRATEGIES) - {"shrag", "hybrid", "bm25"}),
    "seconds": (3, set(STRATEGIES) - {"shrag", "hybrid", "bm25"}),
    "steps": (3, TURNS | STEPWISE - UNDIVIDED),
    "step_records": (3, {"tree"} | TURNS | STEPWISE - UNSEARCHED),
    "tree_depth": (2, {"tree"}),
    "tree_nodes": (2, {"tree"}),
    "tree_children": (2, {"tree"}),
}
"""The other settings, each with a value and the strategies that use it."""


class _Away:
    """A model that is not there."""

    name = "away"

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        raise ModelUnavailable("The model is away.")

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        raise ModelUnavailable("The model is away.")


def test_strategies_that_need_a_model_say_so_and_the_others_work(demo: Engine) -> None:
    assert set(demo.strategies) == {strategy.name for strategy in WITHOUT_MODEL}
    for name in NEEDS_MODEL:
        with pytest.raises(ModelNeeded, match=f"strategy {name} needs a language model"):
            demo.events(QUESTIONS[0], strategy=name)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("strategy", WITHOUT_MODEL, ids=lambda strategy: strategy.name)
def test_every_question_gives_every_event_in_order(demo: Engine, strategy: Strategy, question: str) -> None:
    events = list(demo.events(question, strategy=strategy.name))
    kinds = [type(event) for event in events if not isinstance(event, AnswerSentence | Node)]
    assert kinds == [Keywords, Queries, Hits, Ranking, Answer, Timings]
    hits, ranking, answer = first(Hits, events), first(Ranking, events), first(Answer, events)
    assert len(hits.hits) == len(first(Queries, events).queries)
    assert {ranked.record.docid for ranked in ranking.records} <= set(hits.candidates)
    assert [ranked.rank for ranked in ranking.records] == list(range(1, len(ranking.records) + 1))
    assert bool(ranking.reason) == (not ranking.records)
    said = [event.sentence for event in events if isinstance(event, AnswerSentence)]
    assert said == [sentence for section in answer.sections for sentence in section.sentences]
    assert bool(answer.reason) == (not answer.sections)
    cited = {number for sentence in said for number in sentence.citations}
    cited |= {section.source.number for section in answer.sections if section.source is not None}
    assert cited == {citation.number for citation in answer.citations}
    by_docid = {ranked.record.docid: ranked.record for ranked in ranking.records}
    for sentence in said:
        assert sentence.supported
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
    events = list(demo.events(QUESTIONS[0], strategy=strategy.name))
    assert len(events) > 3
    assert [msgspec.json.decode(msgspec.json.encode(event), type=type(event)) for event in events] == events


@pytest.mark.parametrize("strategy", WITHOUT_MODEL, ids=lambda strategy: strategy.name)
def test_k_bounds_the_records_and_more_of_them_begin_with_the_same(demo: Engine, strategy: Strategy) -> None:
    three = demo.search(QUESTIONS[1], k=3, strategy=strategy.name).ranking.records
    ten = demo.search(QUESTIONS[1], k=10, strategy=strategy.name).ranking.records
    if isinstance(strategy, PipelineStrategy):  # its stages say how many there are
        assert len(three) <= 3
        assert len(three) <= len(ten) <= 10
    else:
        assert (len(three), len(ten)) == (3, 10)
    assert [ranked.record for ranked in ten[:3]] == [ranked.record for ranked in three]


def _pages(demo: Engine, question: str, **arguments: Any) -> list[RankedRecord]:  # noqa: ANN401
    """Return the records of all pages of three, each page begun behind the last rank of the one before."""
    page = demo.search(question, k=3, **arguments)
    records, confidence = list(page), page.ranking.confidence
    while page.ranking.more and len(records) <= 27:
        page = demo.search(question, k=3, offset=len(records), **arguments)
        assert page.ranking.confidence == confidence
        assert bool(page.ranking.reason == "past_end") == (not page.ranking.records)
        records += page
    return records


def _places(records: Iterable[RankedRecord]) -> list[tuple[int, str, float]]:
    return [(each.rank, each.record.docid, each.score) for each in records]


@pytest.mark.parametrize("record_filter", [EVERY_RECORD, RecordFilter(language=("ko",))], ids=["all", "filtered"])
@pytest.mark.parametrize("strategy", WITHOUT_MODEL, ids=lambda strategy: strategy.name)
def test_pages_begin_with_the_search_without_an_offset_and_have_each_record_once(
    demo: Engine, strategy: Strategy, record_filter: RecordFilter
) -> None:
    for question in QUESTIONS:
        arguments: dict[str, Any] = {"strategy": strategy.name, "record_filter": record_filter}
        records = _pages(demo, question, **arguments)
        docids = [each.record.docid for each in records]
        assert [each.rank for each in records] == list(range(1, len(records) + 1))
        assert len(set(docids)) == len(docids)
        assert {each.record.language for each in records} <= ({"ko"} if record_filter else {"ko", "en"})
        unpaged = demo.search(question, k=3, **arguments)
        assert records[: len(unpaged)] == list(unpaged)


@pytest.mark.parametrize("record_filter", [EVERY_RECORD, RecordFilter(year_from=2022)], ids=["all", "filtered"])
@pytest.mark.parametrize("strategy", [each for each in WITHOUT_MODEL if each.name not in {"chain", "tree", "raise"}])
def test_pages_together_are_one_large_search_where_both_search_as_deep(
    demo: Engine, strategy: Strategy, record_filter: RecordFilter
) -> None:
    # The three left out plan by the records of the first page, and so by its size.
    searches_as_deep = isinstance(strategy, PipelineStrategy) or strategy.name == "bm25"
    settings = SearchSettings() if searches_as_deep else SearchSettings(depth=30)
    for question in QUESTIONS:
        arguments: dict[str, Any] = {"strategy": strategy.name, "record_filter": record_filter, "settings": settings}
        assert _places(_pages(demo, question, **arguments)) == _places(demo.search(question, k=30, **arguments))


def _modelled(demo: Engine, model: LanguageModel) -> Engine:
    return Engine(demo.open_index, model)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strategy", WITH_MODEL, ids=lambda strategy: strategy.name)
def test_any_output_of_a_model_gives_every_event_and_every_call(demo: Engine, strategy: Strategy, seed: int) -> None:
    for question in QUESTIONS:
        model = GarbageModel(HOSTILE, seed)
        events = list(_modelled(demo, model).events(question, strategy=strategy.name))
        check_events(events)
        assert model.calls <= PRODUCT.calls + 1  # the answer is owed beyond the ration
        told = sum(isinstance(event, ModelCall) for event in events)
        # Where a ration ends between a try and its repair, that try is not told.
        assert told == model.calls or (told < model.calls and any(isinstance(event, Truncated) for event in events))


@pytest.mark.parametrize("strategy", WITH_MODEL, ids=lambda strategy: strategy.name)
def test_an_unavailable_model_gives_the_answer_without_one_and_a_fallback(demo: Engine, strategy: Strategy) -> None:
    events = list(_modelled(demo, _Away()).events(QUESTIONS[0], strategy=strategy.name))
    check_events(events)
    assert {event.cause for event in events if isinstance(event, Fallback)} == {"unavailable"}
    if strategy.name not in NEEDS_MODEL:
        alone = demo.ask(QUESTIONS[0], strategy=strategy.name)
        assert first(Ranking, events) == alone.search.ranking
        assert first(Answer, events) == alone.answer


def test_strategies_that_need_a_models_vectors_say_so(demo: Engine) -> None:
    for name in NEEDS_VECTORS:
        with pytest.raises(StrategyUnavailable, match=f"strategy {name} needs vectors that a model made"):
            _modelled(demo, _Away()).events(QUESTIONS[0], strategy=name)


@pytest.mark.parametrize("setting", SET)
@pytest.mark.parametrize("strategy", WITH_MODEL, ids=lambda strategy: strategy.name)
def test_a_setting_is_rejected_where_it_has_no_effect_and_else_reaches_the_search(
    demo: Engine, strategy: Strategy, setting: str
) -> None:
    engine, settings = _modelled(demo, _Away()), SearchSettings.from_mapping({setting: SET[setting]})
    fixed = isinstance(strategy, PipelineStrategy) and setting != "glossary"
    if fixed or strategy.name in {"bm25", *UNSEARCHED}:
        with pytest.raises(SettingRejected, match=f"^The strategy {strategy.name} has no setting {setting}: leave it"):
            engine.search(QUESTIONS[0], strategy=strategy.name, settings=settings)
        return
    found = engine.search(QUESTIONS[0], strategy=strategy.name, settings=settings)
    if setting == "keywords":
        assert all(len(query) == 1 for query in found.queries.queries)
    elif setting == "ands":
        assert any(" + " in words for query in found.queries.queries for words in query)
    elif setting == "languages":
        assert found.queries.queries
        assert not re.search("[가-힣]", str(found.queries.queries))
    elif setting in {"queries", "extra_queries"}:
        assert len(found.queries.queries) < len(engine.search(QUESTIONS[0], strategy=strategy.name).queries.queries)
    elif setting == "glossary":
        assert not any(keyword.translations for keyword in found.keywords.keywords)
    elif setting == "candidates":
        assert (found.queries.queries, found.hits.hits) == ((), ())
        assert found.hits.dense
    elif setting == "rerank":
        assert found.ranking.reranker == "order of the candidates"
    elif setting == "depth":
        assert {len(hits) for hits in found.hits.hits} <= {0, 1, 2, 3}


def test_every_setting_is_tested() -> None:
    assert {*SET, *ACCEPTED, "keyword_order"} == {each.name for each in fields(SearchSettings)}


@pytest.mark.parametrize("setting", ACCEPTED)
@pytest.mark.parametrize("strategy", WITH_MODEL, ids=lambda strategy: strategy.name)
def test_settings_of_plans_and_answers_are_rejected_where_they_have_no_effect(
    demo: Engine, strategy: Strategy, setting: str
) -> None:
    value, accepting = ACCEPTED[setting]
    engine, settings = _modelled(demo, _Away()), SearchSettings.from_mapping({setting: value})
    if strategy.name not in accepting:
        with pytest.raises(SettingRejected, match=f"^The strategy {strategy.name} has no setting {setting}: leave it"):
            engine.search(QUESTIONS[0], strategy=strategy.name, settings=settings)
    elif setting == "paper":
        with pytest.raises(SettingRejected, match=r"^Index demo has no paper called 'No such paper'"):
            engine.search(QUESTIONS[0], strategy=strategy.name, settings=settings)
    else:
        engine.search(QUESTIONS[0], strategy=strategy.name, settings=settings)


@pytest.mark.parametrize("strategy", WITH_MODEL, ids=lambda strategy: strategy.name)
def test_all_strategies_accept_the_order_of_keywords(demo: Engine, strategy: Strategy) -> None:
    _modelled(demo, _Away()).search(QUESTIONS[0], strategy=strategy.name, keyword_order="entropy")


@pytest.mark.parametrize("strategy", WITH_MODEL, ids=lambda strategy: strategy.name)
def test_missing_vectors_are_reported_before_any_event(demo: Engine, strategy: Strategy) -> None:
    bare = Engine(replace(demo.open_index, dense=None), _Away())
    with pytest.raises((StrategyUnavailable, SettingRejected), match=strategy.name):
        bare.events(QUESTIONS[0], strategy=strategy.name, settings=SearchSettings(candidates="hybrid"))


def test_the_page_of_strategies_names_all_strategies_purposes_and_stages(demo: Engine) -> None:
    page = (ROOT / "docs/en/explanation/strategies.md").read_text(encoding="utf-8")
    between = {f"pipeline-{number}" for number in range(2, 8)}  # the page says `pipeline-1` … `pipeline-8`
    assert [name for name in STRATEGIES if name not in between and f"`{name}`" not in page] == []
    assert [purpose for purpose in get_args(Purpose) if f"| `{purpose}` |" not in page] == []
    lines = [strategy.name for strategy in WITH_MODEL]
    lines += ["expand(glossary) > retrieve(5) > dense(5) > rrf(5)"]
    engine = _modelled(demo, GarbageModel(HOSTILE, 0))
    stages = {stage for line in lines for stage in engine.ask(QUESTIONS[0], strategy=line).search.timings.seconds}
    rows = page[page.index("| stages") :].splitlines()[2:]
    assert set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in rows))) == stages | {"cache"}
