"""Tests of the records that are put in front: definitions, and overviews of a broad subject."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import analyze_record
from shrag.serving.answering.extractive import extract_answer
from shrag.serving.answering.formats import answer_text
from shrag.serving.engine import Engine
from shrag.serving.request import parse_question
from shrag.serving.retrieval.broad_questions import BroadQuestion
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.retrieval.ranking import Listing, ScoredRecord
from shrag.serving.strategies.leading_records import broad_first

ANALYZER = KoreanEnglishAnalyzer()


def test_records_about_a_broad_subject_come_first_and_the_answer_lists_them(demo: Engine) -> None:
    result = demo.ask("도서관")
    answer, ranking = result.answer, result.search.ranking
    assert answer is not None
    shown = [section.source.docid for section in answer.sections if section.source]
    assert answer.listing == "subject"
    assert len(shown) == 4
    assert shown == [each.record.docid for each in ranking.records[:4]]
    assert all("도서관" in each.record.title or "Librar" in each.record.title for each in ranking.records[:4])
    assert [section.part for section in answer.sections] == ["record", *["related"] * 3]
    assert all(len(section.sentences) == 1 for section in answer.sections[1:])
    assert answer_text(answer).startswith("질문의 주제가 넓어")
    assert ranking.confidence is not None
    assert (ranking.confidence.value, ranking.confidence.level) == (0.2, "medium")
    scores = [each.score for each in ranking.records]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "question", ["도서관 검색의 무결과 질의는 어떻게 개선하였나?", "강화학습", "도서관은 어디에 있나?"]
)
def test_other_questions_and_subjects_of_few_records_get_no_overview(demo: Engine, question: str) -> None:
    answer = demo.ask(question).answer
    assert answer is not None
    assert not answer.listing


def test_the_overview_begins_alike_however_many_records_are_wanted(demo: Engine) -> None:
    docids = [each.record.docid for each in demo.search("도서관", k=10).ranking.records]
    for k in (1, 2, 5):
        assert [each.record.docid for each in demo.search("도서관", k=k).ranking.records] == docids[:k]


def test_further_pages_have_no_record_of_the_overview_again(demo: Engine) -> None:
    first, second = demo.search("도서관", k=5).ranking, demo.search("도서관", k=5, offset=5).ranking
    assert not {each.record.docid for each in first.records} & {each.record.docid for each in second.records}
    assert first.confidence == second.confidence


def test_records_that_compare_two_subjects_come_first_and_the_comparison_is_quoted(demo: Engine) -> None:
    result = demo.ask("LSTM과 ARIMA 비교")
    answer, confidence = result.answer, result.search.ranking.confidence
    assert answer is not None
    assert confidence is not None
    assert (answer.citations[0].docid, answer.listing, answer.uncertain) == ("DEMO-AGR-002", "comparison", True)
    assert any("LSTM" in each.text and "ARIMA" in each.text for each in answer.sections[0].sentences)
    assert 0.1 <= confidence.value < 0.2


def _word(text: str) -> QueryTerm:
    return QueryTerm(text, tuple(ANALYZER.terms([text])[0]), 1.0, 1, keyword=True, known=True)


def _ranked(*records: tuple[str, str]) -> list[ScoredRecord]:
    """Return ranked records with these titles and texts, whose docids are d1, d2, …"""
    analyzed = [
        analyze_record(Record(f"d{rank}", title, text, "en", complete=True), ANALYZER)
        for rank, (title, text) in enumerate(records, 1)
    ]
    return [ScoredRecord(each, 9.0 - rank, rank) for rank, each in enumerate(analyzed, 1)]


AI_IN_FARMING = BroadQuestion(((_word("AI"),), (_word("farming"),)))
MENTIONING = [
    ("Weather", "AI is used in farming."),  # neither is in the title
    ("Trends of farming", "Soils differ. AI is used in farming."),
    ("Farming and soils", "AI is everywhere. Soils are used in farming."),  # in two sentences
    ("AI for crops", "We show that AI helps farming."),
    ("Farming by robots", "Robots with AI do the farming."),
]


def test_records_that_mention_both_subjects_in_a_sentence_are_listed_where_few_titles_have_both() -> None:
    found = broad_first(AI_IN_FARMING, _ranked(*MENTIONING), "en")
    assert [each.record.record.docid for each in found.records] == ["d2", "d4", "d5", "d1", "d3"]
    assert (found.docids, found.kind) == (frozenset({"d2", "d4", "d5"}), "mentions")
    assert broad_first(AI_IN_FARMING, _ranked(*MENTIONING[:4]), "en").docids == frozenset()
    titled = [("AI in farming", "Text."), ("Farming with AI", "Text."), ("AI, farming and soils", "Text.")]
    found = broad_first(AI_IN_FARMING, _ranked(*MENTIONING, *titled), "en")
    assert (found.docids, found.kind) == (frozenset({"d6", "d7", "d8"}), "subject")


def test_records_that_only_mention_one_subject_are_not_listed() -> None:
    assert broad_first(BroadQuestion(((_word("AI"),),)), _ranked(*MENTIONING[:3]), "en").docids == frozenset()


def test_of_records_that_compare_those_for_the_same_purpose_come_first() -> None:
    records = [
        ("Trees and forests", "Trees are better than forests for soil."),
        ("Models", "Trees are better than forests for crops."),
        ("Crops", "Trees grow. Forests grow."),
    ]
    question = BroadQuestion(((_word("trees"),), (_word("forests"),)), compares=True)
    found = broad_first(question, _ranked(*records), "en")
    assert [each.record.record.docid for each in found.records] == ["d1", "d2", "d3"]
    assert found.docids == {"d1", "d2"}
    found = broad_first(question._replace(purpose=((_word("crops"),),)), _ranked(*records), "en")
    assert [each.record.record.docid for each in found.records] == ["d2", "d1", "d3"]
    assert found.docids == {"d2"}


def test_an_answer_of_records_that_mention_a_subject_says_so(demo: Engine) -> None:
    answer = demo.ask("도서관").answer
    assert answer is not None
    assert answer_text(replace(answer, listing="mentions")).startswith("제목에 이 주제가 드러난 문헌이 적어")


def test_where_no_record_compares_two_subjects_the_records_about_each_are_listed_in_turn() -> None:
    records = [
        ("Trees", "Trees grow."),
        ("A survey of forests", "Forests grow."),
        ("Forests", "Soils."),
        ("Rain", "Wet."),
    ]
    question = BroadQuestion(((_word("trees"),), (_word("forests"),)), compares=True)
    found = broad_first(question, _ranked(*records), "en")
    assert [each.record.record.docid for each in found.records] == ["d1", "d3", "d2", "d4"]
    assert (found.docids, found.kind) == (frozenset({"d1", "d3"}), "separate")
    found = broad_first(question, _ranked(*records[1:]), "en")
    assert (found.docids, found.kind) == (frozenset(), "")


def test_a_record_that_defines_the_subject_stays_in_front_of_the_list() -> None:
    records = [
        ("Crops", "Farming is a craft."),
        *[(f"Farming and {name}", "Text.") for name in ("sheep", "cows", "bees")],
    ]
    question = BroadQuestion(((_word("farming"),),))
    found = broad_first(question, _ranked(*records), "en", defines=True)
    assert [each.record.record.docid for each in found.records] == ["d1", "d2", "d3", "d4"]
    assert found.kind == "definition"
    found = broad_first(question, _ranked(*records[:3]), "en", defines=True)
    assert (found.docids, found.kind) == (frozenset(), "definition")


def test_of_records_about_each_of_two_subjects_those_for_the_purpose_are_listed() -> None:
    records = [("Trees", "Trees grow."), ("Forests", "Crops need forests."), ("Old trees", "They are good for crops.")]
    question = BroadQuestion(((_word("trees"),), (_word("forests"),)), compares=True, purpose=((_word("crops"),),))
    assert broad_first(question, _ranked(*records), "en").docids == {"d2", "d3"}
    assert broad_first(question, _ranked(*records[:2]), "en").docids == frozenset()


@pytest.mark.parametrize(
    ("text", "listing"), [("그래핀은 얇다.", "undefined"), ("얇게 펼 수 있는 기술인 그래핀을 쓴다.", "subject")]
)
def test_a_list_says_that_nothing_defines_the_subject_unless_a_sentence_of_it_does(text: str, listing: str) -> None:
    records = [(f"그래핀 {name}", text) for name in ("필름", "센서", "전극")]
    ranked = _ranked(*records)
    broad = BroadQuestion(((_word("그래핀"),),))
    found = broad_first(broad, ranked, "ko")
    evidence = [each.record for each in found.records]
    answer = extract_answer(
        parse_question("그래핀이란?"), [_word("그래핀")], evidence, listing=Listing(broad, found.docids, found.kind)
    )
    assert answer.listing == listing


def test_a_comparison_is_not_taken_for_a_definition_of_one_of_the_two(demo: Engine) -> None:
    plain, asked = (
        demo.ask(text).answer for text in ("LSTM vs ARIMA", "What is the difference between LSTM and ARIMA?")
    )
    assert plain is not None
    assert asked is not None
    assert asked.listing == plain.listing == "comparison"
    assert [each.docid for each in asked.citations] == [each.docid for each in plain.citations]


def test_of_a_record_that_compares_twice_the_sentence_that_tells_the_difference_is_quoted() -> None:
    texts = ["We compare trees and forests. Trees were better than forests."] * 2
    ranked = _ranked(("Soil", texts[0]), ("Water", f"Rain fell. {texts[1]}"))
    broad = BroadQuestion(((_word("trees"),), (_word("forests"),)), compares=True)
    found = broad_first(broad, ranked, "en")
    evidence = [each.record for each in found.records]
    answer = extract_answer(
        parse_question("trees vs forests"), [_word("trees")], evidence, listing=Listing(broad, found.docids, found.kind)
    )
    assert [each.text for each in answer.sections[1].sentences] == ["Trees were better than forests."]
