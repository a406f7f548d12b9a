"""Vector file: encoding, shards, resumed builds, memory mapping."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.errors import IndexDamaged, IndexingError
from shrag.indexing.record_filter import RecordFilter
from shrag.indexing.storage.vector_card import FILE, VectorCard
from shrag.indexing.vectors.store import STAGE_FILE, encode_documents, open_vectors, read_ahead, write_vectors
from shrag.models.encoder import Vectors
from shrag.models.reranker import Passage


def test_items_are_computed_one_ahead_in_order() -> None:
    made: list[int] = []
    second = threading.Event()

    def items() -> Iterator[int]:
        for number in range(4):
            made.append(number)
            if number == 1:
                second.set()
            yield number

    taken = []
    with read_ahead(items()) as ahead:
        for item in ahead:
            if item == 0:
                assert second.wait(5)
            taken.append(item)
    assert taken == made == [0, 1, 2, 3]


def test_errors_are_raised_in_order() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("two")

    taken: list[int] = []
    with pytest.raises(KeyError, match="two"), read_ahead(items()) as ahead:
        taken.extend(ahead)
    assert taken == [1]
    with read_ahead(iter(())) as nothing:
        assert list(nothing) == []


def test_stopping_early_waits_only_for_the_current_item() -> None:
    with read_ahead(iter(range(1_000_000))) as ahead:
        assert next(ahead) == 0


class Documents:
    """``count`` documents, each with its number as its only term."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.read: list[int] = []

    def count(self) -> int:
        return self._count

    def docids(self, numbers: Sequence[int]) -> list[str]:
        return [f"d{number}" for number in numbers]

    def numbers(self, docids: Sequence[str]) -> list[int | None]:
        return [int(docid[1:]) for docid in docids]

    def passing(self, record_filter: RecordFilter) -> NDArray[np.int64]:
        raise NotImplementedError

    def documents(self, numbers: Iterable[int]) -> Iterator[AnalyzedRecord]:
        for number in numbers:
            self.read.append(number)
            yield AnalyzedRecord(Record(f"d{number}", "", "x", "en", complete=True), "", (str(number),))


class AngleEncoder:
    """A passage whose term is n points n degrees round; a multiple of 10 has nothing to encode."""

    name, settings, digest, is_model, dimension, batch_rows = "angle", "angle 1", "0" * 64, False, 2, 512

    def __init__(self, dies_at: int = -1, length: float = 1.0) -> None:
        self._dies_at = dies_at
        self._length = length

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.array([self._point(int(text)) for text in texts], dtype=np.float32).reshape(-1, 2)

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        return self.encode_queries([passage.sentence_terms[0][0] for passage in passages])

    def _point(self, degrees: int) -> list[float]:
        if degrees == self._dies_at:
            raise KeyboardInterrupt
        if degrees % 10 == 0:
            return [0.0, 0.0]
        angle = np.deg2rad(degrees)
        return [float(np.cos(angle)) * self._length, float(np.sin(angle)) * self._length]


def _write(folder: Path, documents: Documents, encoder: AngleEncoder | None = None, source: str = "s") -> int:
    encoder = encoder or AngleEncoder()
    encode = encode_documents(documents, encoder)
    return write_vectors(folder / "v", folder / "stage", documents.count(), encoder, source, encode, shard_rows=8)


def _card(rows: int, dimension: int = 2) -> VectorCard:
    return VectorCard("angle", "angle 1", "0" * 64, dimension, rows)


def test_rows_are_in_document_order_and_of_unit_length(tmp_path: Path) -> None:
    assert _write(tmp_path, Documents(21)) == 21
    vectors = open_vectors(tmp_path / "v", _card(21))
    assert vectors.dtype == np.float16
    assert (tmp_path / "v" / FILE).stat().st_size == 21 * 2 * 2
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    assert [row for row in range(21) if lengths[row] == 0] == [0, 10, 20]
    assert lengths[lengths > 0] == pytest.approx(np.ones(18), abs=1e-3)
    assert vectors[15].tolist() == pytest.approx([0.9659, 0.2588], abs=5e-4)


@pytest.mark.parametrize("dies_at", [1, 7, 8, 9, 15, 16, 19])
def test_a_killed_run_resumes_from_its_complete_shards_with_the_same_result(tmp_path: Path, dies_at: int) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    _write(whole, Documents(20))
    with pytest.raises(KeyboardInterrupt):
        _write(killed, Documents(20), AngleEncoder(dies_at))
    documents = Documents(20)
    _write(killed, documents)
    assert documents.read == list(range(dies_at // 8 * 8, 20))
    assert (killed / "v" / FILE).read_bytes() == (whole / "v" / FILE).read_bytes()
    again = Documents(20)
    _write(killed, again)
    assert again.read == []


@pytest.mark.parametrize(
    "damage", ["half a shard more", "a flipped byte", "a cut log", "a log of another input", "no log"]
)
def test_shards_damaged_by_a_crash_are_not_used(tmp_path: Path, damage: str) -> None:
    _write(tmp_path, Documents(20))
    data, log = tmp_path / "v" / FILE, tmp_path / "stage" / STAGE_FILE
    expected = data.read_bytes()
    kept = 20
    if damage == "half a shard more":
        data.write_bytes(expected + b"\x01\x02\x03")
    elif damage == "a flipped byte":
        data.write_bytes(expected[:40] + bytes([expected[40] ^ 1]) + expected[41:])
        kept = 8
    elif damage == "a cut log":
        log.write_bytes(log.read_bytes()[:-20])
        kept = 16
    elif damage == "a log of another input":
        log.write_bytes(b'{"input":"other"}\n' + log.read_bytes().partition(b"\n")[2])
        kept = 0
    else:
        log.unlink()
        kept = 0
    documents = Documents(20)
    _write(tmp_path, documents)
    assert documents.read == list(range(kept, 20))
    assert data.read_bytes() == expected


def test_another_corpus_in_the_same_folder_starts_over(tmp_path: Path) -> None:
    _write(tmp_path, Documents(20))
    documents = Documents(12)
    _write(tmp_path, documents, source="other")
    assert documents.read == list(range(12))
    assert open_vectors(tmp_path / "v", _card(12)).shape == (12, 2)


def test_no_documents_are_no_rows(tmp_path: Path) -> None:
    assert _write(tmp_path, Documents(0)) == 0
    assert open_vectors(tmp_path / "v", _card(0)).shape == (0, 2)


def test_a_file_of_another_size_is_not_opened(tmp_path: Path) -> None:
    _write(tmp_path, Documents(20))
    with pytest.raises(IndexDamaged, match="has 80 bytes; 21 vectors of 2 half-precision numbers take 84"):
        open_vectors(tmp_path / "v", _card(21))
    with pytest.raises(IndexDamaged, match="is missing"):
        open_vectors(tmp_path / "nothing", _card(21))


@pytest.mark.parametrize("length", [0.9, 2.0, float("nan"), float("inf")])
def test_an_encoder_without_unit_rows_is_refused(tmp_path: Path, length: float) -> None:
    with pytest.raises(IndexingError, match="angle gave a vector of length"):
        _write(tmp_path, Documents(20), AngleEncoder(length=length))
