from __future__ import annotations

import pytest

from shrag.corpora.formats.csl_json import parse_csl
from shrag.corpora.records import Record


def test_a_name_has_all_of_its_parts() -> None:
    names = [
        {"family": "Gogh", "given": "Vincent", "non-dropping-particle": "van"},
        {"family": "Humboldt", "given": "Alexander", "dropping-particle": "von"},
        {"family": "King", "given": "Martin Luther", "suffix": "Jr."},
        {"literal": "World Health Organization"},
        {"family": "Kim", "given": None},
    ]
    assert parse_csl({"id": 1, "title": "A", "author": names}).authors == (
        "van Gogh, Vincent",
        "Humboldt, Alexander von",
        "King, Martin Luther, Jr.",
        "World Health Organization",
        "Kim",
    )


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ({"issued": {"date-parts": [[2020, 3]]}}, 2020),
        ({"issued": {"date-parts": [["1999"], ["2001"]]}}, 1999),
        ({"issued": {"date-parts": [[None]], "raw": "spring 2003"}}, 2003),
        ({"issued": {"date-parts": [], "literal": "2004"}}, 2004),
        ({"issued": {"date-parts": [[]]}}, None),
        ({"issued": "2005-02"}, 2005),
        ({}, None),
    ],
)
def test_the_year_is_that_of_the_date_of_issue(fields: dict[str, object], year: int | None) -> None:
    assert parse_csl({"id": "a", "title": "A", **fields}).year == year


def test_an_item_of_crossref_gives_its_fields() -> None:
    record = parse_csl(
        {
            "id": "a b\tc",
            "type": "article",
            "title": ["One", "Two"],
            "abstract": "<jats:p>Text.</jats:p>",
            "author": ["Kim", {"name": "A group"}, {}],
            "container-title": ["J. One"],
            "publisher": "P",
            "URL": "http://x.y/?a=1&copy=2",
            "keyword": "a, b",
            "DOI": "10.1/x",
            "volume": 3,
            "issue": "4",
            "page": "5-6",
            "ISSN": ["1", "2"],
        }
    )
    assert record == Record(
        docid="a_b_c",
        title="One Two",
        text="Text.",
        language="en",
        complete=True,
        authors=("Kim", "A group"),
        journal="J. One",
        publisher="P",
        link="http://x.y/?a=1&copy=2",
        keywords=("a", "b"),
        doi="10.1/x",
        volume="3",
        issue="4",
        pages="5-6",
        type="article",
        other=(("ISSN", "1; 2"),),
    )
    assert parse_csl({"title": "A", "DOI": "10.1/x", "author": "Kim; Lee"}).docid == "10.1/x"
    assert parse_csl({"id": "", "title": "A"}).docid.startswith("row-")
