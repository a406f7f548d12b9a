from __future__ import annotations

import pytest

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.fields import (
    bibliography,
    docid_field,
    doi_field,
    has_unread_year,
    link_field,
    list_field,
    other_fields,
    text_field,
    with_unread_year,
    year_field,
)


@pytest.mark.parametrize(
    ("raw", "doi"),
    [
        ("10.1234/abc.5", "10.1234/abc.5"),
        ("https://doi.org/10.1000.10/123(4)", "10.1000.10/123(4)"),
        ("doi: 10.1/X", "10.1/X"),
        ("not yet", ""),
        (None, ""),
        ("10." * 200_000, ""),
        ("10.1.2.3.4/x", "10.1.2.3.4/x"),
        ("10.1.2.3.4.5/x", ""),
        ("10.1234567890/x", ""),
        ("10.1/" + "x" * 400, "10.1/" + "x" * 300),
        ("10.1/a b", "10.1/a"),
    ],
)
def test_a_doi_has_no_address_in_front(raw: object, doi: str) -> None:
    assert doi_field({"doi": raw}, "doi") == doi


@pytest.mark.parametrize(
    ("raw", "year"),
    [
        (1500, 1500),
        ("2099", 2099),
        ("1499 2100", None),
        ("c2020.", 2020),
        ("제3호(1998-2001)", 1998),
        ("20210304", 2021),
        ("발행일 20211231호", 2021),
        ("20211301", None),
        ("20210232", None),
        ("20210400", None),
        ("202103", None),
        ("120210304", None),
        ("202103041", None),
        (True, "reject"),
    ],
)
def test_a_year_is_a_number_of_four_digits_or_the_beginning_of_a_date(raw: object, year: int | str | None) -> None:
    if year == "reject":
        with pytest.raises(RejectedLine, match="'year' is true or false, expected text"):
            year_field({"year": raw}, "year")
    else:
        assert year_field({"year": raw}, "year") == year


def test_a_year_that_cannot_be_read_stands_before_the_other_fields_as_written() -> None:
    other = tuple((f"name {number}", "value") for number in range(50))
    found = with_unread_year(other, {"year": " 20l9\n"}, None)
    assert found == (("year", "20l9"), *other[:49])
    assert has_unread_year(found)
    for fields, year in (({"year": "2019"}, 2019), ({"year": "없음"}, None), ({}, None)):
        assert with_unread_year(other, fields, year) == other
    assert len(with_unread_year((), {"year": "x" * 2_000}, None)[0][1]) == 1_000
    assert not has_unread_year(())
    assert not has_unread_year((("year", "2020"),))  # of a format that leaves years to the further fields
    assert not has_unread_year((("volume", "x"), ("year", "20l9")))


@pytest.mark.parametrize(
    ("raw", "text"),
    [(None, ""), (7, "7"), (0.5, "0.5"), (" a <b>b</b>\n", "a b"), ("no abstract", ""), ("N/A", ""), ("", "")],
)
def test_a_text_is_clean_and_a_number_is_a_text(raw: object, text: str) -> None:
    assert text_field({"a": raw}, "a") == text
    assert text_field({}, "a") == ""


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(["a"], "a list"), ({"a": 1}, "an object"), (True, "true or false"), (b"a", "bytes")],
)
def test_a_value_of_another_type_is_rejected_with_its_name(raw: object, kind: str) -> None:
    for read in (text_field, link_field, docid_field, year_field):
        with pytest.raises(RejectedLine, match=f"'a' is {kind}, expected text"):
            read({"a": raw}, "a")


def test_identifiers_are_normalized_bounded_and_without_blanks() -> None:
    assert docid_field({"a": " e\u0301 "}, "a") == "\u00e9"
    assert docid_field({"a": 7}, "a") == "7"
    assert docid_field({"a": "x" * 512}, "a") == "x" * 512
    for raw, reason in (
        ("x" * 513, "has 513 characters, at most 512 are allowed"),
        ("a b", "has whitespace or control characters"),
        ("a\u00a0b", "has whitespace or control characters"),
        ("a\u200bb", "has whitespace or control characters"),
        (" ", "no identifier: 'a' is missing or empty"),
    ):
        with pytest.raises(RejectedLine, match=reason):
            docid_field({"a": raw}, "a")


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ("a; b;;c;", ("a", "b", "c")),
        ("a, b", ("a, b",)),
        ("R&amp;D; x", ("R&D", "x")),
        ("a;없음;b", ("a", "b")),
        (["a;b", " c ", "", 7], ("a;b", "c", "7")),
        ([], ()),
        (None, ()),
        (2020, ("2020",)),
    ],
)
def test_a_list_is_cut_at_semicolons_after_it_was_cleaned(raw: object, parts: tuple[str, ...]) -> None:
    assert list_field({"a": raw}, "a") == parts


def test_keywords_are_cut_at_the_first_separator_and_stand_once() -> None:
    cut = {"a, b/c": ("a", "b/c"), "a/b . c": ("a", "b . c"), "a . b.c": ("a", "b.c"), "b;a;b": ("b", "a")}
    for raw, keywords in cut.items():
        assert bibliography({"keyword": raw})["keywords"] == keywords


def test_the_link_of_a_bibliography_keeps_its_parameters() -> None:
    assert bibliography({"link": "http://x.y/?a=1&timestamp=3"})["link"] == "http://x.y/?a=1&timestamp=3"
    assert bibliography({"link": "없음"})["link"] == ""


def test_other_fields_stay_as_they_came_on_one_line() -> None:
    fields: dict[str, object] = {
        "CN": "1",
        "ISSN": " 1234-5678\n",
        "empty": "",
        " ": "a column of row numbers",
        "none": None,
        "subjects": ["화학", "", "Physics"],
        "nested": {"a": [1, {"b": True}]},
        "number": 3.5,
        "markup": "<b>x</b> &amp; y",
    }
    assert other_fields(fields, {"CN"}) == (
        ("ISSN", "1234-5678"),
        ("subjects", "화학; Physics"),
        ("nested", '{"a":[1,{"b":true}]}'),
        ("number", "3.5"),
        ("markup", "<b>x</b> &amp; y"),
    )


def test_other_fields_are_bounded_in_number_and_length() -> None:
    found = other_fields({f"name {number} " + "n" * 200: "v" * 2_000 for number in range(60)}, ())
    assert len(found) == 50
    assert {(len(name), len(value)) for name, value in found} == {(100, 1_000)}
    assert found[0][0].endswith("…")
    assert found[0][1].endswith("…")
