from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.serving.answering.citations import verify_quotes
from shrag.serving.answering.extractive import answers_by_words, extract_answer, sentence_that_answers
from shrag.serving.answering.formats import answer_text
from shrag.serving.events import Answer, ConfidenceLevel
from shrag.serving.request import parse_question
from shrag.serving.retrieval.query_terms import QueryTerm

# Written out, so that a change of the module's own is noticed.
MOST_RELATED = 3

ANALYZER = KoreanEnglishAnalyzer()


def _evidence(*records: tuple[str, str]) -> list[AnalyzedRecord]:
    return [
        analyze_record(Record(f"d{number}", title, text, detect_language(text), complete=True), ANALYZER)
        for number, (title, text) in enumerate(records, 1)
    ]


def _words(words: Sequence[str]) -> list[QueryTerm]:
    return [QueryTerm(word, tuple(ANALYZER.terms([word])[0]), 1.0, 1, keyword=True, known=True) for word in words]


def _answer(question: str, words: Sequence[str], *records: tuple[str, str]) -> Answer:
    evidence = _evidence(*records)
    answer = extract_answer(parse_question(question), _words(words), evidence)
    assert verify_quotes(answer, [each.record for each in evidence]).citation_precision is None
    for section in answer.sections:
        assert section.source is not None
        text = evidence[section.source.number - 1].record.text
        assert all(sentence.text in text for sentence in section.sentences)
        assert all(sentence.citations == (section.source.number,) for sentence in section.sentences)
    return answer


GRAPHENE = (
    "그래핀 필름의 차폐",
    "경량 차폐재에 대한 수요가 늘고 있다. 본 연구는 그래핀 필름의 전자파 차폐 효율을 측정하였다. "
    "측정 결과 그래핀 필름의 차폐 효율은 30 dB로 나타났다.",
)
PRESSED = (
    "압착한 그래핀 필름",
    "그래핀 필름을 압착하는 방법을 살펴보고자 한다. "
    "그래핀 필름의 전자파 차폐 효율은 압착으로 12% 높아진 것으로 나타났다. "
    "또한 경량 차폐재에 대한 수요가 크다.",
)
SOUP = ("김치찌개", "김치찌개를 끓이는 법을 적었다. 김치를 먼저 볶으면 맛이 더 나은 것으로 나타났다.")
WORDS = ["그래핀", "필름", "차폐", "효율"]
QUESTION = "그래핀 필름의 차폐 효율은?"


def test_the_leading_record_is_quoted_under_its_title_with_its_citation() -> None:
    answer = _answer(QUESTION, WORDS, GRAPHENE)
    assert answer_text(answer) == f"##그래핀 필름의 차폐 [1]##\n{GRAPHENE[1]} [1]"
    assert [(citation.number, citation.docid) for citation in answer.citations] == [(1, "d1")]
    assert (answer.reason, answer.quoted_language) == ("", None)


def test_a_sentence_behind_one_that_is_left_out_is_marked_and_the_first_is_not() -> None:
    background, study, result = (f"{each}." for each in GRAPHENE[1].rstrip(".").split(". "))
    further = "필름은 여러 방법으로 만들었고 크기가 같은 시편으로 잘라 온도를 바꾸어 가며 거듭 측정하였다."
    text = " ".join([background, study, further, "향후 더 큰 필름에 대한 연구가 필요하다.", result])
    (lead,) = _answer(QUESTION, WORDS, (GRAPHENE[0], text)).sections
    assert [(each.text, each.after_gap) for each in lead.sentences] == [
        (background, False),
        (study, False),
        (further, False),
        (result, True),
    ]


def test_why_something_is_studied_is_quoted_where_the_question_asks_for_it() -> None:
    further = "필름은 여러 방법으로 만들었고 크기가 같은 시편으로 잘라 온도를 바꾸어 가며 거듭 측정하였다."
    record = (GRAPHENE[0], f"{GRAPHENE[1]} {' '.join([further] * 6)}")  # nine sentences
    background = "경량 차폐재에 대한 수요가 늘고 있다."
    assert background in answer_text(_answer("그래핀 필름의 차폐 효율을 측정한 이유는?", WORDS, record))
    assert background not in answer_text(_answer(QUESTION, WORDS, record))


DEFINITION = (
    "압착",
    "최근 관심이 늘고 있다. 탄소 원자 한 층으로 된 판을 그래핀이라고 한다. 본 연구는 그래핀을 재었다.",
)


@pytest.mark.parametrize(
    ("question", "scores", "lead"),
    [
        ("그래핀이란 무엇인가요?", (), "d2"),
        ("그래핀이란 무엇인가요?", (2.0, 1.5), "d2"),
        ("그래핀이란 무엇인가요?", (2.0, 1.4), "d1"),
        ("그래핀을 재는 방법은?", (), "d1"),
    ],
)
def test_of_records_that_score_nearly_alike_the_one_that_has_the_definition_asked_for_leads(
    question: str, scores: tuple[float, ...], lead: str
) -> None:
    answer = extract_answer(
        parse_question(question), _words(["그래핀"]), _evidence(GRAPHENE, DEFINITION), scores=scores
    )
    assert answer.sections[0].source is not None
    assert answer.sections[0].source.docid == lead
    assert ("그래핀이라고" in answer_text(answer)) is (lead == "d2")


def test_a_related_record_has_one_finding_under_its_own_title() -> None:
    answer = _answer(QUESTION, WORDS, GRAPHENE, PRESSED)
    lead, related = answer.sections
    assert (lead.part, related.part) == ("record", "related")
    assert answer_text(answer).endswith(
        "\n\n##관련 문헌##\n압착한 그래핀 필름 [2]\n"
        "그래핀 필름의 전자파 차폐 효율은 압착으로 12% 높아진 것으로 나타났다. [2]"
    )
    assert [citation.docid for citation in answer.citations] == ["d1", "d2"]


@pytest.mark.parametrize(("score", "related"), [(0.75, 1), (0.74, 0)])
def test_a_related_record_has_three_quarters_of_the_leading_score(score: float, related: int) -> None:
    evidence = _evidence(GRAPHENE, SOUP, PRESSED)
    answer = extract_answer(parse_question(QUESTION), _words(WORDS), evidence, scores=(2.0, 1.5, 2.0 * score))
    assert [each.part for each in answer.sections] == ["record", *["related"] * related]
    assert [each.number for each in answer.citations] == [1, 3][: 1 + related]


def test_a_record_on_another_subject_is_not_related_and_keeps_its_number() -> None:
    answer = _answer(QUESTION, WORDS, GRAPHENE, SOUP, PRESSED)
    assert [citation.docid for citation in answer.citations] == ["d1", "d3"]
    assert [citation.number for citation in answer.citations] == [1, 3]


def test_at_most_three_records_are_related() -> None:
    others = {"가열": "온도 조건", "냉각": "얼음 수조", "연마": "거친 표면", "세척": "맑은 물", "건조": "진공 용기"}
    finding = "{}와 {}에서 그래핀 필름의 차폐 효율은 {} 처리로 높아진 것으로 나타났다."
    more = [(word, finding.format(*where.split(), word)) for word, where in others.items()]
    answer = _answer(QUESTION, WORDS, GRAPHENE, *more)
    assert len(answer.sections) == 1 + MOST_RELATED


def test_the_same_paper_is_shown_once() -> None:
    twin = ("그래핀 필름의 차폐.", GRAPHENE[1].replace("늘고", "크게 늘고"))
    renamed = ("A film of graphene as a shield", GRAPHENE[1])
    assert _answer(QUESTION, WORDS, GRAPHENE, twin, renamed) == _answer(QUESTION, WORDS, GRAPHENE)
    assert len(_answer(QUESTION, WORDS, GRAPHENE, PRESSED, (PRESSED[0], PRESSED[1] + " 끝이 있다.")).sections) == 2


def test_a_record_in_the_other_language_leads_by_its_rank_and_says_so() -> None:
    english = ("Graphene films", "We measured films of graphene (그래핀). The shielding of the films was 30 dB.")
    answer = _answer(QUESTION, WORDS, english, GRAPHENE)
    assert answer.quoted_language == "en"
    assert answer.sections[0].source is not None
    assert answer.sections[0].source.title == "Graphene films"
    note = "질문에 가장 가까운 문헌의 초록이 영어로 되어 있어 원문 그대로 인용합니다."
    assert answer_text(answer).startswith(f"{note}\n\n##Graphene films [1]##\nWe measured")
    finding = "측정 결과 그래핀 필름의 차폐 효율은 30 dB로 나타났다."
    assert answer_text(answer).endswith(f"\n\n##관련 문헌##\n그래핀 필름의 차폐 [2]\n{finding} [2]")


def test_a_record_that_has_nearly_as_much_and_other_words_of_the_question_is_shown_with_what_it_is_about() -> None:
    def related(title: str, text: str) -> list[str]:
        answer = _answer(QUESTION, [*WORDS, "압력"], GRAPHENE, (title, text))
        return answer_text(answer).split("\n\n")[1:]

    text = "We measured 그래핀, 필름, 차폐 and 압력 of films that were pressed by our method on three days of May."
    assert related("Pressed films", text) == [f"##관련 문헌##\nPressed films [2] (영어 초록)\n{text} [2]"]
    assert related("", text) == []
    assert related("Pressed films", text.replace("압력", "효율")) == []
    assert related("Pressed films", text.replace("그래핀, 필름, 차폐", "films")) == []


def test_a_record_that_may_answer_instead_is_shown_where_the_confidence_is_not_high_and_findings_stay() -> None:
    near = ("Pressed films", "We measured 그래핀, 필름, 차폐 and 압력 of films that were pressed on three days of May.")
    evidence, words = _evidence(GRAPHENE, near, PRESSED), _words([*WORDS, "압력"])

    def related(confidence: ConfidenceLevel | None) -> list[str]:
        answer = extract_answer(parse_question(QUESTION), words, evidence, confidence=confidence)
        return [section.source.title for section in answer.sections[1:] if section.source is not None]

    assert related(None) == related("low") == related("medium") == ["Pressed films", "압착한 그래핀 필름"]
    assert related("high") == ["압착한 그래핀 필름"]


def test_where_the_confidence_is_low_the_next_record_is_shown_though_it_adds_nothing_of_the_question() -> None:
    held = "그래핀, 필름 and 차폐"
    far = [(f"{name} sheets", f"The {name} sheets have {held} and were stored.") for name in ("Red", "Blue", "Green")]
    little = ("Grey sheets", "The grey sheets have 그래핀 and were stored.")
    evidence, words = _evidence(GRAPHENE, little, *far), _words(WORDS)

    def related(confidence: ConfidenceLevel) -> list[str]:
        answer = extract_answer(parse_question(QUESTION), words, evidence, confidence=confidence)
        return [section.source.title for section in answer.sections[1:] if section.source is not None]

    assert related("low") == ["Red sheets"]
    assert related("medium") == related("high") == []
    text = answer_text(extract_answer(parse_question(QUESTION), words, evidence, confidence="low"))
    assert text.endswith(f"##관련 문헌##\nRed sheets [3] (영어 초록)\n{far[0][1]} [3]")


@pytest.mark.parametrize(("score", "named"), [(1.6, ["Red sheets"]), (1.59, [])])
def test_a_record_that_scores_nearly_as_high_as_the_leading_one_is_shown_though_the_confidence_is_high(
    score: float, named: list[str]
) -> None:
    evidence = _evidence(GRAPHENE, ("Red sheets", "The red sheets have 그래핀, 필름 and 차폐 and were stored."))
    answer = extract_answer(parse_question(QUESTION), _words(WORDS), evidence, confidence="high", scores=(2.0, score))
    assert [section.source.title for section in answer.sections[1:] if section.source is not None] == named


@pytest.mark.parametrize(
    ("score", "order"), [(1.6, ["Red sheets", "압착한 그래핀 필름"]), (1.59, ["압착한 그래핀 필름"])]
)
def test_a_record_that_scores_nearly_as_high_stands_before_those_with_a_finding(score: float, order: list[str]) -> None:
    red = ("Red sheets", "The red sheets have 그래핀, 필름 and 차폐 and were stored.")
    evidence = _evidence(GRAPHENE, red, PRESSED)
    answer = extract_answer(
        parse_question(QUESTION), _words(WORDS), evidence, confidence="high", scores=(2.0, score, 1.5)
    )
    assert [section.source.title for section in answer.sections[1:] if section.source is not None] == order


def test_of_records_that_may_answer_instead_the_one_that_covers_most_of_the_question_is_shown() -> None:
    def near(title: str, *held: str) -> tuple[str, str]:
        return (title, f"We saw {', '.join(held)}. " + " ".join(f"Word {title}{number} stands." for number in range(9)))

    words = [*WORDS, "압력", "온도", "시간"]
    answer = _answer(
        QUESTION,
        words,
        GRAPHENE,
        near("sheets", "그래핀", "필름", "압력"),
        near("plates", "그래핀", "필름", "차폐", "압력", "온도"),
        near("foils", "그래핀", "필름", "차폐", "압력", "온도", "시간"),
    )
    assert [section.source.title for section in answer.sections if section.source] == [GRAPHENE[0], "foils"]
    assert len(answer.citations) == 2


def test_of_a_related_record_a_result_is_quoted_and_no_method() -> None:
    method = (PRESSED[0], "그래핀 필름의 전자파 차폐 효율을 압착하기 전과 압착한 뒤에 두 번 재었다.")
    assert [each.part for each in _answer(QUESTION, WORDS, GRAPHENE, method).sections] == ["record"]


def test_a_bilingual_abstract_answers_in_the_language_of_the_question() -> None:
    both = (
        "그래핀 필름",
        "그래핀(graphene) 필름의 차폐(shielding)를 재었다. The shielding of graphene films was measured.",
    )
    korean = _answer("그래핀 필름의 차폐(shielding)는?", ["그래핀", "필름", "차폐", "shielding"], both)
    english = _answer("shielding of graphene films?", ["shielding", "graphene", "films"], both)
    assert "measured" not in answer_text(korean)
    assert "재었다" not in answer_text(english)
    assert (korean.quoted_language, english.quoted_language) == (None, None)


@pytest.mark.parametrize("text", ["", "…", "1.5 ± 0.2", " . . . "])
def test_a_record_without_a_sentence_does_not_lead(text: str) -> None:
    empty = ("그래핀 필름의 차폐 효율", text)
    answer = _answer(QUESTION, WORDS, empty, GRAPHENE)
    assert [citation.docid for citation in answer.citations] == ["d2"]
    assert _answer(QUESTION, WORDS, empty).reason == "nothing_fits"
    assert _answer(QUESTION, WORDS).reason == "nothing_found"


def test_a_record_answers_by_its_words_where_title_and_a_sentence_hold_enough_of_the_question() -> None:
    (graphene, soup) = _evidence(GRAPHENE, SOUP)
    question = parse_question(QUESTION)
    assert answers_by_words(question, _words(WORDS), graphene)
    assert not answers_by_words(question, _words(WORDS), soup)
    assert sentence_that_answers(question, _words(WORDS), soup) == ""
    assert sentence_that_answers(question, _words(WORDS), graphene).startswith("본 연구는 그래핀")


def test_a_record_in_the_other_language_answers_by_its_terms() -> None:
    korean = ("염습지의 탄소", "염습지(salt marsh)의 블루카본(blue carbon) 매몰률을 재었다. 결과는 매우 높았다.")
    words = ["restored", "salt", "marsh", "bury", "carbon", "compared", "natural", "fast", "yearly", "blue"]
    question = parse_question("How fast does a restored salt marsh bury blue carbon?")
    (record,) = _evidence(korean)
    assert answers_by_words(question, _words(words), record)
    assert not answers_by_words(question, _words([*words, *map(str, range(200))]), record)
