"""axe-core over the page's states, in both languages, light and dark. The file it runs is the test package's own."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Reader, Serve
from tests.browser.models import (
    ENGLISH,
    HOPS,
    QUESTION,
    HeldModel,
    HeldScript,
    absent_model,
    insatiable_model,
    writing_model,
)


def violations(page: Page, scheme: str = "light") -> list[tuple[str, list[str]]]:
    """Return what axe finds: each rule with the elements that break it. A dark page differs in its colours alone."""
    rules: dict[str, object] = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}
    violations = Axe().run(page, options={"resultTypes": ["violations"]} | rules).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations]


@pytest.mark.parametrize(
    ("ui", "scheme"),
    [
        ("ko", "light"),
        ("en", "dark"),
        pytest.param("en", "light", marks=pytest.mark.soak),
        pytest.param("ko", "dark", marks=pytest.mark.soak),
    ],
)
def test_axe_finds_nothing_in_any_state(reader: Reader, serve: Serve, ui: str, scheme: str) -> None:
    question = QUESTION if ui == "ko" else ENGLISH
    plain, away, writing, growing = serve(), serve(absent_model()), serve(writing_model()), serve(insatiable_model())
    states = {
        "empty": (plain, ""),
        "answer": (plain, f"&q={quote_plus(question)}&year_from=2000"),
        "filtered to nothing": (plain, f"&q={quote_plus(question)}&year_from=1900&year_to=1901"),
        "no result": (plain, "&q=zzzz+qqqq"),
        "error": (plain, "&q="),
        "generated": (writing, f"&q={quote_plus(QUESTION)}"),
        "model away": (away, f"&q={quote_plus(QUESTION)}"),
        "tree cut short": (growing, f"&q={quote_plus(HOPS)}&strategy=tree"),
        "tree without a model": (plain, f"&q={quote_plus(question)}&strategy=tree"),
        "way": (plain, f"&q={quote_plus(question)}&strategy=pipeline-8"),
        "closed_book": (growing, f"&q={quote_plus(HOPS)}&strategy=cot"),
        "strategy not there": (plain, f"&q={quote_plus(question)}&strategy=rewrite"),
    }
    page = reader.open(plain, color_scheme=scheme)
    reader.addresses |= {away, writing, growing}
    for state, (address, query) in states.items():
        page.goto(f"{address}/?ui={ui}{query}")
        assert violations(page, scheme) == [], state


def test_axe_finds_nothing_while_the_answer_comes_in_a_card_in_the_help_and_in_the_history(
    reader: Reader, serve: Serve
) -> None:
    model = HeldModel()
    page = reader.open(serve(model))
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    expect(page.locator(".waiting .sentence")).to_have_count(2)
    assert violations(page) == []
    model.go_on()
    page.locator("a.mark").first.hover()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.click("[data-action=help]")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.click(".brand")
    expect(page.locator("#history")).to_be_visible()
    assert violations(page) == []


def test_axe_finds_nothing_while_a_tree_grows(reader: Reader, serve: Serve) -> None:
    model = HeldScript("tree", "span")
    page = reader.open(serve(model))
    page.select_option("#strategy", "tree")
    page.fill("#q", HOPS)
    page.press("#q", "Enter")
    expect(page.locator("#node-2")).to_be_visible()
    page.wait_for_timeout(500)  # what fades in is as faint as it looks
    assert violations(page) == []
    model.go_on("span")
    expect(page.locator(".answer.generated")).to_be_visible()
    assert violations(page) == []


def test_the_way_is_told_to_those_who_do_not_see_its_drawing(reader: Reader, serve: Serve) -> None:
    page = reader.open(serve(), f"/?ui=en&q={quote_plus(ENGLISH)}")
    drawing = page.get_by_role("img", name=re.compile(r"^Ranks before and after re-ranking: \d+ → 1, \d+ → 2, "))
    expect(drawing).to_be_visible()
    expect(page.get_by_role("complementary", name="How this was found")).to_be_visible()
    expect(page.get_by_role("search").get_by_role("textbox", name="Question")).to_be_visible()
    page.click("#trace > summary")
    expect(drawing).to_be_hidden()
