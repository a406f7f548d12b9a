from __future__ import annotations

import pytest

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.fields import (
    bibliography,
    doi_field,
    has_unread_year,
    other_fields,
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
