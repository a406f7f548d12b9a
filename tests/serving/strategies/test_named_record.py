from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.indexing.record_filter import RecordFilter
from shrag.serving.engine import Engine
from shrag.serving.request import Turn
from shrag.serving.strategies.named_record import find_named_record
from tests.support.incomplete_store import IncompleteStore
from tests.support.scripted_models import ScriptedModel

DOCID = "DEMO-MAT-001"


@pytest.mark.parametrize(
    "question",
    [
        DOCID,
        f"  “{DOCID}”. ",
        f"({DOCID})",
        f"Could you summarize {DOCID}?",
        f"{DOCID}을 간략하게 요약해 주시겠습니까?",
    ],
)
def test_a_docid_alone_or_with_words_that_frame_the_request_names_its_record(demo: Engine, question: str) -> None:
    found = find_named_record(question, demo.open_index)
    assert found is not None
    assert found.record.docid == DOCID


@pytest.mark.parametrize(
    "question",
    [
        "",
        "2020",
        "graphene",
        "DEMO-MAT-999",
        DOCID.lower(),
        f"{DOCID} graphene",
        f"{DOCID} and DEMO-MAT-012",
        f"DEMO-MAT-999 {DOCID}",
        f"x100 x200 x300 {DOCID}",
        "그래핀 전자파 차폐",
    ],
)
def test_other_words_or_a_second_docid_name_no_record(demo: Engine, question: str) -> None:
    assert find_named_record(question, demo.open_index) is None


@pytest.mark.parametrize("strategy", ["shrag", "bm25", "hybrid", "tree", "pipeline-1"])
def test_every_strategy_shows_the_record_that_is_named_and_quotes_it(demo: Engine, strategy: str) -> None:
    result = demo.ask(DOCID, strategy=strategy, facets=True)
    assert [each.record.docid for each in result.search.ranking.records] == [DOCID]
    assert result.search.ranking.reranker == "identifier"
    assert result.search.hits.hits == ()
    assert (result.answer.kind, result.answer.reason) == ("extractive", "")
    assert [citation.docid for citation in result.answer.citations] == [DOCID]
    confidence = result.search.ranking.confidence
    assert confidence is not None
    assert (confidence.value, confidence.level) == (1.0, "high")


def test_a_model_is_not_asked_for_a_record_that_is_named(demo: Engine) -> None:
    model = ScriptedModel()
    with_model = Engine(demo.open_index, model)
    assert with_model.ask(DOCID).answer.kind == "extractive"
    assert model.asked == []


def test_a_record_is_named_in_a_conversation_too(demo: Engine) -> None:
    result = demo.ask(DOCID, history=[Turn("그래핀 전자파 차폐", "")])
    assert result.search.follow_up is None
    assert [each.record.docid for each in result.search.ranking.records] == [DOCID]


def test_a_record_that_does_not_pass_the_filter_is_not_shown(demo: Engine) -> None:
    (record,) = [each.record for each in demo.search(DOCID).ranking.records]
    assert record.year is not None
    later = demo.search(DOCID, record_filter=RecordFilter(year_from=record.year + 1))
    assert DOCID not in [each.record.docid for each in later.ranking.records]
    same = demo.search(DOCID, record_filter=RecordFilter(year_from=record.year))
    assert [each.record.docid for each in same.ranking.records] == [DOCID]


def test_a_record_without_an_abstract_is_shown_and_not_quoted(demo: Engine) -> None:
    index = replace(demo.open_index, store=IncompleteStore(demo.open_index.store, {DOCID}))
    result = Engine(index).ask(DOCID)
    assert [each.record.docid for each in result.search.ranking.records] == [DOCID]
    assert result.search.hits.incomplete == (DOCID,)
    assert (result.answer.reason, result.answer.sections) == ("nothing_found", ())
