from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.parquet import RecordWriter, read_parquet
from shrag.corpora.records import Record


def test_records_survive_in_order_with_all_their_fields(tmp_path: Path, record: Record) -> None:
    full = replace(record, docid="B", authors=("가", "b"), journal="학회지", publisher="학회", year=1999, link="x")
    with RecordWriter(tmp_path / "r") as writer:
        writer.write(record)
        writer.write(full)
    assert list(read_parquet(tmp_path / "r")) == [record, full]


def test_no_records_are_no_records(tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "r"):
        pass
    assert list(read_parquet(tmp_path / "r")) == []


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"nonsense" * 100])
def test_a_damaged_file_is_an_error_of_the_corpus(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "r").write_bytes(damage)
    with pytest.raises(CorpusError, match="add the corpus again"):
        list(read_parquet(tmp_path / "r"))
