"""A person before a server with a key, in a real browser: what tests without one cannot know are Origin and cookies."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from shrag.serving.http.access import Access
from shrag.serving.http.api_key import ApiKey
from tests.browser.conftest import Reader, Serve
from tests.serving.http.test_access import KEY
from tests.support.live import QUESTION


@pytest.fixture(scope="module")
def locked(serve: Serve) -> str:
    """Return the address of a server with a key."""
    return serve(access=Access(key=ApiKey(KEY)))


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_the_key_opens_the_page_that_was_asked_for_and_a_streamed_answer_after_it(
    reader: Reader, locked: str, scripts: bool
) -> None:
    page = reader.open(locked, f"/?q={quote(QUESTION)}", java_script_enabled=scripts)
    page.get_by_label("API 키").fill("x" * 40)
    page.get_by_role("button", name="로그인").click()
    expect(page.get_by_role("alert")).to_have_text("이 서버의 API 키가 아닙니다.")
    page.get_by_label("API 키").fill(KEY)
    page.get_by_label("API 키").press("Enter")
    expect(page.locator("#record-1")).to_be_visible()
    assert page.url == f"{locked}/?q={quote(QUESTION)}"
    page.locator("#q").fill("그래핀")
    page.get_by_role("button", name="질문하기").click()
    expect(page).to_have_title("그래핀 · SHRAG")
    expect(page.locator("#record-1")).to_be_visible()
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Strict", False)
    page.goto(f"{locked}/sign-in")
    page.get_by_role("button", name="로그아웃").click()
    assert page.context.cookies() == []
    expect(page.get_by_label("API 키")).to_be_visible()


def test_the_form_is_accessible_in_both_languages_light_and_dark(browser: Browser, locked: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for language in ("ko-KR", "en-GB"):
        for scheme in ("light", "dark"):
            context = browser.new_context(locale=language, color_scheme=scheme, bypass_csp=True)
            page = context.new_page()
            page.goto(f"{locked}/sign-in")
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            context.close()
