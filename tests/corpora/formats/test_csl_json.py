from __future__ import annotations

from shrag.corpora.formats.csl_json import parse_csl


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
