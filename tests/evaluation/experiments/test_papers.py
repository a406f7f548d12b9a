"""The catalogue of the papers' tables and figures is complete, and the page in docs/ is what it writes."""

from __future__ import annotations

from pathlib import Path

from shrag.evaluation.experiments.papers import paper_experiments, papers_page, read_papers

ROOT = Path(__file__).resolve().parents[3]


def test_every_item_is_shown_in_exactly_one_way() -> None:
    experiments = paper_experiments()
    for paper in read_papers():
        for item in paper.items:
            ways = [item.command, item.files, item.same_as, (paper.name, item.item) in experiments]
            assert sum(map(bool, ways)) == 1, f"{paper.name}, {item.item}"


def test_every_experiment_and_every_reference_is_about_an_item_of_the_catalogue() -> None:
    papers = read_papers()
    items = {(paper.name, item.item) for paper in papers for item in paper.items}
    assert set(paper_experiments()) <= items
    referred = [item.same_as for paper in papers for item in paper.items if item.same_as]
    assert len(referred) == 3
    assert {tuple(each.split(", ", 1)) for each in referred} <= items


def test_every_file_it_names_exists() -> None:
    files = [file for paper in read_papers() for item in paper.items for file in item.files]
    assert len(files) > 15
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_page_in_docs_is_the_one_that_the_command_prints() -> None:
    assert (ROOT / "docs/en/explanation/reproduction.md").read_text(encoding="utf-8") == papers_page()


def test_the_values_of_a_paper_are_of_conditions_that_every_experiment_has() -> None:
    found = paper_experiments()
    assert len(found) >= 12
    assert sum(len(each.experiment.expected) for each in found.values()) > 40
