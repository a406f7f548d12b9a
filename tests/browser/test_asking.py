"""Asking in a browser: the answer as it comes, its stop, its failures, and the page without any script."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

from playwright.sync_api import Page, expect

from shrag.models.errors import ModelUnavailable
from tests.browser.conftest import Reader, Serve
from tests.browser.models import (
    BEGUN,
    ENGLISH,
    QUESTION,
    HeldModel,
    absent_model,
    writing_model,
)

ASKED = f"/?q={quote_plus(QUESTION)}"


def _ask(page: Page, question: str = QUESTION) -> None:
    page.fill("#q", question)
    page.press("#q", "Enter")


def _outline(page: Page) -> str:
    """Return what a page shows of a question, but for times and what scripts add."""
    return re.sub(r"\d+ ms|\s+", " ", page.locator("main").inner_text()).strip()


def test_the_page_answers_without_scripts(reader: Reader, plain: str) -> None:
    page = reader.open(plain, java_script_enabled=False)
    page.fill("#q", QUESTION)
    page.click("button[type=submit]")
    expect(page.locator(".answer .badge")).to_have_text("발췌 답변")
    found = page.locator(".records > ol > li").count()
    assert found > 5
    page.click("a.mark >> nth=0")
    expect(page.locator("#record-1")).to_be_in_viewport()
    for scripted in page.locator("[data-scripted]").all():
        expect(scripted).to_be_hidden()
    page.click(".filter summary")
    page.fill("#filter [name=year_from]", "2023")
    page.click("#filter button[type=submit]")
    expect(page.locator("#filter [name=year_from]")).to_have_value("2023")
    shown = page.locator(".records > ol > li").count()
    assert 0 < shown <= found
    expect(page.locator(".shown")).to_contain_text(f"건 중 {shown}건")
    with page.expect_download() as downloading:
        page.click("[data-export=bibtex]")
    assert downloading.value.suggested_filename == "shrag.bib"


def test_a_box_grows_with_its_question_and_enter_asks_from_it(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    page.set_viewport_size({"width": 400, "height": 800})
    for box in ("#q", ".follow-up textarea"):
        question = page.locator(box)
        row = question.evaluate("box => box.clientHeight")
        question.press_sequentially("재택근무와")
        question.press("Shift+Enter")
        question.press_sequentially("갈등의 관계는 어떤가요? 한 줄에 다 들어가지 않는 질문입니다.")
        assert question.evaluate("box => box.clientHeight") > row
        assert question.evaluate("box => box.scrollHeight <= box.clientHeight")
        question.press("Enter")
        expect(page.locator("#status")).to_have_text("답변이 완료되었습니다." if box == "#q" else "")
        expect(page.locator(".answer.extractive")).to_be_visible()
        expect(page.locator("#q")).to_have_value(re.compile("^재택근무와\n갈등의"))


def test_a_box_grows_where_the_browser_does_not_do_it_itself(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    page.route("**/page.css", lambda route: route.fulfill(
        content_type="text/css", body=route.fetch().text().replace("field-sizing: content", "")
    ))  # fmt: skip
    page.add_init_script("CSS.supports = () => false")
    page.reload()
    for lines, rows in ((1, 1), (3, 3), (20, 8), (2, 2)):
        page.fill("#q", "\n".join("가" * lines))
        expect(page.locator("#q")).to_have_js_property("rows", rows)


def test_a_question_that_is_too_long_is_kept_whole_and_said_to_be_too_long(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    _ask(page, "가 나 " * 501)
    question = page.locator("#q")
    expect(question).to_have_value("가 나 " * 501)
    expect(question).to_have_js_property("validationMessage", "질문이 너무 깁니다. 2,000자 이내로 줄여 주세요.")
    assert not [url for url in reader.requests if "/stream" in url]
    _ask(page)
    expect(page.locator(".answer.extractive")).to_be_visible()
    unscripted = reader.open(plain, java_script_enabled=False)
    unscripted.fill("#q", "가 나 " * 501)
    unscripted.click("button[type=submit]")
    expect(unscripted.locator(".problem")).to_contain_text("질문이 너무 깁니다.")


def test_what_is_streamed_ends_as_the_page_that_is_sent_whole(reader: Reader, serve: Serve) -> None:
    for address in (serve(), serve(writing_model()), serve(absent_model())):
        streamed, whole = reader.open(address), reader.open(address, ASKED)
        _ask(streamed)
        expect(streamed.locator("#status")).to_have_text("답변이 완료되었습니다.")
        assert _outline(streamed) == _outline(whole)
        assert streamed.title() == whole.title() == f"{QUESTION} · SHRAG"
        assert streamed.url == f"{address}/?q={quote_plus(QUESTION)}&ui=ko"


def test_keywords_records_and_sentences_are_there_before_the_answer_is_whole(reader: Reader, serve: Serve) -> None:
    model = HeldModel()
    page = reader.open(serve(model))
    _ask(page)
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    expect(page.locator(".waiting .mark")).to_have_text("[1]")
    expect(page.locator(".waiting .progress")).to_contain_text("답변을 쓰고 있습니다")
    expect(page.locator(".chips").first).to_contain_text("재택근무")
    expect(page.locator(".records > ol > li").first).to_be_visible()
    page.click("#record-1 summary")
    model.go_on()
    expect(page.locator(".answer.generated")).to_be_visible()
    expect(page.locator(".unsupported").first).to_have_text("갈등은 987% 커졌다.")
    expect(page.locator("#record-1-whole")).to_have_attribute("open", "")
    expect(page.locator("#record-1 .cited")).to_have_text("[1]")


def test_stop_lets_the_model_go_and_keeps_what_has_come(reader: Reader, serve: Serve) -> None:
    model = HeldModel()
    page = reader.open(serve(model))
    _ask(page)
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    page.click("[data-action=stop]")
    expect(page.locator(".ended .progress")).to_contain_text("중지했습니다")
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    expect(page.locator(".skeleton")).to_have_count(0)
    for _ in range(100):
        if model.streams[-1].closed:
            break
        page.wait_for_timeout(50)
    assert model.streams[-1].closed


def test_a_new_question_withdraws_the_one_before(reader: Reader, serve: Serve) -> None:
    model = HeldModel()
    page = reader.open(serve(model))
    _ask(page)
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    _ask(page, "재택근무 갈등")
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    model.go_on()
    expect(page.locator(".answer.generated")).to_be_visible()
    assert model.streams[0].closed
    assert page.title() == "재택근무 갈등 · SHRAG"


def test_a_model_that_goes_away_in_the_middle_has_its_sentences_taken_back(reader: Reader, serve: Serve) -> None:
    model = HeldModel(*BEGUN, ModelUnavailable("The model does not answer: start it."))
    page = reader.open(serve(model))
    _ask(page)
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    model.go_on()
    expect(page.locator(".answer.extractive .fallbacks")).to_contain_text("검색은 그대로 이용할 수 있습니다")
    expect(page.locator(".answer")).not_to_contain_text("<b>갈등</b>")


def test_a_stream_that_is_cut_is_marked_as_such(reader: Reader, serve: Serve) -> None:
    page = reader.open(serve(writing_model()))

    def cut(route: object) -> None:
        response = route.fetch()  # type: ignore[attr-defined]
        body = response.text()
        route.fulfill(response=response, body=body[: body.index('"region":"answer"') - 40])  # type: ignore[attr-defined]

    page.route("**/stream?*", cut)
    _ask(page)
    expect(page.locator(".ended .progress")).to_contain_text("생성이 중단되었습니다")
    expect(page.locator(".waiting .sentence").first).to_be_visible()


def test_each_way_to_fail_has_its_words_and_asks_again(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    full = {"status": 429, "headers": {"Retry-After": "60"}, "json": {"code": "overloaded", "detail": "full"}}
    page.route("**/stream?*", lambda route: route.fulfill(**full))
    _ask(page)
    expect(page.locator(".problem .detail")).to_contain_text("질문 수를 넘었습니다")
    expect(page.locator(".countdown")).to_contain_text("초 뒤 자동으로")
    expect(page.locator("#q")).to_have_value(QUESTION)
    page.unroute("**/stream?*")
    page.route("**/stream?*", lambda route: route.fulfill(
        content_type="text/event-stream", body='event: error\ndata: {"detail": "<b>The server failed.</b>"}\n\n'
    ))  # fmt: skip
    page.click("[data-action=retry]")
    expect(page.locator(".problem .detail")).to_have_text("<b>The server failed.</b>")
    page.unroute("**/stream?*")
    page.click("[data-action=retry]")
    expect(page.locator(".answer.extractive")).to_be_visible()
    _ask(page, " ")
    expect(page.locator(".problem h2")).to_have_text("요청을 처리할 수 없습니다")


def test_a_server_that_is_gone_is_said_to_be(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    page.context.set_offline(True)
    _ask(page)
    expect(page.locator(".problem .detail")).to_contain_text("서버가 실행 중인지")


def test_going_back_shows_what_was_there_without_asking_again(reader: Reader, serve: Serve) -> None:
    model = writing_model()
    page = reader.open(serve(model))
    _ask(page)
    expect(page.locator(".answer.generated")).to_be_visible()
    page.click("a.mark >> nth=0")
    assert page.url.endswith("#record-1")
    _ask(page, "갈등")
    expect(page).to_have_title("갈등 · SHRAG")
    expect(page.locator(".answer.generated")).to_be_visible()
    page.go_back()
    expect(page).to_have_title(f"{QUESTION} · SHRAG")
    expect(page.locator("#q")).to_have_value(QUESTION)
    expect(page.locator(".answer.generated")).to_be_visible()
    page.go_back()
    page.go_back()
    expect(page.locator(".tagline")).to_be_in_viewport()
    expect(page.locator(".answer")).to_have_count(0)
    assert len(model.streams) == 2


def test_the_interface_follows_the_browser_and_the_switch_keeps_the_question(reader: Reader, plain: str) -> None:
    page = reader.open(plain, language="en-GB")
    _ask(page, ENGLISH)
    expect(page.locator(".answer .badge")).to_have_text("Extractive answer")
    page.click("#switch")
    expect(page.locator(".answer .badge")).to_have_text("발췌 답변")
    expect(page.locator("#q")).to_have_value(ENGLISH)
    expect(page.locator("html")).to_have_attribute("lang", "ko")


def test_an_overloaded_server_is_asked_again_by_itself_when_it_says(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    full = {"status": 429, "headers": {"Retry-After": "1"}, "json": {"code": "overloaded", "detail": "full"}}
    page.route("**/stream?*", lambda route: route.fulfill(**full), times=1)
    _ask(page)
    expect(page.locator(".problem h2")).to_have_text("지금은 질문이 많습니다")
    expect(page.locator(".answer.extractive")).to_be_visible()
    assert len([url for url in reader.requests if "/stream" in url]) == 2


def test_the_reader_can_stop_waiting_with_esc(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    full = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"code": "shutting_down", "detail": "going"}}
    page.route("**/stream?*", lambda route: route.fulfill(**full))
    _ask(page)
    expect(page.locator(".countdown")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".countdown")).to_be_hidden()
    page.wait_for_timeout(1_300)
    assert len([url for url in reader.requests if "/stream" in url]) == 1


def test_esc_stops_an_answer_that_is_being_written(reader: Reader, serve: Serve) -> None:
    model = HeldModel()
    page = reader.open(serve(model))
    _ask(page)
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(".ended .progress")).to_contain_text("중지했습니다")
