from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latex2text import LatexNodes2Text

from shrag.corpora.records import PAGE, Record
from shrag.serving.references.bibtex import escape_tex
from shrag.serving.references.fields import reference_line
from shrag.serving.references.formats import write_references
from shrag.serving.references.highwire import highwire_tags

KOREAN = Record(
    "NART#12;3",
    "재택근무의 50% 효과 & {U자형} \\alpha_1",
    "초록이다.",
    "ko",
    complete=True,
    authors=("피서윤", "Ferrand, Maddox", "Sand and Sons"),
    journal="일과 삶 연구",
    publisher="한국학회",
    year=2024,
    link="http://x.y/a_b?c=1&d=~e",
    keywords=("재택근무", "a,b"),
)


def test_a_record_as_bibtex_has_every_special_character_escaped_and_korean_as_it_is() -> None:
    assert write_references([KOREAN], "bibtex") == (
        "@article{NART-12-3,\n"
        "  author = {피서윤 and Ferrand, Maddox and {Sand and Sons}},\n"
        "  title = {{재택근무의 50\\% 효과 \\& \\textbraceleft{}U자형\\textbraceright{} \\textbackslash{}alpha\\_1}},\n"
        "  journal = {일과 삶 연구},\n"
        "  year = {2024},\n"
        "  publisher = {한국학회},\n"
        "  url = {http://x.y/a_b?c=1&d=~e},\n"
        "  keywords = {재택근무, a,b},\n"
        "  note = {NART\\#12;3},\n"
        "}\n\n"
    )


def test_an_address_is_verbatim_in_bibtex_and_has_no_sign_that_ends_its_field() -> None:
    link = "http://x.y/검색?a=50%25&b_c={d}\\e f#g"
    written = write_references([replace(KOREAN, link=link)], "bibtex")
    assert "  url = {http://x.y/%EA%B2%80%EC%83%89?a=50%25&b_c=%7Bd%7D%5Ce%20f#g},\n" in written


def test_a_record_as_ris_has_a_line_for_each_field() -> None:
    assert write_references([KOREAN], "ris") == (
        "TY  - JOUR\nAU  - 피서윤\nAU  - Ferrand, Maddox\nAU  - Sand and Sons\n"
        "TI  - 재택근무의 50% 효과 & {U자형} \\alpha_1\nJO  - 일과 삶 연구\nPY  - 2024\nPB  - 한국학회\n"
        "UR  - http://x.y/a_b?c=1&d=~e\nAB  - 초록이다.\nKW  - 재택근무\nKW  - a,b\nLA  - ko\nID  - NART#12;3\n"
        "ER  - \n\n"
    )


FULL = replace(
    KOREAN,
    title="=HYPERLINK(1)",
    volume="12",
    issue="3",
    pages="45–67",
    doi="10.5555/a_b",
    type="paper-conference",
)


def test_volume_issue_pages_doi_and_type_are_exported() -> None:
    bibtex, ris = write_references([FULL], "bibtex"), write_references([FULL], "ris")
    assert bibtex.startswith("@inproceedings{NART-12-3,\n")
    for line in (
        "booktitle = {일과 삶 연구}",
        "volume = {12}",
        "number = {3}",
        "pages = {45--67}",
        "doi = {10.5555/a_b}",
    ):
        assert f"  {line},\n" in bibtex
    assert ris.startswith("TY  - CONF\n")
    assert "VL  - 12\nIS  - 3\nSP  - 45\nEP  - 67\n" in ris
    assert "DO  - 10.5555/a_b\n" in ris


@pytest.mark.parametrize(
    ("type_", "csl", "bibtex", "ris", "journal", "publisher", "tag"),
    [
        ("", "article-journal", "article", "JOUR", "journal", "publisher", "journal_title"),
        ("article-journal", "article-journal", "article", "JOUR", "journal", "publisher", "journal_title"),
        ("paper-conference", "paper-conference", "inproceedings", "CONF", "booktitle", "publisher", "conference_title"),
        ("chapter", "chapter", "incollection", "CHAP", "booktitle", "publisher", "inbook_title"),
        ("book", "book", "book", "BOOK", "journal", "publisher", "journal_title"),
        ("thesis", "thesis", "phdthesis", "THES", "journal", "school", "dissertation_institution"),
        ("report", "report", "techreport", "RPRT", "journal", "institution", "technical_report_institution"),
        ("patent", "patent", "misc", "PAT", "journal", "publisher", "journal_title"),
        ("dataset", "dataset", "misc", "DATA", "journal", "publisher", "journal_title"),
    ],
)
def test_each_type_has_the_names_of_its_format_and_its_own_fields_for_container_and_publisher(
    type_: str, csl: str, bibtex: str, ris: str, journal: str, publisher: str, tag: str
) -> None:
    record = replace(FULL, type=type_, journal="J", publisher="P")
    entry = write_references([record], "bibtex")
    assert entry.startswith(f"@{bibtex}{{")
    assert f"\n  {journal} = {{J}},\n" in entry
    assert f"\n  {publisher} = {{P}},\n" in entry
    lines = write_references([record], "ris").splitlines()
    assert lines[0] == f"TY  - {ris}"
    # Zotero and EndNote read the book of a chapter and the proceedings of a paper from T2.
    assert [line for line in lines if line.endswith(" J")] == ["JO  - J" if ris == "JOUR" else "T2  - J"]
    assert json.loads(write_references([record], "csl-json"))[0]["type"] == csl
    assert (f"citation_{tag}", "J") in highwire_tags(record)


def test_csl_has_names_in_parts_where_a_comma_divides_them() -> None:
    (item, bare) = json.loads(write_references([FULL, Record("문서", "", "text", "und", complete=False)], "csl"))
    assert item == {
        "id": "NART#12;3",
        "type": "paper-conference",
        "title": "=HYPERLINK(1)",
        "container-title": "일과 삶 연구",
        "publisher": "한국학회",
        "volume": "12",
        "issue": "3",
        "page": "45–67",
        "DOI": "10.5555/a_b",
        "URL": "http://x.y/a_b?c=1&d=~e",
        "abstract": "초록이다.",
        "language": "ko",
        "keyword": "재택근무, a,b",
        "author": [{"literal": "피서윤"}, {"family": "Ferrand", "given": "Maddox"}, {"literal": "Sand and Sons"}],
        "issued": {"date-parts": [[2024]]},
    }
    assert bare == {"id": "문서", "type": "document", "title": "문서", "abstract": "text"}
    assert json.loads(write_references([], "csl")) == []


def test_a_table_opens_in_a_spreadsheet_and_no_value_is_a_formula() -> None:
    text = write_references([FULL, replace(FULL, title="+1", journal='a "b",\nc', year=None)], "csv")
    assert text.startswith("\ufeffdocid,title,")
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    assert [row["title"] for row in rows] == ["'=HYPERLINK(1)", "'+1"]
    assert rows[0]["authors"] == "피서윤; Ferrand, Maddox; Sand and Sons"
    assert (rows[1]["journal"], rows[1]["year"]) == ('a "b", c', "")
    assert rows[0]["text"] == "초록이다."


def test_a_table_has_a_column_for_each_field_in_this_order() -> None:
    header, row = csv.reader(io.StringIO(write_references([FULL], "csv").removeprefix("\ufeff"), newline=""))
    assert list(zip(header, row, strict=True)) == [
        ("docid", "NART#12;3"),
        ("title", "'=HYPERLINK(1)"),
        ("authors", "피서윤; Ferrand, Maddox; Sand and Sons"),
        ("year", "2024"),
        ("journal", "일과 삶 연구"),
        ("volume", "12"),
        ("issue", "3"),
        ("pages", "45–67"),
        ("publisher", "한국학회"),
        ("type", "paper-conference"),
        ("language", "ko"),
        ("doi", "10.5555/a_b"),
        ("link", "http://x.y/a_b?c=1&d=~e"),
        ("keywords", "재택근무; a,b"),
        ("text", "초록이다."),
    ]


def test_the_tags_of_a_page_are_these_in_this_order() -> None:
    assert highwire_tags(FULL) == [
        ("citation_title", "=HYPERLINK(1)"),
        ("citation_author", "피서윤"),
        ("citation_author", "Ferrand, Maddox"),
        ("citation_author", "Sand and Sons"),
        ("citation_publication_date", "2024"),
        ("citation_conference_title", "일과 삶 연구"),
        ("citation_volume", "12"),
        ("citation_issue", "3"),
        ("citation_firstpage", "45"),
        ("citation_lastpage", "67"),
        ("citation_doi", "10.5555/a_b"),
        ("citation_publisher", "한국학회"),
        ("citation_language", "ko"),
        ("citation_keywords", "재택근무; a,b"),
        ("citation_abstract", "초록이다."),
    ]


def test_a_page_has_at_most_100_authors_and_5000_characters_of_a_value() -> None:
    tags = highwire_tags(replace(FULL, authors=tuple(f"A{number}" for number in range(101)), text="x" * 5_001))
    assert [value for name, value in tags if name == "citation_author"] == [f"A{number}" for number in range(100)]
    assert dict(tags)["citation_abstract"] == "x" * 5_000


def test_a_value_is_one_line_without_what_cannot_be_seen() -> None:
    record = replace(
        FULL, title="a\u200bb\u0007c\u2028d\u2029e \u00ad f\ud800", authors=("Kim,", "Lee, ", ", Ann", "A, B, C")
    )
    (item,) = json.loads(write_references([record], "csl"))
    assert item["title"] == "ab c d e f"
    assert item["author"] == [
        {"literal": "Kim,"},
        {"literal": "Lee,"},
        {"family": "", "given": "Ann"},
        {"family": "A", "given": "B, C"},
    ]


def test_a_line_names_the_page_of_a_passage_and_has_one_stop_between_parts() -> None:
    record = replace(KOREAN, authors=("Ann B.",), title="What is it? No.", journal="J.", other=((PAGE, "12"),))
    assert reference_line(record) == "Ann B. (2024). What is it? No. J. p. 12. NART#12;3"
    assert reference_line(replace(record, other=((PAGE, "12-13"),))).endswith(" J. pp. 12-13. NART#12;3")
    assert reference_line(replace(record, year=None, other=())) == "Ann B. What is it? No. J. NART#12;3"


def test_the_tags_of_a_page_have_a_line_for_each_author_and_none_that_is_empty() -> None:
    tags = highwire_tags(FULL)
    assert [value for name, value in tags if name == "citation_author"] == list(FULL.authors)
    named = dict(tags)
    assert (named["citation_conference_title"], named["citation_firstpage"], named["citation_lastpage"]) == (
        "일과 삶 연구",
        "45",
        "67",
    )
    assert named["citation_doi"] == "10.5555/a_b"
    assert highwire_tags(Record("문서", "", "", "und", complete=False)) == [("citation_title", "문서")]


def test_what_a_record_does_not_have_is_left_out() -> None:
    bare = Record("문서", "", "text", "und", complete=False)
    assert write_references([bare, bare], "bibtex") == (
        "@misc{record,\n  title = {{문서}},\n  note = {문서},\n}\n\n"
        "@misc{record-2,\n  title = {{문서}},\n  note = {문서},\n}\n\n"
    )
    assert write_references([bare], "ris") == "TY  - GEN\nTI  - 문서\nAB  - text\nID  - 문서\nER  - \n\n"
    assert write_references([], "bibtex") == write_references([], "ris") == ""
    assert reference_line(bare) == "문서"
    assert reference_line(KOREAN) == (
        "피서윤, Ferrand, Maddox, Sand and Sons (2024). "
        "재택근무의 50% 효과 & {U자형} \\alpha_1. 일과 삶 연구. NART#12;3"
    )


def test_records_of_one_key_are_numbered_from_2() -> None:
    entries = write_references([Record(docid, "", "text", "und", complete=False) for docid in "가나다"], "bibtex")
    assert re.findall(r"@misc\{(.*),", entries) == ["record", "record-2", "record-3"]


def test_keys_that_differ_only_in_case_are_numbered_too() -> None:
    records = [Record(docid, "", "text", "und", complete=False) for docid in ("ABC-9", "abc-9", "Abc-9-2")]
    assert re.findall(r"@misc\{(.*),", write_references(records, "bibtex")) == ["ABC-9", "abc-9-2", "Abc-9-2-2"]


@pytest.mark.parametrize(
    ("pages", "first", "last", "tex"),
    [
        ("123001-1–123001-4", "123001-1", "123001-4", "123001-1--123001-4"),
        ("12-1 ~ 12-23", "12-1", "12-23", "12-1--12-23"),
        ("3-1-3-12", "3-1", "3-12", "3-1--3-12"),
        ("S-12-S-20", "S-12", "S-20", "S-12--S-20"),
        ("12 - 34", "12", "34", "12--34"),
        ("12--34", "12", "34", "12--34"),
        ("12−34", "12", "34", "12--34"),
        ("12‐34", "12", "34", "12--34"),
        ("123～130", "123", "130", "123--130"),
        ("i–ix", "i", "ix", "i--ix"),
        ("e-1234", "e-1234", "", "e-1234"),
        ("12-3-4", "12-3-4", "", "12-3-4"),
        ("12-", "12-", "", "12-"),
        ("1-5, 8–10, 12", "1-5, 8–10, 12", "", "1--5, 8--10, 12"),
    ],
)
def test_the_first_and_the_last_page_are_told_apart_though_pages_have_hyphens(
    pages: str, first: str, last: str, tex: str
) -> None:
    record = replace(FULL, pages=pages)
    ris = write_references([record], "ris")
    assert f"SP  - {first}\n" + (f"EP  - {last}\n" if last else "PB") in ris
    assert f"  pages = {{{tex}}},\n" in write_references([record], "bibtex")
    assert dict(highwire_tags(record)).get("citation_lastpage", "") == last


def test_a_doi_stands_as_it_is_and_cannot_end_its_field() -> None:
    doi = "10.1002/(SICI)1097-4636(1998)43:4<338::AID-JBM16>3.0.CO;2-#"
    written = write_references([replace(FULL, doi=doi), replace(FULL, doi="10.1/a}, note = {\\x")], "bibtex")
    assert f"  doi = {{{doi}}},\n" in written
    assert "  doi = {10.1/a%7D, note = %7B%5Cx},\n" in written


def test_no_field_can_begin_another_one() -> None:
    evil = replace(
        KOREAN,
        title="t\r\nER  - \nTY  - BOOK}\n}@book{x, title={y",
        authors=("a\nAU  - b", "c} , note = {d"),
        journal="j\u2028PY  - 1",
    )
    ris = write_references([evil], "ris")
    assert [line[:6] for line in ris.splitlines()].count("ER  - ") == 1
    assert ris.count("\nAU  - ") == 2
    assert "\nPY  - 1\n" not in ris
    bibtex = write_references([evil], "bibtex")
    assert len(re.findall(r"^@", bibtex, re.MULTILINE)) == 1
    assert [line.partition(" = ")[0].strip() for line in bibtex.splitlines()[1:-2]] == [
        "author", "title", "journal", "year", "publisher", "url", "keywords", "note",
    ]  # fmt: skip


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")) | st.just(" ")))
def test_tex_gives_back_the_line_it_was_made_of_and_its_braces_balance(text: str) -> None:
    line = " ".join(text.split())
    escaped = escape_tex(line)
    assert escaped.count("{") == escaped.count("}")
    assert not re.search(r"(?<!\\)[$&#%_~^]", escaped)
    # pylatexenc does not know the commands for braces, and reads the two accents as letters of their own. Of the signs
    # left out TeX makes others where two meet.
    known = escaped.replace(r"\textbraceleft{}", r"\{").replace(r"\textbraceright{}", r"\}")
    signs, accents = re.compile(r"[`'\"<>?!-]"), str.maketrans("ˆ˜", "^~")
    read = LatexNodes2Text(strict_latex_spaces=True).latex_to_text(signs.sub("", known))
    assert read.translate(accents) == signs.sub("", line).translate(accents)
