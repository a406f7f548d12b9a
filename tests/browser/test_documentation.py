"""The documentation in Chromium: search in both languages, the theme's switch, narrow windows, and axe-core's rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from starlette.routing import Mount

from shrag.serving.app import ROUTES
from shrag.serving.page.documentation import Documentation
from tests.browser.conftest import Reader


@pytest.fixture(autouse=True, scope="module")
def documentation(built_docs: Path) -> Iterator[None]:
    """Let the server have the documentation as it is built now."""
    (mount,) = (route for route in ROUTES if isinstance(route, Mount) and route.path == "/docs")
    before, mount.app = mount.app, Documentation(built_docs)
    yield
    mount.app = before


@pytest.mark.parametrize(
    ("language", "word", "page"),
    [
        ("en", "zyzzyva", ""),
        ("en", "bundle installer network", "Carrying SHRAG to a machine without a network"),
        ("en", "memory plan", "Memory plan"),
        ("ko", "학술", "SHRAG"),
        ("ko", "문헌", "SHRAG"),
        ("ko", "문헌에서", "SHRAG"),
        ("ko", "인터넷", "SHRAG"),
    ],
)
def test_words_are_found_without_another_site(reader: Reader, plain: str, language: str, word: str, page: str) -> None:
    opened = reader.open(plain, f"/docs/{language}/")
    opened.get_by_role("search").get_by_role("textbox").fill(word)
    opened.get_by_role("search").get_by_role("textbox").press("Enter")
    found = {"en": "Search finished, found", "ko": "개를 찾았습니다"} if page else {"en": "did not match any documents"}
    expect(opened.locator("#search-results .search-summary")).to_contain_text(found[language])
    results = opened.locator("#search-results ul.search li > a")
    if page:
        expect(results.filter(has_text=page).first).to_be_visible()
    else:
        expect(results).to_have_count(0)


def test_every_page_leads_to_the_other_language_and_to_the_search(reader: Reader, plain: str) -> None:
    page = reader.open(plain, "/docs/en/")
    page.get_by_role("navigation", name="Language").get_by_role("link", name="한국어").click()
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    page.get_by_role("navigation", name="언어").get_by_role("link", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("link", name="Search page").click()
    expect(page.locator("#q")).to_be_visible()
    page.get_by_role("contentinfo").get_by_role("link", name="사용 설명서").click()
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    assert page.url == f"{plain}/docs/ko/"


def test_the_theme_is_switched_and_kept(reader: Reader, plain: str) -> None:
    page = reader.open(plain, "/docs/en/")
    expect(page.locator("body")).to_have_attribute("data-theme", "auto")
    page.locator(".theme-toggle-content .theme-toggle").click()
    expect(page.locator("body")).not_to_have_attribute("data-theme", "auto")
    chosen = page.locator("body").get_attribute("data-theme")
    page.reload()
    expect(page.locator("body")).to_have_attribute("data-theme", str(chosen))


def test_a_narrow_window_shows_the_text_and_does_not_scroll_sideways(reader: Reader, plain: str) -> None:
    page = reader.open(plain, "/docs/en/", viewport={"width": 360, "height": 700})
    for path in ("tutorial", "reference/commands", "explanation/results", "reference/http-routes"):
        page.goto(f"{plain}/docs/en/{path}.html")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_of_ours(reader: Reader, plain: str, scheme: str) -> None:
    page = reader.open(plain, "/docs/en/", color_scheme=scheme)
    for path in ("", "tutorial.html", "explanation/results.html", "reference/commands.html"):
        page.goto(f"{plain}/docs/en/{path}")
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found] == [], path
