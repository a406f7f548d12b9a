"""The answer on the page: the record quoted, related records, the confidence, refusals; from events made here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shrag.corpora.records import Record
from shrag.serving.answering.citations import make_citations
from shrag.serving.answering.formats import REASONS
from shrag.serving.answering.refusal import refuse
from shrag.serving.engine import Engine
from shrag.serving.events import (
    Answer,
    Authors,
    Citation,
    Confidence,
    ConfidenceLevel,
    Event,
    Hits,
    Keyword,
    KeywordOrder,
    Keywords,
    Queries,
    RankedRecord,
    Ranking,
    Section,
    Sentence,
    Timings,
)
from shrag.serving.page.answer_views import answer_view
from shrag.serving.page.rendering import render
from shrag.serving.page.request import InterfaceLanguage, PageRequest
from shrag.serving.page.state import PageState
from shrag.serving.page.stream import Fragment, PageStream
from shrag.serving.request import AnswerLanguage, Question

QUESTION = Question("재택근무가 갈등을 키우는가?", "ko")
LEAD = Record(
    "L-1", "Remote work and <conflict>", "It rained. Remote work raised conflict. It did so at home. It snowed.", "en",
    authors=("Kim", "Lee"), journal="Work", year=2021, complete=True,
)  # fmt: skip
OTHER = Record("O-2", "재택근무의 갈등", "재택근무는 갈등을 줄였다. 비가 왔다.", "ko", complete=True)
KEYWORDS = Keywords(
    (Keyword("재택근무", ("재택근무",), 2.0, ("remote work",)), Keyword("갈등", ("갈등",), 1.0, ("conflict",))), ()
)
QUOTED = (Sentence("Remote work raised conflict.", (1,)), Sentence("It did so at home.", (1,)))
EXTRACTED = [
    Section("record", QUOTED, Citation(1, "L-1", LEAD.title)),
    Section("related", (Sentence("재택근무는 갈등을 줄였다.", (2,)),), Citation(2, "O-2", OTHER.title)),
]


def _ranking(confidence: Confidence | None = None) -> Ranking:
    ranked = tuple(RankedRecord(rank, rank, 1.0 / rank, record) for rank, record in enumerate((LEAD, OTHER), 1))
    return Ranking(ranked, "r", reranker_is_model=False, confidence=confidence)


def _answer(sections: Sequence[Section] = EXTRACTED, quoted_language: AnswerLanguage | None = "en") -> Answer:
    citations = make_citations(sections, [LEAD, OTHER])
    return Answer("extractive", "ko", tuple(sections), citations, quoted_language=quoted_language)


def _events(ranking: Ranking, answer: Answer) -> list[Event]:
    return [KEYWORDS, Queries(()), Hits((), (), ()), ranking, answer, Timings({})]


def _html(
    demo: Engine,
    answer: Answer,
    ranking: Ranking | None = None,
    language: InterfaceLanguage = "ko",
) -> str:
    request = PageRequest(QUESTION.text, language)
    state = PageState(QUESTION.text, QUESTION.language)
    for event in _events(ranking or _ranking(), answer):
        state.add(event)
    html = render("answer.html", request, answer=answer_view(state, request, demo.open_index.analyzer))
    streamed = PageStream(demo, request, PageState(QUESTION.text, QUESTION.language))
    fragments = [piece for event in _events(ranking or _ranking(), answer) for piece in streamed.translate(event)]
    assert Fragment("answer", html) in fragments  # the page that is streamed shows the same
    return html


def _text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html))


def test_the_record_quoted_is_a_card_with_its_abstract_and_what_is_quoted_stands_out(demo: Engine) -> None:
    html = _html(demo, _answer())
    card = html[html.index('<section class="quoted" id="source-1"') : html.index('<section class="related"')]
    assert "Remote work and &lt;conflict&gt;" in _text(card)
    assert "Kim, Lee · Work · 2021 · 영어" in _text(card)
    assert '<bdi class="rest"><span class="visually-hidden" lang="ko">초록의 나머지: </span>It rained. </bdi>' in card
    assert "인용한 부분: Remote work raised conflict. It did so at home." in _text(card)
    assert "흐린 글씨는" in card
    assert '<a class="mark" href="#record-1"' in card


def test_what_matches_is_marked_in_either_language(demo: Engine) -> None:
    marked = set(re.findall(r"<mark>(.*?)</mark>", _html(demo, _answer())))
    assert marked == {"Remote", "work", "conflict", "재택근무", "갈등"}


def test_words_that_frame_the_request_are_not_marked(demo: Engine) -> None:
    state = PageState("Could you summarize how remote work raises conflict?", "en")
    state.add(Keywords((), ()))
    assert state.matching_terms(demo.open_index.analyzer) == {"remot", "work", "rais", "conflict"}


@pytest.mark.parametrize(
    ("order", "marked"), [("tfidf", {"마음챙김", "mind"}), ("model", {"마음챙김", "mind", "영향"})]
)
def test_only_distinctive_keywords_and_their_translations_are_marked(
    demo: Engine, order: KeywordOrder, marked: set[str]
) -> None:
    state = PageState("마음챙김이 미치는 영향은?", "ko")
    keywords = Keyword("마음챙김", ("마음챙김",), 6.0, ("minds",)), Keyword("영향", ("영향",), 2.9)
    state.add(Keywords(keywords, (), order))
    assert state.matching_terms(demo.open_index.analyzer) == marked


def test_a_latin_word_of_a_korean_question_is_marked_however_frequent_it_is(demo: Engine) -> None:
    phrase = Keyword("문법 오류 교정", ("문법", "오류", "교정"), 6.5, ("grammatical error correction",))
    keywords = Keywords((phrase, Keyword("BERT", ("bert",), 2.5), Keyword("2019", ("2019",), 2.5)), ())
    state = PageState("BERT 문법 오류 교정 2019", "ko")
    state.add(keywords)
    terms = state.matching_terms(demo.open_index.analyzer)
    assert {"bert", "문법", "error"} <= terms
    assert "2019" not in terms


def test_an_abstract_quoted_whole_needs_no_legend(demo: Engine) -> None:
    section = Section("record", (Sentence(OTHER.text, (2,)),), Citation(2, "O-2", OTHER.title))
    html = _html(demo, _answer([section], quoted_language=None))
    assert "흐린 글씨" not in html
    assert "visually-hidden" not in html


def test_related_records_stand_below_with_one_finding_their_own_citation_and_another_language(demo: Engine) -> None:
    html = _html(demo, _answer())
    related = html[html.index('<section class="related"') : html.index('<section class="sources"')]
    assert re.search(r"관련 문헌 재택근무의 갈등 \[2\] 재택근무는 갈등을 줄였다\. $", _text(related))
    assert '<li id="source-2" tabindex="-1" lang="ko">' in related
    lead, korean = _answer().sections
    english = _html(demo, replace(_answer(), sections=(lead, replace(korean, language="en"))))
    assert "재택근무의 갈등 [2] (영어 초록)" in _text(english)


@pytest.mark.parametrize(
    ("language", "says"),
    [
        ("ko", "질문에 가장 가까운 문헌의 초록이 영어로 되어 있어"),
        ("en", "The abstract of the closest record is in English; it is quoted"),
    ],
)
def test_a_record_in_the_other_language_is_said_to_be(demo: Engine, language: InterfaceLanguage, says: str) -> None:
    assert says in _html(demo, _answer(), language=language)
    assert says not in _html(demo, _answer(quoted_language=None), language=language)


@pytest.mark.parametrize(
    ("level", "korean", "english"),
    [("high", "높음", "high"), ("medium", "보통", "medium"), ("low", "낮음", "low")],
)
def test_the_confidence_is_in_words(demo: Engine, level: ConfidenceLevel, korean: str, english: str) -> None:
    ranking = _ranking(Confidence(0.5, level))
    written = Answer(
        "generated", "ko", (Section("body", (Sentence("가.", (1,)),)),), (Citation(1, "L-1", "t"),), model="M"
    )
    for answer in (_answer(), written, refuse(QUESTION, ranking, "nothing_fits")):
        assert f"답변 확신도: {korean}" in _text(_html(demo, answer, ranking))
        assert f"Confidence: {english}" in _text(_html(demo, answer, ranking, "en"))


def test_an_answer_of_low_confidence_is_said_to_be_uncertain(demo: Engine) -> None:
    uncertain = replace(_answer(), uncertain=True)
    assert "답하는 문헌이 있는지 확실하지 않아" in _html(demo, uncertain)
    assert "It is not certain that a record answers" in _html(demo, uncertain, language="en")
    assert "확실하지 않아" not in _html(demo, _answer())


def test_without_a_confidence_none_is_shown(demo: Engine) -> None:
    assert "확신도" not in _html(demo, _answer())


def test_a_refusal_names_the_words_not_covered_and_the_nearest_titles_which_it_does_not_cite(demo: Engine) -> None:
    ranking = _ranking(Confidence(0.1, "low", ("<피자>", "도우")))
    html = _html(demo, refuse(QUESTION, ranking, "nothing_fits"), ranking)
    text = _text(html)
    assert "답변 없음" in text
    assert "이 질문에 답하는 문헌을 찾지 못했습니다." in text
    assert "가장 가까운 문헌에서 찾지 못한 질문의 단어: &lt;피자&gt;, 도우" in text
    assert "가장 가까운 문헌" in text
    assert re.findall(r'class="record-title" href="/record\?ui=ko&amp;docid=([\w-]+)', html) == ["L-1", "O-2"]
    assert 'class="mark"' not in html
    assert "source-" not in html
    english = _text(_html(demo, refuse(QUESTION, ranking, "nothing_fits"), ranking, "en"))
    assert "Words of the question not found in the closest records: &lt;피자&gt;, 도우" in english
    assert "Nearest titles" in english


def test_words_not_covered_are_named_beside_an_answer_too(demo: Engine) -> None:
    html = _html(demo, replace(_answer(), uncovered=("제주도",)))
    assert "인용한 문헌에서 찾지 못한 질문의 단어: 제주도" in _text(html)


def test_the_question_as_it_may_have_been_meant_is_a_link_that_asks_it(demo: Engine) -> None:
    ranking = Ranking((), "r", reranker_is_model=False, reason="unknown_words")
    refused = replace(refuse(QUESTION, ranking, "unknown_words"), suggestion="<b>pizza</b> & dough")
    html = _html(demo, refused, ranking)
    assert '<a href="/?ui=ko&amp;q=%3Cb%3Epizza%3C%2Fb%3E+%26+dough" data-asks><bdi>&lt;b&gt;pizza' in html
    assert "혹시 다음을 찾으셨나요?" in html
    assert "Did you mean:" in _html(demo, refused, ranking, "en")
    assert "data-asks" not in _html(demo, refuse(QUESTION, ranking, "unknown_words"), ranking)


@pytest.mark.parametrize(
    ("ui", "notice"), [("ko", "질문의 주제가 넓어"), ("en", "The subject of the question is broad:")]
)
def test_a_broad_question_is_said_to_be_one(demo: Engine, ui: AnswerLanguage, notice: str) -> None:
    broad = replace(_answer(), listing="subject")
    assert f'<p class="explained" lang="{ui}">{notice}' in _html(demo, broad, _ranking(), ui)
    assert notice not in _html(demo, _answer(), _ranking(), ui)


def test_a_refusal_that_found_nothing_has_no_nearest_titles(demo: Engine) -> None:
    ranking = Ranking((), "r", reranker_is_model=False, reason="unknown_words")
    html = _html(demo, refuse(QUESTION, ranking, "unknown_words"), ranking)
    assert "nearest" not in html
    assert "uncovered" not in html


def test_several_records_that_answer_together_are_cards_one_below_the_other(demo: Engine) -> None:
    second = Section("record", (Sentence("비가 왔다.", (2,)),), Citation(2, "O-2", OTHER.title))
    html = _html(demo, _answer([EXTRACTED[0], second]))
    assert html.count('<section class="quoted"') == 2
    assert html.count('id="answer-title"') == 1
    assert 'class="related"' not in html


def test_a_long_record_is_shown_by_what_is_quoted_of_it(demo: Engine) -> None:
    long = replace(LEAD, text=f"{LEAD.text} {'It rained again. ' * 400}")
    ranking = replace(_ranking(), records=(RankedRecord(1, 1, 1.0, long), _ranking().records[1]))
    html = _html(demo, _answer(), ranking)
    assert "It rained again" not in html
    assert "… </bdi>" in html
    assert "visually-hidden" not in html
    assert "본문이 길어 답변에 인용한 문장만 표시합니다." in html


@pytest.mark.parametrize(
    ("question", "asked", "page", "shown"),
    [
        ("LTE", "en", "ko", "ko"),
        ("LTE", "en", "en", "en"),
        ("What is LTE?", "en", "ko", "en"),
        ("LTE란?", "ko", "en", "ko"),
        ("3.14", "en", "ko", "ko"),
    ],
)
def test_a_refusal_is_in_the_language_of_the_question_or_of_the_page_where_no_word_shows_one(
    demo: Engine, question: str, asked: AnswerLanguage, page: InterfaceLanguage, shown: AnswerLanguage
) -> None:
    state = PageState(question, asked)
    for event in _events(_ranking(), refuse(Question(question, asked), _ranking(), "nothing_fits")):
        state.add(event)
    view = answer_view(state, PageRequest(question, page), demo.open_index.analyzer)
    assert view is not None
    assert (view["language"], view["reason"]) == (shown, REASONS[shown]["nothing_fits"])


def test_what_a_model_wrote_keeps_its_language_on_a_page_in_the_other(demo: Engine) -> None:
    written = Answer("generated", "en", (Section("body", (Sentence("It is a network.", ()),)),), (), model="m")
    state = PageState("LTE", "en")
    for event in _events(_ranking(), written):
        state.add(event)
    view = answer_view(state, PageRequest("LTE", "ko"), demo.open_index.analyzer)
    assert view is not None
    assert (view["language"], view["sections"][0]["heading"]) == ("en", "Main Body")


def test_the_authors_of_the_question_are_links_that_set_the_filter(demo: Engine) -> None:
    state = PageState(QUESTION.text, QUESTION.language)
    named = Authors(("Kim, A. & B.", "Kim <i>"), 7, "first")
    for event in (named, *_events(_ranking(), Answer("extractive", "ko", (), ()))):
        state.add(event)
    request = PageRequest("Kim 갈등", "ko", index="demo")
    html = render("answer.html", request, answer=answer_view(state, request, demo.open_index.analyzer))
    assert "이 이름의 저자 7명:" in html
    assert "q=Kim+%EA%B0%88%EB%93%B1&amp;index=demo&amp;author=Kim%2C+A.+%26+B." in html
    assert "<bdi>Kim &lt;i&gt;</bdi></a>; …" in html
    assert "이 저자의 문헌 가운데 질문에 맞는 것을 먼저 보여 드립니다." in html
