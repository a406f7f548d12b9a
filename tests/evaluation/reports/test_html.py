"""The HTML report as text: complete, escaped, without requests. tests/browser/test_report.py opens it."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.part import ExperimentPart, read_outcomes
from shrag.evaluation.experiments.run_card import read_card, write_card
from shrag.evaluation.reports.html import difference_text, render_report
from shrag.evaluation.reports.result_folder import file_digests
from shrag.evaluation.reports.table import BaselineDifference, read_table, write_table

EVIL = "</script></style><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}\u202e]]>"


class _Reader(HTMLParser):
    """Counts elements, and keeps every address and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action", "srcset"}]
        self.handlers += [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_data(self, data: str) -> None:
        self.text += data


def make_hostile(results: Path, folder: Path) -> Path:
    """Return a copy of results in which every text that may come from outside is hostile."""
    shutil.copytree(results, folder)
    encoded = msgspec.json.encode(EVIL)[1:-1]
    for name in ("or", "bm25"):
        path = folder / "demo" / f"{name}.questions.jsonl"
        outcomes = []
        for outcome in read_outcomes(folder, ExperimentPart("demo", name)):
            answer = outcome.answer and msgspec.structs.replace(outcome.answer, text=EVIL, model=EVIL, cited=(EVIL,))
            outcomes.append(
                msgspec.structs.replace(outcome, keywords=(EVIL,), queries=((EVIL,),), error=EVIL, answer=answer)
            )
        path.write_bytes(b"".join(msgspec.json.encode(outcome) + b"\n" for outcome in outcomes))
    titles = folder / "demo" / "titles.json"
    evil_titles = dict.fromkeys(msgspec.json.decode(titles.read_bytes(), type=dict[str, str]), EVIL)
    titles.write_bytes(msgspec.json.encode(evil_titles))
    topics = folder / "demo" / "topics.tsv"
    qids = [line.partition("\t")[0] for line in topics.read_text(encoding="utf-8").splitlines()]
    topics.write_text("".join(f"{qid}\t{EVIL}\n" for qid in qids), encoding="utf-8")
    for name in ("card.json", "table.json"):
        path = folder / name
        path.write_bytes(path.read_bytes().replace(b'"Small"', b'"' + encoded + b'"').replace(b"small.toml", encoded))
    card = read_card(folder)
    write_card(folder, msgspec.structs.replace(card, files=file_digests(folder)))
    return folder


def test_the_page_holds_the_tables_the_plots_every_question_and_the_card(results_folder: Path) -> None:
    page = render_report([results_folder])
    read = _Reader(page)
    assert page.startswith("<!DOCTYPE html>")
    assert read.elements.count("details") == 10
    assert read.elements.count("img") == 2
    for part in (
        "Is OR better than AND?",
        "OR alone",
        "AND of <b>all</b>",
        "nDCG@10",
        "kiwipiepy",
        "small.toml",
        "Δ −",
    ):
        assert part in read.text, part
    for qid, text in (line.split("\t") for line in (results_folder / "demo" / "topics.tsv").read_text().splitlines()):
        assert qid in read.text
        assert text in read.text
    assert render_report([results_folder]) == page


def test_a_difference_that_rounds_to_zero_has_the_sign_that_the_table_in_markdown_gives_it() -> None:
    difference = BaselineDifference(-0.0002, -0.0124, 0.0004, p=0.9, p_holm=0.9, wins=1, ties=0, losses=1)
    assert difference_text(difference) == "Δ +0.000 [−0.012, +0.000]"


def test_each_plot_has_a_text_that_says_what_it_shows(results_folder: Path) -> None:
    assert re.findall(r'alt="([^"]+)"', render_report([results_folder])) == [
        "Small: nDCG@10, num_candidates by condition, for demo. The table below has the figures.",
        "Small: candidate_recall against ands, for demo. The table below has the figures.",
    ]


def test_the_page_asks_nobody_for_anything(results_folder: Path) -> None:
    page = render_report([results_folder, results_folder])
    read = _Reader(page)
    assert {address.partition(":")[0] if ":" in address else address[0] for address in read.addresses} == {"#", "data"}
    assert "://" not in re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "", page)
    assert read.handlers == []
    assert not {"link", "iframe", "object", "embed", "base", "form"} - {"form"} & set(read.elements)


def test_the_policy_allows_the_pages_own_style_and_script_and_pictures_in_it(results_folder: Path) -> None:
    page = render_report([results_folder])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    said = policy.group(1).replace("&#39;", "'")
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in said
    assert said.startswith("default-src 'none'; ")
    assert "unsafe" not in said


def test_hostile_questions_titles_answers_and_names_are_text(results_folder: Path, tmp_path: Path) -> None:
    plain = _Reader(render_report([results_folder]))
    page = render_report([make_hostile(results_folder, tmp_path / "evil")])
    read = _Reader(page)
    assert read.elements.count("script") == 1
    assert read.elements.count("img") == plain.elements.count("img")
    assert read.handlers == []
    assert read.text.count("<script>alert(1)</script>") > 50
    assert "{{ 7 * 7 }}" in read.text
    assert "49" not in read.text[read.text.index("</script>") : read.text.index("</script>") + 80]


@pytest.mark.parametrize(("questions", "shown"), [(0, 0), (3, 3), (10, 10), (99, 10)])
def test_the_questions_shown_are_those_on_which_the_conditions_are_furthest_apart(
    results_folder: Path, questions: int, shown: int
) -> None:
    page = render_report([results_folder], questions=questions)
    spreads = [float(value) for value in re.findall(r'data-spread="([^"]+)"', page)]
    assert len(spreads) == shown
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[:1] == [1.0][:shown]
    if shown == 10:  # on one question all conditions have the same value
        assert spreads[-2:] == [pytest.approx(0.1027, abs=1e-4), 0.0]
    if questions == 3:
        assert "3 of 10 questions" in page


@pytest.mark.parametrize(
    ("missing", "primary"),
    [
        ({}, "nDCG@10"),
        ({"bm25": {"nDCG@10"}}, "R@20"),
        ({"or": {"nDCG@10"}, "bm25": {"R@20"}}, "num_candidates"),
        # No column is everybody's.
        (
            {"or": {"nDCG@10", "R@20", "num_candidates"}, "and": {"candidate_recall", "candidate_success"}},
            "nDCG@10",
        ),
    ],
)
def test_questions_are_compared_by_the_first_column_that_all_conditions_have(
    results_folder: Path, tmp_path: Path, missing: dict[str, set[str]], primary: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(results_folder, folder)
    table = read_table(folder)
    (demo,) = table.sets
    rows = tuple(
        msgspec.structs.replace(
            row,
            cells={name: cell for name, cell in row.cells.items() if name not in missing.get(row.condition, set())},
        )
        for row in demo.rows
    )
    write_table(folder, msgspec.structs.replace(table, sets=(msgspec.structs.replace(demo, rows=rows),)))
    write_card(folder, msgspec.structs.replace(read_card(folder), files=file_digests(folder)))
    page = render_report([folder])
    assert re.findall(r"differ most in ([^<]+)\.<", page) == [primary]
    assert set(re.findall(r'<span class="value">(\S+) [\d.]+</span>', page)) == {primary}


def test_results_that_are_not_finished_and_no_results_are_refused(results_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(results_folder, tmp_path / "copy")
    (tmp_path / "copy" / "demo" / "or.questions.jsonl").unlink()
    with pytest.raises(ResultsMismatch, match=r"is not finished \(demo/or is missing\)"):
        render_report([tmp_path / "copy"])
    with pytest.raises(ResultsMismatch, match="holds no results"):
        render_report([tmp_path])
