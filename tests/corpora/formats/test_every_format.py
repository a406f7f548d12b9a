"""Properties of every format, for any bytes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import FORMATS
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import clean_text

QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
MARKS = [
    *b"""[ ] { } " , : \\ < > &lt; &amp;amp; <DOC> </DOC> <DOCNO> </DOCNO> <TEXT> <record> </record> </item> <![CDATA[
    ]]> <x> </x> %PDF-1.7 "CN" "docid" "_id" "id" "text" "paper_id" "sections" a 1 null \\ud800 <TEX> </TEX> References
    """.split(),
    *(b"\n", b"\r\n", b" ", b'<item metaCode="CN">', b"CN,title\n", b"# ", b"<!DOCTYPE x>"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b", b"\x00", b"\xb0\xa1", "가".encode()),
]
NOISE = st.lists(st.one_of(st.sampled_from(MARKS), st.binary(max_size=6)), max_size=40).map(b"".join)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(data=NOISE)
@example(data=b"")
@example(data=b"[" * 100_000)
@example(data=b'[{"a":' * 50_000)
@example(data=b'{"CN": "1", "title": ' + b"[" * 100_000)
@example(data=b"<x>" * 50_000)
@example(data=b"<DOC>" * 1_000)
@example(data=gzip.compress(b"<x/>")[:-4])
def test_any_bytes_give_records_reasons_blanks_or_one_error(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / "noise"
    path.write_bytes(data)
    lines, problem = _read(path, name)
    for line in lines:
        assert line.outcome is None or isinstance(line.outcome, Record) or line.outcome
    places = [(line.number, line.offset) for line in lines]
    assert places == sorted(places)
    assert "\n" not in problem
    assert not problem or str(path) in problem


@QUICK
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                b'{"CN": "%d", "title": "a"}',
                b'{"CN": "%d", "abstract": "<P>b</P>"}',
                b'{"CN": "x y", "title": "a"}',
                b'{"CN": ""}',
                *(b"", b"  ", b"{", b"[1]", b"\xb0\xa1", b"null"),
            ]
        ),
        max_size=30,
    ),
    packed=st.booleans(),
)
def test_every_line_is_a_record_a_reason_or_blank_in_its_order(
    tmp_path: Path, pieces: list[bytes], packed: bool
) -> None:
    first = b'{"CN": "first", "title": "a"}'
    lines = [first, *(piece.replace(b"%d", str(at).encode()) for at, piece in enumerate(pieces))]
    data = b"\n".join(lines) + b"\n"
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(data) if packed else data)
    read = list(read_source(path, FORMATS["scienceon"]))
    assert [line.number for line in read] == list(range(1, len(lines) + 1))
    assert [data[line.offset :].split(b"\n", 1)[0] for line in read] == lines
    good = [at for at, piece in enumerate(pieces) if b"%d" in piece]
    records = [line.outcome for line in read if isinstance(line.outcome, Record)]
    assert [record.docid for record in records] == ["first", *map(str, good)]
    assert sum(line.outcome is None for line in read) == sum(not line.strip() for line in lines)


def _read(path: Path, name: str) -> tuple[list[ParsedItem], str]:
    lines: list[ParsedItem] = []
    try:
        for line in read_source(path, FORMATS[name]):
            lines.append(line)  # noqa: PERF402 (what was read before an error counts, too)
    except CorpusError as error:
        return lines, str(error)
    return lines, ""


# What survives cleaning unchanged, so that what is written can be compared with what is read.
CLEAN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), min_size=1, max_size=20).map(
    lambda raw: clean_text("x" + raw.replace("<", "").replace("&", "").replace(";", ""))
)
RECORDS = st.lists(st.tuples(CLEAN, CLEAN), min_size=1, max_size=6)


def _as_csv(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _as_xml(rows: list[dict[str, str]]) -> str:
    items = ["".join(f'<item metaCode="{key}">{escape(row[key])}</item>' for key in row) for row in rows]
    return f"<MetaData>{''.join(f'<record>{item}</record>' for item in items)}</MetaData>"


def _as_trec(rows: list[dict[str, str]]) -> str:
    return "".join(
        f"<DOC>\n<DOCNO>{row['id']}</DOCNO>\n<TITLE>{escape(row['title'])}</TITLE>\n"
        f"<TEXT>{escape(row['text'])}</TEXT>\n</DOC>\n"
        for row in rows
    )


def _as_lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


WRITERS: dict[str, tuple[str, tuple[str, str, str], Callable[[list[dict[str, str]]], str]]] = {
    "scienceon lines": ("scienceon", ("CN", "title", "abstract"), _as_lines),
    "scienceon array": ("scienceon", ("CN", "title", "abstract"), lambda rows: json.dumps(rows, ensure_ascii=False)),
    "scienceon csv": ("scienceon", ("CN", "title", "abstract"), _as_csv),
    "scienceon xml": ("scienceon", ("CN", "Title", "Abstract"), _as_xml),
    "miracl": ("miracl", ("docid", "title", "text"), _as_lines),
    "beir": ("beir", ("_id", "title", "text"), _as_lines),
    "table": ("table", ("id", "title", "text"), _as_lines),
    "table csv": ("table", ("관리번호", "논문 제목", "초록"), _as_csv),
    "csl-json": ("csl-json", ("id", "title", "abstract"), _as_lines),
    "trec": ("trec", ("id", "title", "text"), _as_trec),
}


@pytest.mark.slow
@pytest.mark.parametrize("layout", WRITERS)
@QUICK
@given(texts=RECORDS)
def test_what_is_written_in_a_layout_is_read_back(tmp_path: Path, layout: str, texts: list[tuple[str, str]]) -> None:
    name, keys, write = WRITERS[layout]
    rows = [dict(zip(keys, (f"D{at}", *pair), strict=True)) for at, pair in enumerate(texts)]
    path = tmp_path / "a"
    path.write_bytes(write(rows).encode())
    read = [line.outcome for line in read_source(path, FORMATS[name])]
    assert [(found.docid, found.title, found.text) for found in read if isinstance(found, Record)] == [
        (f"D{at}", *pair) for at, pair in enumerate(texts)
    ]
    assert len(read) == len(texts)


TEXTS = st.one_of(st.sampled_from(MARKS).map(lambda mark: mark.decode("utf-8", "replace")), st.text(max_size=4))


@QUICK
@given(raw=st.lists(TEXTS, max_size=40).map("".join))
def test_cleaning_what_is_clean_changes_nothing(raw: str) -> None:
    text = clean_text(raw)
    assert clean_text(text) == text
    assert unicodedata.is_normalized("NFC", text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)
