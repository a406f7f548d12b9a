from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
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
    ("written", "journal"),
    [
        ('"Proc. of " # acl', "Proc. of ACL Press"),
        ('"a {B}" # " c" # {d {E}}', "a B cd E"),
        ('jun # "~12"', "jun 12"),
        ("acl # acl", "ACL PressACL Press"),
        ("{C# and F#}", "C# and F#"),
        ('"a # b"', "a # b"),
        ("acl", "ACL Press"),
        ("in press", "in press"),
    ],
)
def test_strings_that_are_concatenated_are_one_text(tmp_path: Path, written: str, journal: str) -> None:
    path = tmp_path / "a.bib"
    path.write_text(f'@string{{acl = "{{ACL}} Press"}}\n@misc{{a, title = {{One}}, booktitle = {written}}}')
    (item,) = read_bibtex(path)
    assert isinstance(item.outcome, Record)
    assert item.outcome.journal == journal


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


def test_the_identifier_is_the_key_of_the_entry_and_not_its_field_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text("@misc{one, key = {IEEE}, title = {One}}\n@misc{two, key = {IEEE}, title = {Two}}")
    records = [item.outcome for item in read_bibtex(path) if isinstance(item.outcome, Record)]
    assert [(record.docid, record.other) for record in records] == [
        ("one", (("key", "IEEE"),)),
        ("two", (("key", "IEEE"),)),
    ]


@pytest.mark.parametrize("field", ["author", "AUTHOR"])
def test_names_are_separated_outside_braces_and_the_others_are_no_author(tmp_path: Path, field: str) -> None:
    path = tmp_path / "a.bib"
    names = r"van der Berg, Jan and {Institute of Tests and Trials} and M{\"u}ller, \'A. and 홍, 길동 and others"
    path.write_text(f"@misc{{a, title = {{One}}, {field} = {{{names}}}, editor = {{Kim, A. and Lee, B.}}}}")
    (item,) = read_bibtex(path)
    assert isinstance(item.outcome, Record)
    assert item.outcome.authors == (
        "van der Berg, Jan",
        "Institute of Tests and Trials",
        "Müller, Á.",
        "홍, 길동",
    )
    assert item.outcome.other == (("editor", "Kim, A.; Lee, B."),)


def test_one_korean_name_with_a_comma_is_one_author(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text("@misc{a, title = {One}, author = {홍, 길동}}")
    (item,) = read_bibtex(path)
    assert isinstance(item.outcome, Record)
    assert item.outcome.authors == ("홍, 길동",)


def test_a_file_that_is_too_large_to_be_read_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(CorpusError, match="longer than 67108864 bytes"):
        list(read_bibtex(path))
