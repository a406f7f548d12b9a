"""The answer in a browser: the record quoted, the confidence in words, a refusal; narrow, dark, without scripts."""

from __future__ import annotations

from urllib.parse import quote_plus

import pytest
from playwright.sync_api import expect

from shrag.serving.engine import Engine
from tests.browser.conftest import Reader, Serve
from tests.browser.engines import confident, refusing
from tests.browser.models import ENGLISH, QUESTION, writing_model
from tests.browser.test_accessibility import violations


def test_the_leading_record_is_a_card_whose_title_opens_its_page(reader: Reader, serve: Serve, demo: Engine) -> None:
    page = reader.open(serve(engine=confident(demo.open_index)), f"/?ui=ko&q={quote_plus(QUESTION)}")
    card = page.locator(".quoted")
    expect(card.get_by_role("heading", level=2)).to_contain_text("재택근무 강도와 일·가정 갈등")
    expect(card.locator(".about")).to_contain_text("일과 삶 연구 · 2024 · 한국어")
    expect(card.locator("mark", has_text="재택근무").first).to_be_visible()
    expect(page.locator(".confidence")).to_have_text("답변 확신도: 보통")
    with page.expect_popup() as opening:
        card.locator("h2 .record-title").click()
    expect(opening.value.locator("#record-title")).to_contain_text("재택근무 강도와 일·가정 갈등")


def test_a_generated_answer_has_its_confidence(reader: Reader, serve: Serve, demo: Engine) -> None:
    engine = confident(demo.open_index, writing_model())
    page = reader.open(serve(engine=engine), f"/?ui=en&q={quote_plus(QUESTION)}")
    expect(page.locator(".answer.generated .confidence")).to_have_text("Confidence: medium")
    expect(page.locator(".quoted")).to_have_count(0)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_refusal_leads_to_the_nearest_records_and_cites_none(
    reader: Reader, serve: Serve, demo: Engine, scripts: bool
) -> None:
    page = reader.open(serve(engine=refusing(demo.open_index)), java_script_enabled=scripts)
    page.fill("#q", QUESTION)
    page.click("button[type=submit]")
    expect(page.locator(".answer .badge")).to_have_text("답변 없음")
    expect(page.locator(".confidence")).to_have_text("답변 확신도: 낮음")
    expect(page.locator(".uncovered")).to_have_text("가장 가까운 문헌에서 찾지 못한 질문의 단어: <b>피자</b>, pizza")
    nearest = page.get_by_role("region", name="가장 가까운 문헌")
    expect(nearest.locator("li")).to_have_count(5)
    expect(page.locator("a.mark")).to_have_count(0)
    with page.expect_popup() as opening:
        nearest.locator("a").first.click()
    expect(opening.value.locator("#record-title")).to_contain_text("재택근무 강도와 일·가정 갈등")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_answers_and_refusals_fit_a_narrow_screen_and_axe_finds_nothing(
    reader: Reader, serve: Serve, demo: Engine, scheme: str
) -> None:
    answering, refused = serve(engine=confident(demo.open_index)), serve(engine=refusing(demo.open_index))
    page = reader.open(answering, color_scheme=scheme, viewport={"width": 360, "height": 740})
    reader.addresses.add(refused)
    for address in (answering, refused):
        for ui, question in (("ko", QUESTION), ("en", ENGLISH), ("en", QUESTION)):
            page.goto(f"{address}/?ui={ui}&q={quote_plus(question)}")
            expect(page.locator(".confidence")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") == 360
            assert violations(page, scheme) == []
