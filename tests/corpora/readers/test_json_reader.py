from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers import json_reader
from shrag.corpora.readers.item import SourceItem
from shrag.corpora.readers.json_reader import read_json_array, read_objects

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
OBJECTS = st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(), st.none(), st.lists(TEXTS, max_size=3)), max_size=4)


def items_of(tmp_path: Path, data: bytes) -> list[SourceItem]:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    return list(read_json_array(path))


def test_elements_have_their_number_and_the_line_and_byte_they_begin_at(tmp_path: Path) -> None:
    data = '\ufeff[\n  {"가": 1},\n\n  {"b": [1, {"c": "],}"}]}\n]\n'.encode()
    assert items_of(tmp_path, data) == [
        SourceItem(2, 7, {"가": 1}, 1),
        SourceItem(4, 22, {"b": [1, {"c": "],}"}]}, 2),
    ]
    assert data[22:27] == b'{"b":'


@pytest.mark.parametrize("data", [b"[]", b" [ \n ] \n"])
def test_an_empty_array_has_no_elements(tmp_path: Path, data: bytes) -> None:
    assert items_of(tmp_path, data) == []


def test_what_is_no_object_is_a_reason_that_costs_no_other(tmp_path: Path) -> None:
    found = items_of(tmp_path, b'[{"a":1}, 7, {"b":tru}, "x,y", {"c":1} {"d":1}, , {"e":"\xff"}, {"f":2}]')
    assert [item.fields for item in found if isinstance(item.fields, dict)] == [{"a": 1}, {"f": 2}]
    reasons = [item.fields for item in found if isinstance(item.fields, str)]
    assert [reason.split(":")[0] for reason in reasons] == [f"element {number}" for number in (2, 3, 4, 5, 6, 7)]
    assert "not UTF-8" in reasons[-1]


def test_a_comma_behind_the_last_element_is_a_reason(tmp_path: Path) -> None:
    one, nothing = items_of(tmp_path, b'[{"a": 1}, ]')
    assert one.fields == {"a": 1}
    assert str(nothing.fields).startswith("element 2:")


def test_an_array_that_breaks_off_is_an_error_that_says_where(tmp_path: Path) -> None:
    for data in (b'[{"a": 1}, {"b"', b'[{"a": 1}, "x]', b'[{"a": 1},'):
        with pytest.raises(CorpusError, match="breaks off after element 1"):
            items_of(tmp_path, data)


def test_what_follows_the_array_is_an_error_that_says_where(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="more after the end of its JSON array, at byte 11"):
        items_of(tmp_path, b'[{"a": 1}] {"b": 2}')


def test_an_element_beyond_the_limit_is_a_reason_and_the_next_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "LONGEST_LINE", 100)
    monkeypatch.setattr(json_reader, "_CHUNK", 16)
    data = b'[{"a": "' + b'x\\",' * 100 + b'"},\n{"b": 1}]'
    too_long, fits = items_of(tmp_path, data)
    assert (too_long.number, too_long.offset) == (1, 1)
    assert str(too_long.fields).startswith("element 1: longer than")
    assert fits == SourceItem(2, data.index(b'{"b"'), {"b": 1}, 2)


@pytest.mark.parametrize("chunk", [1, 7, 1_000])
def test_an_element_may_be_as_long_as_the_limit(tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "LONGEST_LINE", 30)
    monkeypatch.setattr(json_reader, "_CHUNK", chunk)
    fits, long = b'{"a": "' + b"x" * 21 + b'"}', b'{"a": "' + b"x" * 22 + b'"}'
    found = [item.fields for item in items_of(tmp_path, b"[" + fits + b"," + long + b"," + fits + b"]")]
    assert [isinstance(fields, dict) for fields in found] == [True, False, True]


@pytest.mark.parametrize("data", ['[\n{"a": 1}\n]', '\ufeff[\n\n  {"a": 1}]', ' \t[ {"a": 1}\n]'])
def test_an_array_may_begin_on_a_line_of_its_own(tmp_path: Path, data: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(data)
    assert [item.fields for item in read_objects(path)] == [{"a": 1}]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    objects=st.lists(OBJECTS, max_size=8),
    chunk=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
    raw=st.booleans(),
)
def test_any_array_is_cut_into_its_elements_wherever_the_chunks_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    objects: list[dict[str, object]],
    chunk: int,
    indent: int,
    raw: bool,
) -> None:
    monkeypatch.setattr(json_reader, "_CHUNK", chunk)
    data = json.dumps(objects, indent=indent, ensure_ascii=raw).encode()
    found = items_of(tmp_path, data)
    assert [item.fields for item in found] == objects
    assert all(data[item.offset :].startswith(b"{") for item in found)
    assert all(data[: item.offset].count(b"\n") == item.number - 1 for item in found)


@pytest.mark.parametrize(
    "data",
    [
        '{"records": [{"가": 1}, {"b": 2}]}',
        '\ufeff {"total": 2, "message": "정상 \\"처리\\"",\n "items":[ {"가": 1},{"b": 2} ], "facets": {"x": [1]}}\n',
        '{"code": "00", "data": [{"가": 1}, {"b": 2}], "ok": true}',
        '{"meta": {"count": 2, "이름": ["값"]}, "results": [{"가": 1}, {"b": 2}], "group_by": []}',
        '{"status": "ok", "message": {"이름": [2],\n "items": [{"가": 1}, {"b": 2}], "n": {"a": 1}}}',
        '{"responseHeader": {"status": 0}, "response": {"docs": [{"가": 1}, {"b": 2}]}, "facets": {"x": []}}\n',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
def test_an_array_in_an_object_is_read_as_one_alone(
    tmp_path: Path, data: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes((data if encoding == "utf-8" else data.removeprefix("\ufeff")).encode(encoding))
    for size in (1_000, 3):
        monkeypatch.setattr(json_reader, "_CHUNK", size)
        assert [item.fields for item in read_objects(path)] == [{"가": 1}, {"b": 2}]


def test_a_record_with_a_list_of_objects_is_one_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": "a", "title": "t", "references": [{"b": 1}]}\n{"sections": [{"heading": "h", "text": "t"}]}\n'
    )
    assert [sorted(item.fields) for item in read_objects(path) if isinstance(item.fields, dict)] == [
        ["id", "references", "title"], ["sections"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        '{"paper_id": "P", "abstract": "a", "references": [{"id": "r1"}, {"id": "r2"}], "title": "t"}',
        '{"data": [{"b": 1}], "title": "t"}',
        '{"meta": {"title": "t"}, "data": [{"b": 1}]}',
        '{"items": [{"b": 1}], "results": [{"c": 1}]}',
        '{"total": 0, "records": []}',
    ],
)
def test_an_object_that_is_a_record_or_has_no_single_array_of_records_is_read_as_it_is(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{line}\n{line}\n")
    assert [item.fields for item in read_objects(path)] == [json.loads(line)] * 2


@pytest.mark.parametrize(
    "before", ['{"total": 2, ', '{"meta": {"count": 2}, ', '{"status": "ok", "message": {"facets": {}, ']
)
def test_an_array_in_an_object_beyond_the_limit_is_found_by_the_beginning(
    tmp_path: Path, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "LONGEST_LINE", 90)
    path = tmp_path / "a.json"
    path.write_text(f'{before}"items": [{{"a": 1}}, {{"b": "{"x" * 60}"}}]}}{"}" if "message" in before else ""}')
    assert [item.fields for item in read_objects(path)] == [{"a": 1}, {"b": "x" * 60}]


@pytest.mark.parametrize(("size", "whole"), [(50, True), (51, False)])
def test_what_follows_an_array_in_an_object_is_bounded(
    tmp_path: Path, size: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "LONGEST_LINE", 50)
    path = tmp_path / "a.json"
    path.write_text(f'{{"records": [{{"a": 1}}, {{"b": 2}}], "x": "{"y" * (size - 10)}"}}')
    assert len(path.read_text().partition("]")[2]) == size
    if whole:
        assert len(list(read_objects(path))) == 2
    else:
        with pytest.raises(CorpusError, match="has more after the end of its JSON array, at byte 32:"):
            list(read_objects(path))


@pytest.mark.parametrize("rest", ["", "}}", ", {}}", '}\n{"records": []}', ', "more": [}'])
def test_an_object_around_an_array_that_does_not_end_as_one_is_an_error_that_says_where(
    tmp_path: Path, rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"records":\n[{{"a": 1}}]{rest}')
    for size in (1_000, 3):
        monkeypatch.setattr(json_reader, "_CHUNK", size)
        with pytest.raises(CorpusError, match="has more after the end of its JSON array, at byte 22:"):
            list(read_objects(path))


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ('{"records": [{"a": 1}], "records": [{"a": 2}]}', "records"),
        ('{"total": 2, "records": [], "total": 1, "items": [{"a": 1}]}\n', "total"),
        ('\ufeff{"items": [], "제목들": [],\n "제목들": 1, "items": [{"a": 1}]}', "items"),
        ('{"message": {"n": 1}, "message": {"items": [{"a": 1}]}}', "message"),
        ('{"message": {"items": [{"a": 1}], "n": 1, "n": 2}}', "n"),
    ],
)
def test_a_repeated_key_around_an_array_is_a_reason_beside_its_elements(tmp_path: Path, data: str, key: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(data)
    *elements, reason = read_objects(path)
    assert len(elements) == 1
    assert (reason.number, reason.offset) == (1, 0)
    assert reason.fields == f"the key {key!r} occurs more than once in an object: keep one"
