"""The questions asked on the way in a browser: as they grow, as a list to be read, on paper, and without any script."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader, Serve
from tests.browser.models import ENGLISH, HOPS, QUESTION, HeldScript, insatiable_model
from tests.support.scripted_models import ScriptFile

TREE = f"/?q={quote_plus(HOPS)}&strategy=tree"


def _ask(page: Page, question: str, strategy: str) -> None:
    page.select_option("#strategy", strategy)
    page.fill("#q", question)
    page.press("#q", "Enter")


def _outline(page: Page) -> str:
    return re.sub(r"\d+ ms|\s+", " ", page.locator("main").inner_text()).strip()


def test_the_tree_grows_before_the_answer_and_a_place_is_filled_when_its_answer_is_known(
    reader: Reader, serve: Serve
) -> None:
    model = HeldScript("tree", "query", "span")
    page = reader.open(serve(model))
    _ask(page, HOPS, "tree")
    expect(page.locator(".tree li")).to_have_count(1)
    expect(page.locator("#node-0 .state")).to_contain_text("처리 중")
    model.go_on("query")
    expect(page.locator("#node-0 > ol > li")).to_have_count(2)
    expect(page.locator("#node-0 > .node .assessment")).to_contain_text(
        "이 답변은 질문에 충분히 답하지 못합니다. 10점 만점에 4.0점"
    )
    expect(page.locator("#node-0 > .node .state")).to_contain_text("처리 중")
    expect(page.locator("#node-2 .node-question")).to_have_text("[1번의 답변]의 지하수위 예측 효율은 얼마인가?")
    expect(page.locator("#tree-count")).to_contain_text("하위 질문 2개 중 0개 처리.")
    expect(page.locator(".waiting .progress")).to_have_text("하위 질문 2개 중 0개 처리.")
    page.evaluate("document.getElementById('node-2').dataset.same = 'yes'")
    page.focus("#tree > summary")
    model.go_on("span")
    expect(page.locator(".answer.generated")).to_be_visible()
    expect(page.locator("#node-2 .node-question")).to_have_text(
        "long short-term memory (LSTM)의 지하수위 예측 효율은 얼마인가?"
    )
    expect(page.locator("#node-2 .node-answer")).to_contain_text("효율은 0.91이다.")
    expect(page.locator("#node-0 > .node .assessment")).to_contain_text(
        "이 답변은 질문에 충분히 답합니다. 10점 만점에 9.1점"
    )
    expect(page.locator("#status")).to_have_text("답변이 완료되었습니다.")
    with page.expect_popup() as opening:
        page.click("#node-1 .node-answer a")
    expect(opening.value.locator(".record .docid").first).to_have_text("DEMO-AGR-002")
    opening.value.click(".back a")
    expect(opening.value.locator("#strategy")).to_have_value("tree")


def test_a_question_that_changes_keeps_those_below_it_and_where_the_reader_is(reader: Reader, serve: Serve) -> None:
    model = HeldScript("tree", "span")
    page = reader.open(serve(model))
    _ask(page, HOPS, "tree")
    expect(page.locator("#node-2")).to_be_visible()
    page.evaluate("document.querySelector('#node-0 > ol').dataset.kept = 'yes'")
    page.evaluate("document.getElementById('node-1').dataset.kept = 'yes'")
    page.evaluate("""new MutationObserver(() => {
        const state = document.querySelector('#node-1 .state').textContent;
        if (state.includes('답변 완료')) window.kept ??= document.querySelectorAll('[data-kept]').length;
    }).observe(document.querySelector('main'), {childList: true, subtree: true})""")
    page.click("#tree > summary")
    model.go_on("span")
    expect(page.locator(".answer.generated")).to_be_visible()
    assert page.evaluate("window.kept") == 2
    expect(page.locator("#tree")).not_to_have_attribute("open", "")
    assert page.evaluate("document.activeElement.closest('section')?.className") != "records"


@pytest.mark.parametrize(
    ("strategy", "script"),
    [("tree", "tree"), ("chain", "steps"), ("decompose", "parts"), ("pipeline-5", "pipelines"), ("cot", "raise")],
)
def test_what_grows_ends_as_the_page_that_is_sent_whole(
    reader: Reader, serve: Serve, strategy: str, script: str
) -> None:
    question = HOPS if strategy == "tree" else "LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?"
    address = serve(ScriptFile(script))
    streamed = reader.open(address)
    whole = reader.open(serve(ScriptFile(script)), f"/?q={quote_plus(question)}&strategy={strategy}")
    _ask(streamed, question, strategy)
    expect(streamed.locator("#status")).to_have_text("답변이 완료되었습니다.")
    assert _outline(streamed) == _outline(whole)
    assert streamed.url == f"{address}/?q={quote_plus(question)}&ui=ko&strategy={strategy}"


def test_the_finished_tree_is_there_without_scripts(reader: Reader, serve: Serve) -> None:
    page = reader.open(serve(ScriptFile("tree")), java_script_enabled=False)
    page.select_option("#strategy", "tree")
    page.fill("#q", HOPS)
    page.click("button[type=submit]")
    expect(page.locator("#node-0 > ol > li")).to_have_count(2)
    expect(page.locator("#node-2 .node-answer")).to_contain_text("효율은 0.91이다.")
    expect(page.locator("#strategy")).to_have_value("tree")
    page.click("#tree > summary")
    expect(page.locator("#node-1")).to_be_hidden()


def test_the_tree_is_read_as_lists_within_a_list(reader: Reader, serve: Serve) -> None:
    page = reader.open(serve(ScriptFile("tree")), f"{TREE}&ui=en")
    tree = page.get_by_role("region", name="Sub-questions")
    root = tree.get_by_role("list").first.get_by_role("listitem").first
    expect(root).to_contain_text("original question")
    expect(root.get_by_role("list").get_by_role("listitem")).to_have_count(2)
    expect(root.get_by_role("listitem").nth(1)).to_contain_text("2 bridging ✓ answered")
    link = tree.get_by_role("link", name="Read the whole record on its page: DEMO-OCE-002").first
    expect(link).to_be_visible()
    page.focus("#tree > summary")
    page.keyboard.press("Tab")
    expect(page.locator("#node-0 > .node a")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#node-1 a")).to_be_focused()


def test_a_tree_that_a_bound_ended_says_which_and_is_not_read_out_question_by_question(
    reader: Reader, serve: Serve
) -> None:
    page = reader.open(serve(insatiable_model()))
    page.evaluate("""(window.said = [], new MutationObserver(() => window.said.push(document.getElementById('status')
        .textContent)).observe(document.getElementById('status'), {childList: true}))""")
    _ask(page, HOPS, "tree")
    expect(page.locator("#status")).to_have_text("답변이 완료되었습니다.")
    assert page.locator(".tree li").count() > 12
    expect(page.locator(".tree .notice")).to_have_text(
        "하위 질문이 최대 개수(24개)에 도달했습니다. 언어 모델 호출 한도(48회)에 도달했습니다. "
        "답변은 그때까지 찾은 내용으로 작성했습니다."
    )
    expect(page.locator(".tree .skipped .state").first).to_contain_text("건너뜀")
    said = page.evaluate("window.said")
    seconds = page.evaluate("performance.now()") / 1000
    assert 1 <= len(said) <= 2 + seconds / 1.5
    assert page.locator("[aria-live], [role=status], [role=alert]").count() == 1


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_a_deep_tree_fits_the_window(reader: Reader, serve: Serve, width: int) -> None:
    page = reader.open(serve(insatiable_model()), TREE, viewport={"width": width, "height": 844})
    assert page.locator("#node-0 > ol > li > ol > li").count() > 2
    assert page.evaluate("document.documentElement.scrollWidth") == width
    narrowest = page.evaluate("Math.min(...[...document.querySelectorAll('.node')].map(each => each.clientWidth))")
    assert narrowest > 180


def test_the_tree_is_printed(reader: Reader, serve: Serve) -> None:
    page = reader.open(serve(ScriptFile("tree")), TREE)
    page.emulate_media(media="print")
    expect(page.locator("#node-2 .node-answer")).to_be_visible()
    expect(page.locator("#strategy")).to_be_hidden()
    expect(page.locator(".records details").first).to_be_hidden()


def test_who_wants_no_motion_gets_none(reader: Reader, serve: Serve) -> None:
    model = HeldScript("tree", "span")
    page = reader.open(serve(model), reduced_motion="reduce")
    _ask(page, HOPS, "tree")
    expect(page.locator("#node-2")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.getElementById('node-2')).animationName") == "none"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate("getComputedStyle(document.getElementById('node-2')).animationName") == "appear"
    model.go_on("span")
    expect(page.locator(".answer.generated")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.getElementById('node-2')).animationName") == "none"


def test_a_tree_that_is_stopped_stays_as_far_as_it_had_grown(reader: Reader, serve: Serve) -> None:
    model = HeldScript("tree", "span")
    page = reader.open(serve(model))
    _ask(page, HOPS, "tree")
    expect(page.locator("#node-2")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ended .progress")).to_contain_text("중지했습니다")
    expect(page.locator("#status")).to_contain_text("중지했습니다")
    model.go_on("span")
    page.wait_for_timeout(1_700)
    expect(page.locator("#node-2 .state")).to_contain_text("처리 중")
    expect(page.locator("#status")).to_contain_text("중지했습니다")


def test_the_strategy_is_chosen_by_keyboard_and_stays_with_the_question(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    page.focus("#strategy")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#strategy")).to_have_value("bm25")
    expect(page.locator("#strategy-description")).to_contain_text("질문의 모든 단어로 한 번 검색하고")
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    expect(page.locator(".answer.extractive")).to_be_visible()
    assert page.url == f"{plain}/?q={quote_plus(QUESTION)}&ui=ko&strategy=bm25"
    expect(page.locator("#trace .steps > li").first).to_contain_text("단어 검색(BM25)")
    page.click("#switch")
    expect(page.locator("#strategy")).to_have_value("bm25")
    expect(page.locator("#trace .steps > li").first).to_contain_text("Search by words (BM25)")
    page.click(".sizes a >> nth=0")
    assert "strategy=bm25" in page.url
    _ask(page, ENGLISH, "")
    expect(page.locator("#trace .steps > li").first).to_contain_text("Search with fewer and fewer keywords (SHRAG)")
    assert "strategy" not in page.url
    page.go_back()
    expect(page.locator("#strategy")).to_have_value("bm25")
    expect(page.locator("#strategy-description")).to_contain_text("Searches once for all words")
    page.go_back()
    expect(page.locator("#trace .steps > li").first).to_contain_text("Search by words (BM25)")


def test_the_history_leads_back_to_the_question_by_its_strategy(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    for strategy in ("bm25", "", "bm25"):
        _ask(page, QUESTION, strategy)
        expect(page.locator(".answer.extractive")).to_be_visible()
        expect(page.locator("#status")).to_have_text("답변이 완료되었습니다.")
    page.click(".brand")
    expect(page.locator("#history li")).to_have_text([f"{QUESTION} (bm25)", QUESTION])
    page.click("#history a >> nth=0")
    expect(page.locator("#strategy")).to_have_value("bm25")
    expect(page.locator("#trace .steps > li").first).to_contain_text("단어 검색(BM25)")


def test_a_strategy_that_lacks_something_can_be_read_of_but_not_chosen(reader: Reader, plain: str) -> None:
    page = reader.open(plain, "/?ui=en")
    option = page.locator("#strategy option[value=rewrite]")
    expect(option).to_be_disabled()
    expect(option).to_have_text("Simpler questions (needs a language model)")
    expect(page.get_by_role("combobox", name="Strategy")).to_have_accessible_description(
        "Searches with the keywords of the question, leaving out one each time, and re-ranks the records collected."
    )


def test_a_link_to_a_strategy_that_is_not_there_says_so_and_leads_on(reader: Reader, plain: str) -> None:
    page = reader.open(plain, f"/?ui=ko&q={quote_plus(QUESTION)}&strategy=rewrite")
    expect(page.locator(".problem .detail")).to_contain_text("이 서버에는 없습니다")
    page.click(".retry a")
    expect(page.locator(".answer.extractive")).to_be_visible()
    page.goto(f"{plain}/?ui=ko&strategy=retrieve(7)")
    expect(page.locator("#strategy")).to_have_value("retrieve(7)")
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    expect(page.locator("#trace .pipeline")).to_have_text("retrieve(7)")
    page.goto(f"{plain}/?ui=ko&strategy=rerank(7)")
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    expect(page.locator(".problem h2")).to_have_text("해당 방식을 찾을 수 없습니다")
