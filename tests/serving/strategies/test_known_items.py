from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.record_filter import RecordFilter
from shrag.serving.answering.formats import answer_text
from shrag.serving.engine import Engine, open_engine
from shrag.serving.request import Turn
from shrag.serving.strategies.known_items import find_named_record, records_of_author
from tests.support.incomplete_store import IncompleteStore
from tests.support.scripted_models import ScriptedModel

DOCID = "DEMO-MAT-001"


@pytest.fixture(scope="module")
def authors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An index of a record by an author called 신경망, two by Minsu Kim, and one of his without a year."""
    home = tmp_path_factory.mktemp("authors")
    source = home / "records.jsonl"
    with source.open("w", encoding="utf-8") as stream:
        for number, author in enumerate(["신경망", "Minsu Kim", "Minsu Kim", "Minsu Kim"]):
            record = {
                "CN": f"r{number}",
                "title": f"신경망 연구 {number}",
                "abstract": f"신경망으로 수요를 예측하는 {number}번째 연구이다.",
                "author": author,
                "year": f"200{number}" if number < 3 else "",
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    add_corpus(home / "corpora", "authors", "scienceon", [source])
    build_index(home / "corpora", home / "indexes", "authors")
    with open_engine(home / "indexes", "authors") as engine:
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


@pytest.mark.parametrize(
    "question",
    [
        "Maddox Ferrand",
        " maddox  FERRAND ",
        "Ferrand, Maddox",
        "author: Maddox Ferrand",
        "저자: Maddox Ferrand",
    ],
)
def test_an_authors_whole_name_in_either_order_finds_the_authors_records(demo: Engine, question: str) -> None:
    assert [each.record.docid for each in records_of_author(question, demo.open_index)] == [DOCID]


@pytest.mark.parametrize("question", ["", "Ferrand", "Maddox", "author:", "Maddox Ferrand graphene", "x" * 101])
def test_a_part_of_a_name_or_more_than_a_name_finds_none(demo: Engine, question: str) -> None:
    assert records_of_author(question, demo.open_index) == []


def test_a_name_whose_words_a_record_has_is_a_subject_unless_it_is_called_an_author(authors: Engine) -> None:
    assert records_of_author("신경망", authors.open_index) == []
    assert [each.record.docid for each in records_of_author("저자: 신경망", authors.open_index)] == ["r0"]


def test_the_newest_records_of_an_author_come_first_and_those_without_a_year_last(authors: Engine) -> None:
    for name in ("Minsu Kim", "Kim, Minsu"):
        assert [each.record.docid for each in records_of_author(name, authors.open_index)] == ["r2", "r1", "r3"]
    assert [each.record.docid for each in authors.search("Minsu Kim", k=1).ranking.records] == ["r2"]


def test_the_records_of_an_author_are_listed_by_every_strategy_and_none_is_quoted(demo: Engine) -> None:
    for strategy in ("shrag", "bm25", "tree"):
        result = demo.ask("Maddox Ferrand", strategy=strategy)
        assert [each.record.docid for each in result.search.ranking.records] == [DOCID]
        assert (result.search.ranking.reranker, result.search.ranking.confidence) == ("author", None)
        assert (result.answer.reason, result.answer.sections, result.answer.citations) == ("names_author", (), ())
        assert [each.docid for each in result.answer.nearest] == [DOCID]
        lines = answer_text(result.answer).splitlines()
        assert lines[0] == "The records of the author of this name, newest first. For an answer ask about a subject."
        assert len(lines) == 2
        assert lines[1].endswith(f"({DOCID})")


def test_of_an_authors_records_those_that_pass_the_filter_are_listed(authors: Engine) -> None:
    early = authors.search("Minsu Kim", record_filter=RecordFilter(year_to=2001))
    assert [each.record.docid for each in early.ranking.records] == ["r1"]
    none = authors.search("Minsu Kim", record_filter=RecordFilter(year_from=2020))
    assert none.ranking.reranker != "author"
