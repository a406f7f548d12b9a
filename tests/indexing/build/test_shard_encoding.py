"""Encoding of shards: which records are whose documents, the batches of one machine, and what a worker refuses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shrag.corpora.records import Record
from shrag.corpora.store.open_corpus import open_corpus
from shrag.indexing.build.cluster.shard_encoding import (
    EncodingSettings,
    EncodingShard,
    ShardEncoding,
    encoded_rows,
    plan_shards,
    shard_size,
)
from shrag.indexing.build.cluster.shard_files import read_shard
from shrag.indexing.errors import IndexDamaged, IndexingError
from shrag.indexing.vectors.store import SHARD_ROWS, Float16Vectors, encode_passages
from shrag.models.encoders.choice import choose_encoder
from shrag.models.encoders.transformer import TransformerEncoder
from shrag.models.errors import WeightsMissing
from shrag.models.reranker import Passage
from tests.support.checkpoints import HIDDEN, make_encoder

RECORDS = 130


@pytest.fixture(scope="module")
def corpus(
    tmp_path_factory: pytest.TempPathFactory, grow_corpus: Callable[[Path, str, int], None]
) -> tuple[str, list[Record]]:
    """Return the file of a corpus's records, and the records."""
    home = tmp_path_factory.mktemp("encoding")
    grow_corpus(home, "grown", RECORDS)
    manifest, records = open_corpus(home / "corpora", "grown")
    return str(home / "corpora" / "grown" / manifest.records_file), list(records)


def _settings(folder: Path, **changes: object) -> EncodingSettings:
    choice = choose_encoder(str(folder), folder.parent)
    settings = EncodingSettings(str(folder), str(folder.parent), choice.settings, choice.digest, 0)
    return msgspec.structs.replace(settings, **changes)


def _passages(records: list[Record]) -> list[Passage]:
    return [Passage(record.title, record.text, (), (), record.docid, record.language) for record in records]


def _rows(work: ShardEncoding, shard: EncodingShard, documents: list[Record], folder: Path) -> Float16Vectors:
    manifest = work.run(msgspec.json.encode(shard), folder)
    mine = documents[shard.start : shard.start + shard.count]
    return encoded_rows(read_shard(folder, manifest), HIDDEN, [record.docid for record in mine], shard)


def test_shards_are_whole_batches_and_divide_those_of_the_file_of_vectors() -> None:
    sizes = [shard_size(count) for count in (0, 1, 6_144, 12_288, 100_000, 1_000_000, 100_000_000)]
    assert sizes == [64, 64, 128, 256, 2_048, 16_384, SHARD_ROWS]
    assert all(SHARD_ROWS % size == 0 for size in sizes)


def test_documents_are_the_records_but_for_those_rejected() -> None:
    shards = plan_shards("x", 130, 0, [0, 3, 64, 66, 67, 140])
    assert [(each.start, each.count) for each in shards] == [(0, 64), (64, 64), (128, 2)]
    documents = [
        [n for n in range(each.first, each.first + each.count + len(each.rejected)) if n not in each.rejected]
        for each in shards
    ]
    assert [*chain(*documents)] == [number for number in range(135) if number not in {0, 3, 64, 66, 67}]
    assert [each.rejected for each in shards] == [(3, 64, 66, 67), (), ()]
    assert plan_shards("x", 130, 64, [0, 3, 64, 66, 67, 140]) == shards[1:]
    assert plan_shards("x", 0, 0, [0]) == []


@pytest.mark.slow
def test_shards_have_the_rows_of_one_machine_to_the_bit(
    tmp_path: Path, corpus: tuple[str, list[Record]], encoder_folder: Path, transformer: TransformerEncoder
) -> None:
    path, records = corpus
    rejected = [2, 100]
    documents = [record for number, record in enumerate(records) if number not in rejected]
    whole = encode_passages(iter(_passages(documents)), range(len(documents)), transformer)
    work = ShardEncoding(_settings(encoder_folder), gpu=False)
    shards = plan_shards(path, len(documents), 0, rejected)
    parts = [_rows(work, shard, documents, tmp_path) for shard in shards]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


@pytest.mark.slow
def test_a_known_vector_is_not_computed_and_leaves_the_batches_of_one_machine(
    tmp_path: Path, corpus: tuple[str, list[Record]], encoder_folder: Path, transformer: TransformerEncoder
) -> None:
    path, records = corpus
    known = {0: np.full(HIDDEN, 1, np.float16), 5: np.full(HIDDEN, 2, np.float16)}
    passages = _passages(records[:64])
    whole = encode_passages(iter(passages), range(64), transformer, reusable=lambda batch: known)
    bits = np.packbits([number in known for number in range(64)]).tobytes()
    shard = EncodingShard(0, 64, path, 0, copied=bits)
    rows = _rows(ShardEncoding(_settings(encoder_folder), gpu=False), shard, records, tmp_path)
    assert not rows[[0, 5]].any()
    for number, row in known.items():
        rows[number] = row
    assert rows.tobytes() == whole.tobytes()


@pytest.mark.slow
def test_rows_of_other_documents_are_found_out(
    tmp_path: Path, corpus: tuple[str, list[Record]], encoder_folder: Path
) -> None:
    path, records = corpus
    work = ShardEncoding(_settings(encoder_folder), gpu=False)
    with pytest.raises(IndexDamaged, match="The vectors from document 0 on are not those of the index: run again"):
        _rows(work, EncodingShard(0, 64, path, 1), records, tmp_path)
    with pytest.raises(IndexingError, match="Only 2 of 64 documents from number 64 on were read"):
        _rows(work, EncodingShard(64, 64, path, RECORDS - 2), records, tmp_path)


@pytest.mark.slow
def test_a_worker_with_other_weights_without_them_or_without_its_gpu_says_so(
    tmp_path: Path, encoder_folder: Path
) -> None:
    other = make_encoder(tmp_path / encoder_folder.name, seed=9)
    settings = _settings(encoder_folder)
    with pytest.raises(
        IndexingError,
        match=r"A worker of the Ray cluster has other weights in .*copy the same "
        r"weights to all machines",
    ):
        ShardEncoding(msgspec.structs.replace(settings, encoder=str(other)), gpu=False)
    with pytest.raises(WeightsMissing, match="There are no weights at"):
        ShardEncoding(msgspec.structs.replace(settings, encoder=str(tmp_path / "none")), gpu=False)
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(IndexingError, match="has a GPU that its torch cannot use: install a torch that can"):
            ShardEncoding(settings, gpu=True)
