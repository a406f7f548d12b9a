from __future__ import annotations

import errno
import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import FORMATS
from shrag.corpora.records import Origin, Record
from shrag.corpora.store import parquet
from shrag.corpora.store.parquet import (
    ColumnKind,
    RecordFile,
    RecordWriter,
    StoredRow,
    TableWriter,
    read_digests,
    read_parquet,
    read_rows,
    read_table_rows,
    record_digest,
    summarise,
)


def _row(record: Record, line: int = 1) -> StoredRow:
    return StoredRow(record, record_digest(record), Origin(0, line, 10 * line))


def test_records_survive_in_order_with_all_their_fields(tmp_path: Path, record: Record) -> None:
    full = replace(record, docid="B", authors=("가", "b"), journal="학회지", publisher="학회", year=1999, link="x")
    full = replace(full, duplicate_of=record.docid, doi="10.1/x", volume="3", issue="1", pages="1-9", type="thesis")
    full = replace(full, other=(("ISSN", "1"), ("ISSN", "2"), ("빈", "")))
    with RecordWriter(tmp_path / "r") as writer:
        assert writer.rows == 0
        writer.write(_row(record))
        writer.write(_row(full, 2))
        assert writer.rows == 2
    assert list(read_parquet(tmp_path / "r")) == [record, full]
    assert list(read_rows(tmp_path / "r")) == [_row(record), _row(full, 2)]
    assert dict(read_digests(tmp_path / "r")) == {"A#1": record_digest(record), "B": record_digest(full)}
    found = summarise(tmp_path / "r")
    assert (found.records, found.complete, found.linked, found.languages, found.sources) == (2, 2, 1, {"ko": 2}, {0: 2})


def test_a_range_of_records_may_lie_in_several_groups_of_rows(tmp_path: Path, record: Record) -> None:
    with RecordWriter(tmp_path / "r") as writer:
        for number in range(5_000):
            writer.write(_row(replace(record, docid=f"D{number}")))
    with RecordFile(tmp_path / "r") as file:
        assert (len(file), file._file.metadata.num_row_groups) == (5_000, 3)
        for start, count in ((0, 1), (2_047, 2), (2_048, 1), (4_095, 1), (4_096, 10_000), (4_999, 2), (0, 5_000)):
            docids = [each.docid for each in file.read(start, count)]
            assert docids == [f"D{number}" for number in range(start, min(start + count, 5_000))]
        assert list(file.read(5_000, 1)) == []


def test_the_columns_on_the_disk_are_pinned_since_other_ones_are_refused(tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "r"):
        pass
    schema = pyarrow.parquet.read_schema(tmp_path / "r")
    names = (
        "docid title text language complete authors journal publisher year link keywords doi volume issue pages type "
        "other duplicate_of digest source line offset"
    )
    assert schema.names == names.split()
    assert [field.name for field in schema if field.nullable] == ["year"]
    other = {field.name: str(field.type) for field in schema if str(field.type) != "string"}
    assert other.pop("authors").startswith("list<")
    assert other.pop("keywords").startswith("list<")
    assert other.pop("other").startswith("map<string, string")
    assert other == {
        **{"complete": "bool", "year": "int16", "digest": "fixed_size_binary[16]"},
        **{"source": "int32", "line": "int64", "offset": "int64"},
    }


def test_a_table_of_others_gives_values_of_json(tmp_path: Path) -> None:
    columns = {
        "text": ["a", None],
        "count": [3, -1],
        "share": [0.5, float("nan")],
        "volume": [12.0, None],  # whole numbers become such where one is missing
        "whole": [True, False],
        "day": [date(2020, 2, 3), None],
        "key": [b"\x01\xff", b""],
        "names": [["b", None], []],
        "place": [{"city": "대전", "share": float("inf")}, None],
    }
    marks = pyarrow.array([[("ISSN", 1.0), ("b", None)], []], pyarrow.map_(pyarrow.string(), pyarrow.float64()))
    pyarrow.parquet.write_table(pyarrow.table({**columns, "marks": marks}), tmp_path / "t")
    rows = list(read_table_rows(tmp_path / "t"))
    assert isinstance(rows[0]["volume"], int)
    assert rows == [
        {
            **{"text": "a", "count": 3, "share": 0.5, "volume": 12, "whole": True, "day": "2020-02-03", "key": "01ff"},
            **{"names": ["b", None], "place": {"city": "대전", "share": None}, "marks": {"ISSN": 1, "b": None}},
        },
        {
            **{"text": None, "count": -1, "share": None, "volume": None, "whole": False, "day": None, "key": ""},
            **{"names": [], "place": None, "marks": []},
        },
    ]
    (tmp_path / "t").write_bytes(b"PAR1")
    with pytest.raises(CorpusError, match="is not a Parquet file that can be read"):
        list(read_table_rows(tmp_path / "t"))


def test_a_table_of_others_with_a_column_twice_is_refused_with_its_name(tmp_path: Path) -> None:
    columns = [pyarrow.array([value]) for value in "abc"]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, ["id", "title", "title"]), tmp_path / "t")
    with pytest.raises(CorpusError, match="t has more than one column 'title': rename or delete the others"):
        list(read_table_rows(tmp_path / "t"))


def test_a_table_of_others_may_be_packed_with_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a", "b"], "title": ["A", "B"]}), tmp_path / "t")
    data = (tmp_path / "t").read_bytes()
    path = tmp_path / "t.parquet.gz"
    path.write_bytes(gzip.compress(data))
    records = [item.outcome for item in read_source(path, FORMATS["table"])]
    assert [(record.docid, record.title) for record in records if isinstance(record, Record)] == [
        ("a", "A"),
        ("b", "B"),
    ]
    monkeypatch.setattr(parquet, "LARGEST_PACKED", len(data))
    assert len(list(read_table_rows(path))) == 2
    monkeypatch.setattr(parquet, "LARGEST_PACKED", len(data) - 1)
    with pytest.raises(CorpusError, match=rf"t\.parquet\.gz cannot be read: longer than {len(data) - 1} bytes"):
        list(read_table_rows(path))


def test_reading_rows_takes_no_more_memory_the_more_groups_of_rows_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.corpora.store.parquet._BATCH", 32)

    def most_memory(groups: int) -> int:
        path = tmp_path / f"{groups}.parquet"
        with RecordWriter(path) as writer:
            for number in range(32 * groups):
                record = Record(str(number), "Title", f"{number} " * 400, "en", True)
                writer.write(StoredRow(record, b"0" * 16, Origin(0, number, 0)))
        before = int(pyarrow.total_allocated_bytes())
        return max(int(pyarrow.total_allocated_bytes()) - before for _ in read_rows(path))

    few, many = most_memory(10), most_memory(150)
    assert few > 0
    assert many < 2 * few  # over all groups at once it is five times


def test_no_records_are_no_records(tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "r"):
        pass
    assert list(read_parquet(tmp_path / "r")) == []
    assert summarise(tmp_path / "r").records == 0


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"nonsense" * 100])
def test_a_damaged_file_is_an_error_of_the_corpus(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "r").write_bytes(damage)
    with pytest.raises(CorpusError, match="read its sources again with `shrag corpus replace`"):
        list(read_parquet(tmp_path / "r"))


def test_any_flipped_byte_of_the_pages_is_an_error_of_the_corpus(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "r"
    with RecordWriter(path) as writer:
        for number in range(50):
            writer.write(_row(replace(record, docid=f"D{number}")))
    whole = path.read_bytes()
    rows = list(read_rows(path))
    silent = []
    for position in range(4, len(whole), 97):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        try:
            if list(read_rows(path)) != rows:
                silent.append(position)
        except CorpusError:
            pass
    assert silent == []


def test_a_digest_tells_every_field_apart(record: Record) -> None:
    others = [
        replace(record, docid="A#2"),
        replace(record, title=record.title + " "),
        replace(record, complete=False),
        replace(record, authors=("a",)),
        replace(record, year=1),
        replace(record, doi="10.1/x"),
        replace(record, other=(("a", "b"),)),
        replace(record, duplicate_of="A#0"),
    ]
    assert len({record_digest(each) for each in (record, *others)}) == 9
    assert record_digest(record).hex() == record_digest(replace(record)).hex()
    assert len(record_digest(record)) == 16


@pytest.mark.parametrize("number", [None, errno.EACCES])
def test_an_error_of_the_system_while_writing_names_the_file(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    def fail(*_: object) -> None:
        raise OSError(*((number, "Failed stat()ing path") if number else ("lseek failed",)))

    writer = RecordWriter(tmp_path / "r")
    writer.write(_row(record))
    monkeypatch.setattr(writer._file, "write_table", fail)
    with pytest.raises(OSError, match="/r") as raised:
        writer.__exit__(None)
    assert (raised.value.errno, raised.value.filename) == (number or errno.EIO, str(tmp_path / "r"))
    monkeypatch.undo()
    writer._file.close()


@pytest.mark.parametrize("read", [read_parquet, read_rows])
def test_an_error_in_closing_a_file_that_was_read_is_the_systems_and_no_damage(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Iterator[object]]
) -> None:
    with RecordWriter(tmp_path / "r") as writer:
        writer.write(_row(record))

    def fail(file: pyarrow.parquet.ParquetFile) -> None:
        close(file)
        raise OSError("error closing file")

    close = pyarrow.parquet.ParquetFile.close
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "close", fail)
    with pytest.raises(OSError, match="/r") as raised:
        list(read(tmp_path / "r"))
    assert raised.value.errno == errno.EIO


def test_memory_that_runs_out_while_reading_is_no_damage_of_the_file(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise pyarrow.lib.ArrowMemoryError("malloc of size 65536 failed")

    with RecordWriter(tmp_path / "r") as writer:
        writer.write(_row(record))
    with RecordFile(tmp_path / "r") as file:
        monkeypatch.setattr(file._file, "read_row_group", fail)
        with pytest.raises(MemoryError):
            list(file.read(0, 1))


def test_a_table_has_its_columns_of_every_kind_a_row_group_for_each_writing(tmp_path: Path) -> None:
    columns: dict[str, ColumnKind] = {"n": "integer", "ns": "integers", "t": "text", "ts": "texts", "v": "vector"}
    rows = [
        {"n": 2**63 - 1, "ns": [], "t": "a\0'\"\n𝒳", "ts": [""], "v": np.array([0.1, 3e38], np.float32)},
        {"n": -1, "ns": [1, 2], "t": "", "ts": ["나", "b"], "v": np.zeros(2, np.float32)},
    ]
    with TableWriter(tmp_path / "t", columns) as writer:
        sizes = [writer.write(rows), writer.write(rows[:1])]
    assert 0 < sizes[0] < sizes[1] < (tmp_path / "t").stat().st_size
    with pyarrow.parquet.ParquetFile(tmp_path / "t") as file:
        assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [2, 1]
        found = file.read().to_pylist()
    assert found == [{**row, "v": row["v"].tolist()} for row in (*rows, rows[0])]  # type: ignore[attr-defined]
    with TableWriter(tmp_path / "none", columns):
        pass
    assert list(read_table_rows(tmp_path / "none")) == []


def test_a_table_on_a_full_disk_is_an_error_with_the_path() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"), TableWriter(Path("/dev/full"), {}):
        pass
