"""Reading in a browser: cards, filters, keys, Korean input, copying, history, themes."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader
from tests.browser.models import ENGLISH, QUESTION

ASKED = f"/?ui=ko&q={quote_plus(QUESTION)}"


def _focused(page: Page) -> str:
    found = page.evaluate("document.activeElement.id")
    assert isinstance(found, str)
    return found


def test_a_citation_shows_its_record_on_hover_and_on_focus_and_escape_closes_it(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED)
    card, mark = page.locator("#card"), page.locator("a.mark").first
    expect(card).to_be_hidden()
    mark.hover()
    expect(card).to_contain_text("재택근무 강도와 일·가정 갈등")
    expect(mark).to_have_attribute("aria-describedby", "card")
    card.hover()
    page.wait_for_timeout(400)
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    mark.focus()
    expect(card).to_be_visible()
    page.keyboard.press("Enter")
    expect(card).to_be_hidden()
    assert page.url.endswith("#record-1")
    assert _focused(page) == "record-1"
    page.mouse.move(0, 0)
    expect(card).to_be_hidden()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_filter_in_use_stays_for_follow_ups_and_new_questions_until_it_is_cleared(
    reader: Reader, plain: str, scripts: bool
) -> None:
    page = reader.open(plain, f"{ASKED}&language=en", java_script_enabled=scripts)
    used = page.locator(".limits")
    expect(used).to_contain_text("적용 중인 필터: 언어: 영어")
    page.fill(".follow-up textarea", "왜 그런가?")
    page.click(".follow-up button")
    expect(page.locator(".follow-up-read")).to_be_visible()
    assert "language=en" in page.url
    page.fill("#q", "그래핀 필름은 전자파를 얼마나 차단하는가?")
    page.click("#ask button")
    expect(page.locator(".follow-up-read")).to_have_count(0)
    expect(used).to_contain_text("언어: 영어")
    expect(page.locator(".records .about").filter(has_text="한국어")).to_have_count(0)
    assert "language=en" in page.url
    assert "after=" not in page.url
    used.get_by_role("link").click()
    expect(used).to_have_count(0)
    expect(page.locator("article.answer")).to_be_visible()
    page.fill("#q", QUESTION)
    page.click("#ask button")
    expect(page.locator("article.answer")).to_contain_text("재택근무")
    assert "language" not in page.url


@pytest.mark.parametrize("scripts", [True, False])
def test_links_lead_to_further_records_and_back(reader: Reader, plain: str, scripts: bool) -> None:
    page = reader.open(plain, ASKED, java_script_enabled=scripts)
    links = page.get_by_role("navigation", name="검색 결과 페이지").get_by_role("link")
    expect(links).to_have_text(["다음 결과"])
    links.click()
    expect(page.locator(".shown")).to_contain_text("11–20번째")
    expect(page.locator(".records .number").first).to_have_text("11")
    expect(page.locator("article.answer")).to_have_count(0)
    expect(links).to_have_text(["이전 결과", "다음 결과"])
    links.first.click()
    expect(page.locator("article.answer")).to_contain_text("재택근무")
    assert "offset" not in page.url


def test_filters_ask_again_at_once_and_are_in_the_address(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED)
    records = page.locator(".records > ol > li")
    every = page.locator(".shown").inner_text()
    page.click(".filter summary")
    page.fill("#filter [name=year_from]", "2022")
    page.fill("#filter [name=year_to]", "2023")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("답변이 완료되었습니다.")
    expect(page.locator(".shown")).not_to_have_text(every)
    expect(page.locator("#filter [name=year_to]")).to_have_value("2023")
    expect(page.locator("#filter [name=year_to]")).to_be_focused()
    expect(page.locator(".filter")).to_have_attribute("open", "")
    years = page.locator(".records .about").all_inner_texts()
    assert years
    assert [about for about in years if not re.search(r"\b202[23]\b", about)] == []
    assert re.search(r"&year_from=2022&year_to=2023$", page.url)
    page.locator("#filter [name=language][value=en]").check()
    expect(page.locator(".records .about").filter(has_text="한국어")).to_have_count(0)
    expect(page.locator("#filter [name=language][value=en]")).to_be_checked()
    expect(page.locator("#filter [name=language][value=en]")).to_be_focused()
    assert "language=en" in page.url
    page.reload()
    expect(page.locator("#filter [name=language][value=en]")).to_be_checked()
    page.fill("#filter [name=year_to]", "1901")
    page.fill("#filter [name=year_from]", "")
    page.keyboard.press("Enter")
    expect(page.locator(".nothing-passes")).to_contain_text("이 조건에 맞는 문헌을 찾지 못했습니다.")
    page.click(".nothing-passes a")
    expect(page.locator(".shown")).to_have_text(every)
    expect(records).not_to_have_count(0)
    assert not re.search("year|language", page.url)
    page.go_back()
    expect(page.locator(".nothing-passes")).to_be_visible()


def test_enter_that_ends_a_syllable_does_not_ask(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    session = page.context.new_cdp_session(page)
    page.focus("#q")
    session.send("Input.imeSetComposition", {"text": "재택", "selectionStart": 2, "selectionEnd": 2})
    for kind in ("rawKeyDown", "keyUp"):
        session.send("Input.dispatchKeyEvent", {"type": kind, "key": "Process", "windowsVirtualKeyCode": 229})
    page.locator("#ask").evaluate("form => form.requestSubmit()")
    page.wait_for_timeout(200)
    expect(page.locator(".tagline")).to_be_in_viewport()
    assert not [url for url in reader.requests if "/stream" in url]
    session.send("Input.insertText", {"text": "재택근무"})
    page.keyboard.press("Enter")
    expect(page.locator(".answer.extractive")).to_be_visible()
    expect(page.locator("#q")).to_have_value("재택근무")
    assert len([url for url in reader.requests if "/stream" in url]) == 1


def test_everything_is_reached_by_keys(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("답변이 완료되었습니다.")
    page.keyboard.type("jk?/")
    expect(page.locator("#q")).to_have_value(f"{QUESTION}jk?/")
    page.locator("#q").blur()
    for key, focused in (
        ("j", "record-1"),
        ("j", "record-2"),
        ("ㅓ", "record-3"),
        ("k", "record-2"),
        ("ㅏ", "record-1"),
    ):
        page.evaluate(
            "key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))", key
        )
        assert _focused(page) == focused
    page.keyboard.press("o")
    expect(page.locator("#record-1-whole")).to_have_attribute("open", "")
    page.keyboard.press("Control+j")
    assert _focused(page) == "record-1"
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.uncheck("#shortcuts-on")
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("/")
    assert _focused(page) != "q"
    page.reload()
    page.click("[data-action=help]")
    page.check("#shortcuts-on")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert _focused(page) == "q"


def test_the_answer_its_references_and_its_link_are_copied(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED, permissions=["clipboard-read", "clipboard-write"])
    copied = []
    for what in ("answer", "bibtex", "ris", "link"):
        page.click(f"[data-action=copy-{what}]")
        expect(page.locator(".copied")).to_have_text("복사했습니다.")
        page.wait_for_timeout(100)
        copied.append(page.evaluate("navigator.clipboard.readText()"))
    answer, bibtex, ris, link = copied
    assert answer.startswith("##재택근무 강도와 일·가정 갈등 : 직무 자율성의 조절 효과 [1]##\n")
    assert answer.endswith(
        "\n\n[1] 피서윤, 경도율 (2024). 재택근무 강도와 일·가정 갈등 : 직무 자율성의 조절 효과. "
        "일과 삶 연구. DEMO-SOC-012"
    )
    assert bibtex.startswith("@article{DEMO-SOC-012,\n  author = {피서윤 and 경도율},\n")
    assert ris.startswith("TY  - JOUR\nAU  - 피서윤\n")
    assert link == page.url
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) }")
    page.click("[data-action=copy-link]")
    expect(page.locator(".copied")).to_contain_text("브라우저가 복사를 막았습니다")


def test_a_message_that_was_held_back_is_not_read_out_in_place_of_what_was_copied(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED, permissions=["clipboard-read", "clipboard-write"])
    page.evaluate(
        "async () => { const { announce } = await import('/static/live_region.js'); "
        "announce('1', true); announce('2'); }"
    )
    page.click("[data-action=copy-link]")
    expect(page.locator("#status")).to_have_text("복사했습니다.")
    page.wait_for_timeout(2_000)
    expect(page.locator("#status")).to_have_text("복사했습니다.")


def test_history_stays_in_the_browser_and_is_cleared(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    for question in (QUESTION, ENGLISH, "<b>갈등</b>", QUESTION):
        page.fill("#q", question)
        page.press("#q", "Enter")
        expect(page).to_have_title(f"{question} · SHRAG")
        expect(page.locator("#status")).to_have_text("답변이 완료되었습니다.")
        page.goto(plain)
    links = page.locator("#history li a")
    assert links.all_inner_texts() == [QUESTION, "<b>갈등</b>", ENGLISH]
    links.first.click()
    expect(page.locator(".answer")).to_be_visible()
    expect(page.locator("#history")).to_be_hidden()
    page.goto(plain)
    page.click("[data-action=clear-history]")
    expect(page.locator("#history")).to_be_hidden()
    page.reload()
    expect(page.locator("#history")).to_be_hidden()
    assert page.evaluate("localStorage.length") == 0
    assert page.context.cookies() == []


def test_storage_that_is_broken_or_forbidden_costs_only_the_history(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    page.evaluate("localStorage.setItem('shrag.history', '{broken'); localStorage.setItem('shrag.theme', 'neon')")
    page.reload()
    expect(page.locator("#history")).to_be_hidden()
    expect(page.locator("#theme")).to_have_value("")
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('forbidden') }})")
    page.goto(plain + ASKED)
    page.select_option("#theme", "dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_theme_by_hand_goes_before_the_systems_and_stays(reader: Reader, plain: str) -> None:
    page = reader.open(plain, color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(251, 250, 247)"
    page.select_option("#theme", "dark")
    assert page.evaluate(colour) == "rgb(20, 24, 27)"
    page.reload()
    assert page.evaluate(colour) == "rgb(20, 24, 27)"
    page.select_option("#theme", "")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(colour) == "rgb(20, 24, 27)"


def test_nothing_is_wider_than_the_screen(reader: Reader, plain: str) -> None:
    page = reader.open(plain, f"{ASKED}&year_from=2000")
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.locator("a.mark").last.hover()
        box = page.locator("#card").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        page.keyboard.press("Escape")
        page.mouse.move(0, 0)


def test_print_shows_the_question_the_answer_and_its_records_only(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED)
    expect(page.locator(".printed-question")).to_be_hidden()
    page.emulate_media(media="print")
    for hidden in (".ask", ".follow-up", ".trace", ".tools", ".filter", ".sizes", ".settings"):
        expect(page.locator(hidden)).to_be_hidden()
    for visible in (".answer .title", ".quoted .abstract", "#record-5"):
        expect(page.locator(visible)).to_be_visible()
    expect(page.locator(".printed-question")).to_have_text(page.locator("#q").input_value())


def test_the_page_weighs_less_than_110_kilobytes(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED)
    sizes = {}
    for url in [plain + ASKED, *page.evaluate("performance.getEntriesByType('resource').map(each => each.name)")]:
        sizes[url] = len(page.request.get(url).body())
    assert len(sizes) > 10
    assert sum(sizes.values()) < 110_000, sizes


def test_the_years_are_chosen_from_the_histogram_by_keyboard_and_let_go_again(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED)
    every = page.locator(".shown").inner_text()
    page.click(".filter summary")
    bar = page.locator(".histogram a").first
    counted = re.search(r": (\d+)건", bar.get_attribute("aria-label") or "")
    assert counted is not None
    bar.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".shown")).to_contain_text(f"전체 {counted.group(1)}건 중")
    chosen = page.locator(".histogram a[aria-current=true]")
    expect(chosen).to_have_count(1)
    assert re.search(r"&year_from=\d{4}&year_to=\d{4}$", page.url)
    chosen.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".shown")).to_have_text(every)


def test_a_records_whole_text_is_fetched_when_it_is_unfolded_and_has_a_page(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED)
    assert not [url for url in reader.requests if "/record" in url]
    page.click("#record-1 summary")
    expect(page.locator("#record-1-whole .text")).to_contain_text("설계되어야 한다")
    page.click("#record-1 summary")
    page.click("#record-1 summary")
    assert len([url for url in reader.requests if "/record/text" in url]) == 1
    with page.expect_popup() as opening:
        page.click("#record-1 h3 a")
    record = opening.value
    expect(record.locator("#record-title")).to_contain_text("재택근무 강도와 일·가정 갈등")
    record.click(".record dd a.docid")
    expect(record.locator(".record dd bdi.docid").first).to_have_text("DEMO-SOC-004")
    record.click("#switch")
    expect(record.locator("html")).to_have_attribute("lang", "en")
    assert "docid=DEMO-SOC-004" in record.url


def test_the_record_is_read_without_scripts_too(reader: Reader, plain: str) -> None:
    page = reader.open(plain, ASKED, java_script_enabled=False)
    page.click("#record-1 summary")
    with page.expect_popup() as opening:
        page.click("#record-1-whole a")
    expect(opening.value.locator(".record .text")).to_contain_text("설계되어야 한다")
    page.click(".filter summary")
    page.click(".histogram a >> nth=0")
    expect(page.locator(".histogram a")).not_to_have_count(0)
    assert "&year_from=" in page.url


def test_an_example_is_a_question_of_the_index_and_is_answered(reader: Reader, plain: str) -> None:
    page = reader.open(plain, "/?ui=en")
    expect(page.locator(".examples a")).to_have_count(4)
    page.click(".examples a >> nth=0")
    expect(page.locator(".answer.extractive")).to_be_visible()
    expect(page.locator(".examples")).to_have_count(0)
