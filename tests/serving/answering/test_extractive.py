from __future__ import annotations

from collections.abc import Sequence

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.serving.answering.extractive import extract_answer
from shrag.serving.answering.formats import answer_text
from shrag.serving.events import Answer
from shrag.serving.request import parse_question
from shrag.serving.retrieval.query_terms import QueryTerm


def _answer(question: str, words: Sequence[str], *records: tuple[str, str]) -> Answer:
    analyzer = KoreanEnglishAnalyzer()
    evidence: list[AnalyzedRecord] = []
    for number, (title, text) in enumerate(records, 1):
        record = Record(f"d{number}", title, text, detect_language(text), complete=True)
        evidence.append(analyze_record(record, analyzer))
    weighed = [QueryTerm(word, tuple(analyzer.terms([word])[0]), 1.0, 1, keyword=True, known=True) for word in words]
    return extract_answer(parse_question(question), weighed, evidence)


GRAPHENE = (
    "그래핀 필름의 차폐",
    "경량 차폐재에 대한 수요가 늘고 있다. 본 연구는 그래핀 필름의 전자파 차폐 효율을 측정하였다. "
    "측정 조건은 다음과 같다. 표면 처리는 어떤 영향을 주는가? 측정 결과 차폐 효율은 30 dB로 나타났다.",
)


def test_the_parts_are_in_order_and_each_sentence_cites_its_record() -> None:
    answer = _answer("그래핀 필름의 차폐 효율은?", ["그래핀", "필름", "차폐", "효율"], GRAPHENE)
    assert answer_text(answer) == (
        "##제목##\n그래핀 필름의 차폐 [1]\n\n"
        "##서론##\n경량 차폐재에 대한 수요가 늘고 있다. [1]\n\n"
        "##본론##\n본 연구는 그래핀 필름의 전자파 차폐 효율을 측정하였다. [1]\n\n"
        "##결론##\n측정 결과 차폐 효율은 30 dB로 나타났다. [1]"
    )
    assert [(citation.number, citation.docid) for citation in answer.citations] == [(1, "d1")]


def test_an_english_question_gets_english_headings() -> None:
    answer = _answer(
        "shielding of graphene?", ["graphene", "shielding"], ("Graphene", "Graphene films gave good shielding.")
    )
    assert answer_text(answer) == "##Title##\nGraphene [1]\n\n##Main Body##\nGraphene films gave good shielding. [1]"


def test_without_an_answering_record_there_is_a_reason_and_no_citation() -> None:
    answer = _answer("김치찌개 끓이는 법은?", ["김치찌개", "끓이는", "법", "그래핀"], GRAPHENE)
    assert (answer.reason, answer.sections, answer.citations) == ("nothing_fits", (), ())
    assert answer_text(answer).startswith("찾은 기록 가운데 이 질문에 답하는 문장이 없습니다.")
    assert _answer("그래핀?", ["그래핀"]).reason == "nothing_found"


def test_the_same_paper_twice_is_quoted_once() -> None:
    twin = ("그래핀 필름의 차폐.", GRAPHENE[1].replace("늘고", "크게 늘고"))
    once = _answer("그래핀 필름의 차폐 효율은?", ["그래핀", "필름", "차폐", "효율"], GRAPHENE)
    assert _answer("그래핀 필름의 차폐 효율은?", ["그래핀", "필름", "차폐", "효율"], GRAPHENE, twin) == once


def test_questions_and_announcements_are_no_statements() -> None:
    answer = _answer("표면 처리의 영향은?", ["표면", "처리", "영향"], GRAPHENE)
    assert "?" not in answer_text(answer)
    assert "다음과 같다" not in answer_text(answer)


def test_a_record_in_the_other_language_answers_by_its_terms() -> None:
    korean = ("염습지의 탄소", "염습지(salt marsh)의 블루카본(blue carbon) 매몰률을 재었다. 결과는 높았다.")
    words = ["restored", "salt", "marsh", "bury", "carbon", "compared", "natural", "fast", "yearly", "blue"]
    answer = _answer("How fast does a restored salt marsh bury blue carbon?", words, korean)
    title, body = answer.sections
    assert title.sentences[0].text == "How fast does a restored salt marsh bury blue carbon?"
    assert title.sentences[0].citations == ()
    assert body.sentences[0].text == "염습지(salt marsh)의 블루카본(blue carbon) 매몰률을 재었다."


def test_a_bilingual_abstract_answers_in_the_language_of_the_question() -> None:
    both = (
        "그래핀 필름",
        "그래핀(graphene) 필름의 차폐(shielding)를 재었다. The shielding of graphene films was measured.",
    )
    korean = _answer("그래핀 필름의 차폐(shielding)는?", ["그래핀", "필름", "차폐", "shielding"], both)
    english = _answer("shielding of graphene films?", ["shielding", "graphene", "films"], both)
    assert "measured" not in answer_text(korean)
    assert "재었다" not in answer_text(english)


def test_long_and_tiny_sentences_are_left_out() -> None:
    record = ("그래핀", "그래핀. " + "그래핀과 " * 200 + "이다. 그래핀 필름의 차폐를 측정하였다.")
    answer = _answer("그래핀은?", ["그래핀"], record)
    assert [s.text for section in answer.sections[1:] for s in section.sentences] == [
        "그래핀 필름의 차폐를 측정하였다."
    ]
