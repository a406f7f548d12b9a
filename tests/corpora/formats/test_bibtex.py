from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.formats.bibtex import read_bibtex
from shrag.corpora.records import Record


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("http://x.y/a_b?c=50%25&d=~e#f", "http://x.y/a_b?c=50%25&d=~e#f"),
        (r"http://x.y/a\_b?c=50\%25\&d=e", "http://x.y/a_b?c=50%25&d=e"),
    ],
    ids=["verbatim", "escaped"],
)
def test_an_address_is_read_whole_verbatim_or_escaped_for_tex(tmp_path: Path, written: str, link: str) -> None:
    path = tmp_path / "a.bib"
    path.write_text(f"@article{{a, title = {{One}}, URL = {{{written}}}}}")
    (item,) = read_bibtex(path)
    assert isinstance(item.outcome, Record)
    assert item.outcome.link == link


def test_a_percent_sign_is_text_escaped_or_not(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text(
        "@string{m = {5% more}}\n"
        r"@article{a, title = {A 50% gain in caf{\'e}s}, note = m, abstract = {We gain 5\% and 10% of caf\'e."
        "\nThe second line.}}"
    )
    (item,) = read_bibtex(path)
    assert isinstance(item.outcome, Record)
    assert item.outcome.title == "A 50% gain in cafés"
    assert item.outcome.text == "We gain 5% and 10% of café. The second line."
    assert item.outcome.other == (("note", "5% more"),)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("title = {One", "Unexpectedly reached end of file"),
        ("title = {One}, year", "Unexpectedly reached end of file"),
        ("title {One}}", "Expected a `=` after entry key, but found `{`"),
    ],
)
def test_an_entry_that_is_cut_off_is_rejected_with_the_reason(tmp_path: Path, rest: str, reason: str) -> None:
    path = tmp_path / "a.bib"
    path.write_text(f"@article{{a, {rest}")
    (item,) = read_bibtex(path)
    assert item.outcome == f"not an entry of BibTeX: {reason}"
