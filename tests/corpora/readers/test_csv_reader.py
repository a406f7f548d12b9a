from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers import csv_reader as csv_rows
from shrag.corpora.readers import source
from shrag.corpora.readers.csv_reader import column_names, read_csv
from shrag.corpora.readers.item import SourceItem


def items_of(tmp_path: Path, data: bytes) -> list[SourceItem]:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    return list(read_csv(path))


def test_rows_have_the_line_and_byte_they_begin_at(tmp_path: Path) -> None:
    data = '\ufeffCN,title\r\nA,"첫째, ""인용""\r\n둘째 줄"\r\n\r\nB,b\r\n'.encode()
    assert items_of(tmp_path, data) == [
        SourceItem(2, 13, {"CN": "A", "title": '첫째, "인용"\n둘째 줄'}),
        SourceItem(4, data.index(b"\r\nB"), None),
        SourceItem(5, data.index(b"B,b"), {"CN": "B", "title": "b"}),
    ]


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_tabs_and_semicolons_separate_where_the_header_has_them(tmp_path: Path, delimiter: str) -> None:
    data = f"CN{delimiter}title\nA{delimiter}x, y\n".encode()
    assert [item.fields for item in items_of(tmp_path, data)] == [{"CN": "A", "title": "x, y"}]


def test_a_bad_row_is_a_reason_that_costs_no_other(tmp_path: Path) -> None:
    data = b'CN,title\nA,a\nB\nC,c,c\nD,"d"d\n\xb0\xff,e\nF,f\n'
    found = [item.fields for item in items_of(tmp_path, data)]
    assert [fields for fields in found if isinstance(fields, dict)] == [
        {"CN": "A", "title": "a"},
        {"CN": "F", "title": "f"},
    ]
    assert [fields for fields in found if isinstance(fields, str)] == [
        "row 2: 1 cells, the header has 2",
        "row 3: 3 cells, the header has 2",
        "row 4: ',' expected after '\"'",
        "row 5: neither UTF-8 nor CP949",
    ]


def test_a_quotation_mark_that_is_never_closed_is_an_error_that_says_where_it_opens(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 3: a quotation mark in this row is never closed"):
        items_of(tmp_path, b'CN,title\nA,a\nB,"b\nC,c\n')


def test_a_row_beyond_the_limit_is_an_error_that_says_where_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "LONGEST_LINE", 50)
    with pytest.raises(CorpusError, match="line 3: this row is longer than 50 bytes"):
        items_of(tmp_path, b'CN,title\nA,a\nB,"' + b"b\n" * 100 + b'"\n')


def test_each_row_may_be_as_long_as_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (csv_rows, source):
        monkeypatch.setattr(module, "LONGEST_LINE", 50)
    row = b"A," + b"x" * 47 + b"\n"
    assert len(items_of(tmp_path, b"CN,title\n" + row * 3)) == 3
    for long in (row.replace(b"A", b"AA"), row.replace(b"A", b"A" * 9)):
        with pytest.raises(CorpusError, match="line 3: this row is longer than 50 bytes"):
            items_of(tmp_path, b"CN,title\n" + row + long)


def test_of_delimiters_that_the_header_has_equally_often_the_comma_is_first_and_the_semicolon_last(
    tmp_path: Path,
) -> None:
    for header, names in (
        (b"CN,a\tb;c", ["CN", "a\tb;c"]),
        (b"CN\ta;b", ["CN", "a;b"]),
        (b"CN;a\tb;c", ["CN", "a\tb", "c"]),
    ):
        (item,) = items_of(tmp_path, header + b"\n" + b"x".join(header[2:3] for _ in names[1:]) + b"x\n")
        assert isinstance(item.fields, dict)
        assert list(item.fields) == names
        assert column_names(header + b"\nrest") == names


def test_a_field_may_be_longer_than_pythons_own_limit(tmp_path: Path) -> None:
    (item,) = items_of(tmp_path, b"CN,title\nA," + b"x" * 200_000 + b"\n")
    assert isinstance(item.fields, dict)
    assert len(str(item.fields["title"])) == 200_000


@pytest.mark.parametrize(
    "header", [b"CN,title,title", b"title,year,title,year", b"\xef\xbb\xbfCN;title; title ", b'title\t"title"\tCN']
)
def test_a_column_twice_is_an_error_that_names_it(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(CorpusError, match="line 1 has more than one column 'title': rename or delete"):
        items_of(tmp_path, header + b"\nA,a,b\n")


def test_the_numbers_of_rows_that_pandas_writes_are_no_field(tmp_path: Path) -> None:
    data = b",CN,title\n0,A,a\n1,B,b\nx,C,c\n"
    assert [item.fields for item in items_of(tmp_path, data)] == [
        {"CN": "A", "title": "a"},
        {"CN": "B", "title": "b"},
        {"column 1": "x", "CN": "C", "title": "c"},
    ]


def test_columns_without_a_name_may_be_several_and_have_one_where_they_are_not_empty(tmp_path: Path) -> None:
    assert [item.fields for item in items_of(tmp_path, b"CN,,title,,\nA,,a, ,\nB,1,b,x,y\n")] == [
        {"CN": "A", "title": "a"},
        {"CN": "B", "column 2": "1", "title": "b", "column 4": "x", "column 5": "y"},
    ]


def test_lines_that_end_as_on_old_macs_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 1 is not the header of a table"):
        items_of(tmp_path, b"CN,title\rA,a\r")


def test_an_empty_file_and_a_lone_header_have_no_rows(tmp_path: Path) -> None:
    assert items_of(tmp_path, b"") == []
    assert items_of(tmp_path, b"CN,title\n") == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=12)] * 3),
        max_size=8,
    )
)
def test_what_python_writes_is_read_back(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerows([("CN", "title", "abstract"), *rows])
    found = items_of(tmp_path, text.getvalue().encode())
    assert [item.fields for item in found] == [
        dict(zip(("CN", "title", "abstract"), row, strict=True)) if any(cell.strip() for cell in row) else None
        for row in rows
    ]
