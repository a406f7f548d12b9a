from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shrag.indexing.record_filter import RecordFilter
from shrag.serving.answering.formats import answer_text
from shrag.serving.engine import Engine
from shrag.serving.events import Authors
from shrag.serving.request import Turn
from shrag.serving.strategies.known_items import find_named_record
from tests.support.author_index import AuthoredRecord, open_author_index
from tests.support.incomplete_store import IncompleteStore
from tests.support.scripted_models import ScriptedModel

DOCID = "DEMO-MAT-001"


@pytest.fixture(scope="module")
def authors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An index of two records by Minsu Kim and one of his without a year."""
    records = [AuthoredRecord(f"신경망 연구 {year}", "Minsu Kim", year) for year in ("2001", "2002", "")]
    with open_author_index(tmp_path_factory.mktemp("authors"), records) as engine:
        yield engine


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


def test_the_newest_records_of_an_author_come_first_and_those_without_a_year_last(authors: Engine) -> None:
    for name in ("Minsu Kim", "Kim, Minsu", "papers by Minsu"):
        assert [each.record.docid for each in authors.search(name).ranking.records] == ["r2", "r1", "r3"]
    assert [each.record.docid for each in authors.search("Minsu Kim", k=1).ranking.records] == ["r2"]


def test_the_records_of_an_author_are_listed_by_every_strategy_and_none_is_quoted(demo: Engine) -> None:
    for strategy in ("shrag", "bm25", "tree"):
        result = demo.ask("Maddox Ferrand", strategy=strategy)
        assert [each.record.docid for each in result.search.ranking.records] == [DOCID]
        assert (result.search.ranking.reranker, result.search.ranking.confidence) == ("author", None)
        assert (result.answer.reason, result.answer.sections, result.answer.citations) == ("names_author", (), ())
        assert result.search.authors == Authors(("Maddox Ferrand",), 1, "listed")
        assert [each.docid for each in result.answer.nearest] == [DOCID]
        lines = answer_text(result.answer).splitlines()
        assert lines[0].startswith("These records are by authors of this name, newest first where the year is known.")
        assert len(lines) == 2
        assert lines[1].endswith(f"({DOCID})")


def test_of_an_authors_records_those_that_pass_the_filter_are_listed(authors: Engine) -> None:
    early = authors.search("Minsu Kim", record_filter=RecordFilter(year_to=2001))
    assert [each.record.docid for each in early.ranking.records] == ["r1"]
    counted = authors.search("Minsu Kim", record_filter=RecordFilter(year_to=2001), facets=True).facets
    assert counted is not None
    assert (counted.total, [each.value for each in counted.year]) == (1, ["2001", "2002"])
    none = authors.search("Minsu Kim", record_filter=RecordFilter(year_from=2020))
    assert none.ranking.reranker != "author"


def test_older_records_of_an_author_with_more_than_are_listed_are_found_and_counted(
    authors: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.strategies.known_items._MOST_OF_AUTHORS", 1)
    early = authors.search("Minsu Kim", record_filter=RecordFilter(year_to=2001), facets=True)
    assert [each.record.docid for each in early.ranking.records] == ["r1"]
    assert early.facets is not None
    assert (early.facets.total, [each.value for each in early.facets.year]) == (1, ["2001", "2002"])
    every = authors.search("Minsu Kim", facets=True)
    assert [each.record.docid for each in every.ranking.records] == ["r2"]
    assert every.facets is not None
    assert (every.facets.total, every.facets.undated) == (3, 1)
    assert [(each.value, each.count) for each in every.facets.author] == [("Minsu Kim", 3)]
