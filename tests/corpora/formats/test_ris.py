from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.formats import ris
from shrag.corpora.formats.ris import read_ris
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Record


def test_titles_and_abstracts_of_repeated_tags_are_joined_and_of_other_fields_the_first_is_taken(
    tmp_path: Path,
) -> None:
    tags = (
        "TY JOUR|ID a|ID b|TI One|TI 둘|AB First.|AB 둘째.|AU Kim|AU Lee|T2 J. One|T2 J. Two|PY 2020|PY 2021|SP 1|SP 3"
        "|EP 9|DO 10.1/a|DO 10.1/b|UR http://a|UR http://b|KW x|KW y|SN 1|SN 2|XX u|XX v|ER "
    )
    path = tmp_path / "a.ris"
    path.write_text("".join(f"{line[:2]}  - {line[3:]}\n" for line in tags.split("|")))
    (item,) = read_ris(path)
    assert item.outcome == Record(
        docid="a",
        title="One 둘",
        text="First. 둘째.",
        language="ko",
        complete=True,
        authors=("Kim", "Lee"),
        journal="J. One",
        year=2020,
        link="http://a",
        keywords=("x", "y"),
        doi="10.1/a",
        pages="1-9",
        type="article-journal",
        other=(("issn", "1; 2"), ("XX", "u; v")),
    )


def _items(tmp_path: Path, text: str | bytes) -> list[ParsedItem]:
    path = tmp_path / "a.ris"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_ris(path))


def test_each_reference_has_its_place_and_text_outside_of_them_is_a_reject(tmp_path: Path) -> None:
    text = (
        "\nTY  - BOOK\nTI  - A\nER  - \n \nER  - \nloose\nTY  - JOUR\nTI  - B\nTY  - JOUR\nTI  - C\nER  -\nTY  - GEN\n"
    )
    assert [
        (item.number, item.offset, item.outcome.title if isinstance(item.outcome, Record) else item.outcome)
        for item in _items(tmp_path, text)
    ] == [
        (2, 1, "A"),
        (6, text.index("ER  - \nloose"), "text outside TY … ER"),
        (7, text.index("loose"), "text outside TY … ER"),
        (8, text.index("TY  - JOUR"), "the reference is not closed by ER"),
        (10, text.rindex("TY  - JOUR"), "C"),
        (13, text.index("TY  - GEN"), "the reference is not closed by ER"),
    ]


@pytest.mark.parametrize(
    ("tags", "record"),
    [
        (
            "T1  - A|N2  - B|JO  - J|Y1  - 1999//|A1  - Kim|AN  - 7",
            {"title": "A", "text": "B", "journal": "J", "year": 1999, "authors": ("Kim",), "docid": "7"},
        ),
        ("TI - A|AB  -B|TI  - |SP  - 5", {"title": "A", "pages": "5"}),
        ("TI  - A|SP  - 5|EP  - 5", {"pages": "5"}),
        ("TI  - A|EP  - 9", {"pages": "9"}),
        ("TI  - A|AB  - One|  two|", {"text": "One two", "complete": True}),
        ("TI  - A|AB  - 없음", {"text": "", "complete": False}),
        (
            "TI  - A|DO  - doi:10.1/x|PY  - in press",
            {"docid": "10.1/x", "year": None, "other": (("year", "in press"),)},
        ),
        ("TI  - A|J2  - Abbr.|JF  - Full|T3  - Series", {"journal": "Full"}),
        ("TI  - A|T3  - Series|JA  - Abbr.", {"journal": "Abbr."}),
        ("TI  - A|T3  - Series", {"journal": "Series"}),
    ],
)
def test_a_field_is_read_from_the_best_of_its_tags(tmp_path: Path, tags: str, record: dict[str, object]) -> None:
    (item,) = _items(tmp_path, "TY  - JOUR\n" + tags.replace("|", "\n") + "\nER  - \n")
    assert isinstance(item.outcome, Record)
    assert {name: getattr(item.outcome, name) for name in record} == record


def test_a_reference_beyond_the_limit_or_in_another_encoding_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ris, "LONGEST_LINE", 60)
    head, end = b"TY  - JOUR\nTI  - ", b"\nER  - \n"  # of the reference, 10 + 6 + 6 characters count
    fits, longer = head + b"x" * 38 + end, head + b"x" * 39 + end
    many = head + b"x\n" + b"AB  - y\n" * 9 + end
    found = _items(tmp_path, fits + longer + many + head + b"\xb0\xff" + end + fits)
    assert [item.outcome.title if isinstance(item.outcome, Record) else item.outcome for item in found] == [
        "x" * 38,
        "longer than 60 bytes",
        "longer than 60 bytes",
        "neither UTF-8 nor CP949",
        "x" * 38,
    ]
