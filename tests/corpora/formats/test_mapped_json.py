from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.mapped_json import JsonlKeys, find_value, parse_mapped
from shrag.corpora.formats.registry import jsonl_format
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Record

NESTED = {
    "doi": "10.1/x",
    "meta": {"title": "그래핀", "date": {"year": 2020}},
    "abstract": ["첫째이다.", "둘째이다."],
    "sections": [{"text": "셋째이다."}, {"none": 1}, {"text": ["넷째이다."]}],
    "authors": [{"name": "홍길동"}, {"name": "Kim, A."}],
    "topics": ["차폐", "그래핀"],
    "a.b": "dotted",
}
KEYS = JsonlKeys(
    id="doi",
    title="meta.title",
    text=("abstract", "sections.text"),
    author="authors.name",
    year="meta.date.year",
    journal="a.b",
    keyword="topics",
)


def read(tmp_path: Path, objects: list[object], keys: JsonlKeys) -> list[ParsedItem]:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(found) + "\n" for found in objects))
    return list(read_source(path, jsonl_format(keys)))


def test_paths_lead_into_objects_and_through_lists(tmp_path: Path) -> None:
    (line,) = read(tmp_path, [NESTED], KEYS)
    assert line.outcome == Record(
        docid="10.1/x",
        title="그래핀",
        text="첫째이다. 둘째이다. 셋째이다. 넷째이다.",
        language="ko",
        complete=True,
        authors=("홍길동", "Kim, A."),
        journal="dotted",
        year=2020,
        keywords=("차폐", "그래핀"),
    )


def test_plain_names_are_the_default() -> None:
    record = parse_mapped({"id": 7, "title": "T", "text": "a b", "author": "A;B", "link": ["x", "y"]}, JsonlKeys())
    assert (record.docid, record.title, record.authors, record.link) == ("7", "T", ("A", "B"), "x")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("meta.title", "그래핀"),
        ("meta.none", None),
        ("none.title", None),
        ("doi.x", None),
        ("", None),
        ("a.b", "dotted"),
    ],
)
def test_what_a_path_finds(path: str, value: object) -> None:
    assert find_value(NESTED, path) == value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"doi": None},
            "no identifier: 'doi' is missing or empty; name the key with --id-key, this object has doi, meta",
        ),
        ({"abstract": {"en": "a"}}, r"'abstract' is an object, expected text: name a key in it \(abstract.en\)"),
        ({"meta": {}, "abstract": "", "sections": []}, r"neither a title \('meta.title'\) nor a text \(abstract, sec"),
    ],
)
def test_what_is_missing_is_said_with_the_option_that_helps(change: dict[str, object], reason: str) -> None:
    with pytest.raises(RejectedLine, match=reason):
        parse_mapped({**NESTED, **change}, KEYS)


def test_a_key_that_no_record_has_is_an_error_and_not_a_lost_field(tmp_path: Path) -> None:
    objects: list[object] = [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]
    with pytest.raises(CorpusError, match="has 'titel' in none of its 2 records: their keys are id, text"):
        read(tmp_path, objects, JsonlKeys(title="titel"))
    assert len(read(tmp_path, objects, JsonlKeys(title=""))) == 2
