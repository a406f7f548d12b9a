"""The report of an experiment in a real browser, opened as a file: what it shows, sorts and filters, and runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from shrag.evaluation.reports.html import render_report
from tests.browser.conftest import Reader
from tests.evaluation.reports.test_html import EVIL, make_hostile
from tests.support.small_experiment import run_small


@pytest.fixture(scope="module")
def results(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return finished results. Tests only read them."""
    folder = tmp_path_factory.mktemp("results") / "small"
    run_small(demo_home, folder, plots=True)
    return folder


@pytest.fixture
def page_of(results: Path, tmp_path: Path) -> Path:
    """Return the folder that holds the report as a file."""
    (tmp_path / "report.html").write_text(render_report([results]), encoding="utf-8")
    return tmp_path


def _open(reader: Reader, folder: Path, **options: object) -> Page:
    return reader.open(folder.as_uri(), "/report.html", "ko-KR", **options)


def _first_column(page: Page) -> list[str]:
    return [
        text.split("\n")[0].strip()
        for text in page.locator("table.sortable >> nth=0").locator("tbody th").all_inner_texts()
    ]


def test_a_table_is_sorted_by_the_column_that_is_clicked(reader: Reader, page_of: Path) -> None:
    page = _open(reader, page_of)
    head = page.locator("table.sortable >> nth=0").locator("thead th").nth(3)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    falling = _first_column(page)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert _first_column(page) == falling[::-1]
    assert falling[-1] == "AND of <b>all</b>"


def test_questions_are_filtered_and_ordered(reader: Reader, page_of: Path) -> None:
    page = _open(reader, page_of)
    cases = page.locator(".case")
    expect(cases).to_have_count(10)
    first = cases.nth(0).locator("summary code").inner_text()
    page.get_by_label("Show questions with").fill(first)
    expect(page.locator(".case:visible")).to_have_count(1)
    expect(page.locator(".filter output")).to_have_text("1 of 10")
    page.get_by_label("Show questions with").fill("")
    page.get_by_label("in the order of").select_option("order")
    qids = page.locator(".case summary code").all_inner_texts()
    assert qids == sorted(qids)


def test_everything_stands_in_the_page_without_its_script(reader: Reader, page_of: Path) -> None:
    page = _open(reader, page_of, java_script_enabled=False)
    expect(page.locator("table.sortable >> nth=0").locator("tbody tr")).to_have_count(3)
    expect(page.locator(".filter").first).to_be_hidden()
    page.locator(".case summary").first.click()
    expect(page.locator(".case .trace").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(reader: Reader, page_of: Path, scheme: str) -> None:
    page = _open(reader, page_of, color_scheme=scheme)
    page.locator(".case summary").first.click()
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in violations] == []


def test_hostile_texts_run_nothing_and_are_read_as_they_are(reader: Reader, results: Path, tmp_path: Path) -> None:
    make_hostile(results, tmp_path / "evil")
    (tmp_path / "report.html").write_text(render_report([tmp_path / "evil"]), encoding="utf-8")
    page = _open(reader, tmp_path)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.locator(".case summary").first.click()
    expect(page.locator(".case bdi").first).to_have_text(EVIL)
    assert page.locator("img[src=x]").count() == 0
    assert dialogs == []


def test_it_prints_on_paper_with_its_tables_and_plots(page_of: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{page_of.as_uri()}/report.html")
    pdf = page.pdf(format="A4")
    page.close()
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") >= 1
