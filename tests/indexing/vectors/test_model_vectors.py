"""Indexes with vectors of a model: built from external weights, searched with the same ones only."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shrag.cli.main import run
from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.analyzed_record import to_passage
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.incremental import update_index
from shrag.indexing.errors import EncoderUnavailable, UnknownEncoder
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.open_index import open_index
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.vector_card import FILE, FOLDER, canonical_encoder, encoder_settings
from shrag.indexing.vectors.store import open_vectors
from shrag.models.encoder import Vectors
from shrag.models.encoders.transformer import TransformerEncoder
from shrag.models.errors import WeightsMissing
from shrag.models.reranker import Passage
from shrag.serving.engine import Engine
from shrag.serving.errors import StrategyUnavailable
from tests.conftest import DEMO
from tests.support.checkpoints import make_encoder

pytestmark = pytest.mark.slow

QUESTION = "How much does milk yield fall in dairy cows under heat stress?"
ROWS = 30


def _write_records(path: Path, count: int) -> Path:
    path.write_text("\n".join((DEMO / "records.jsonl").read_text().splitlines()[:count]))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Path:
    """Return a home with an index whose vectors are of 32 dimensions, by weights in that home. Tests only read it."""
    home = tmp_path_factory.mktemp("model-home")
    shutil.copytree(encoder_folder, home / "weights" / "tiny-encoder")
    add_corpus(home / "corpora", "demo", "scienceon", [_write_records(home / "records.jsonl", ROWS)])
    build_index(home / "corpora", home / "indexes", "demo", encoder=f"{home / 'weights' / 'tiny-encoder'}:32")
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    """Return a copy of it in another place, as it is carried to another machine."""
    return Path(shutil.copytree(made, tmp_path / "carried"))


def test_the_card_says_which_weights_made_the_rows(made: Path, transformer: TransformerEncoder) -> None:
    folder, manifest = current_generation(made / "indexes" / "demo")
    card = manifest.vectors
    assert card is not None
    assert card.encoder == f"{made}/weights/tiny-encoder:32"
    assert card.settings.startswith("transformer 1: tiny-encoder, 32 of 64 dimensions, cls pooling, 128 tokens")
    assert (card.digest, card.dimension, card.rows) == (transformer.digest, 32, ROWS)
    assert not [name for name in manifest.files if "encoder" in name]  # weights are not copied into the index
    rows = open_vectors(folder / FOLDER, card)
    assert np.linalg.norm(rows.astype(np.float32), axis=1) == pytest.approx(np.ones(ROWS), abs=2e-3)


def test_rows_and_queries_equal_the_encoders_vectors(made: Path) -> None:
    index = open_index(made / "indexes", "demo")
    assert index.dense is not None
    hits = index.dense.search(index.dense.encode(QUESTION), 5)
    assert len(hits) == 5
    for stored in index.store.fetch([hits[0].docid, hits[4].docid]):
        assert stored is not None
        (own,) = index.dense.encoder.encode_passages([to_passage(stored)])
        (cosine,) = index.dense.cosines(own[None], [stored.record.docid])
        assert cosine > 0.999
    index.close()


def test_the_means_of_the_languages_are_those_of_all_cosines_where_there_are_few_records(made: Path) -> None:
    index = open_index(made / "indexes", "demo")
    assert index.dense is not None
    vector = index.dense.encode(QUESTION)
    cosines: dict[str, list[float]] = {}
    for analyzed in index.store.sample(ROWS):
        (cosine,) = index.dense.cosines(vector, [analyzed.record.docid])
        cosines.setdefault(analyzed.record.language, []).append(cosine)
    assert sum(map(len, cosines.values())) == ROWS
    means = index.dense.language_means(vector)
    assert set(means) == set(cosines)
    own = {language: sum(each) / len(each) for language, each in cosines.items()}
    middle = sum(own.values()) / len(own)
    # Each language has five documents more with the mean of all.
    drawn = {language: (len(each) * own[language] + 5 * middle) / (len(each) + 5) for language, each in cosines.items()}
    assert means == pytest.approx(drawn, abs=1e-5)
    index.close()


def test_weights_chosen_by_a_path_are_found_again_in_another_home(home: Path, made: Path, tmp_path: Path) -> None:
    moved = made.rename(made.with_name("away"))
    try:
        index = open_index(home / "indexes", "demo")
        assert index.dense is not None
        assert index.dense.encoder.name == "tiny-encoder"
        index.close()
    finally:
        moved.rename(made)


def test_a_build_and_an_update_find_them_there_too(home: Path, made: Path, tmp_path: Path) -> None:
    corpora, indexes = home / "corpora", home / "indexes"
    moved = made.rename(made.with_name("away"))
    try:
        assert not build_index(corpora, indexes, "demo", encoder="auto")[1]
        add_corpus(corpora, "demo", "scienceon", [_write_records(tmp_path / "fewer.jsonl", ROWS - 1)], replace=True)
        vectors = update_index(corpora, indexes, "demo")[0].vectors
        assert vectors is not None
        assert vectors.encoder == f"{home / 'weights' / 'tiny-encoder'}:32"
    finally:
        moved.rename(made)


@pytest.mark.parametrize("how", ["absent", "others", "cut"])
def test_without_weights_keyword_search_works_and_vectors_are_an_error(home: Path, made: Path, how: str) -> None:
    moved = made.rename(made.with_name("away"))  # the path that the index remembers
    try:
        weights = home / "weights" / "tiny-encoder"
        if how == "cut":
            data = (weights / "model.safetensors").read_bytes()
            (weights / "model.safetensors").write_bytes(data[:-1])
        else:
            shutil.rmtree(weights)
        if how == "others":
            make_encoder(weights, seed=9)
        index = open_index(home / "indexes", "demo")
        engine = Engine(index)
        assert engine.search(QUESTION).ranking.records
        assert index.dense is not None
        says = {
            "absent": "There are no weights at",
            "others": r"The vectors were made by \[transformer 1: tiny-encoder.*put the earlier weights there",
            "cut": "is truncated",
        }[how]
        with pytest.raises(EncoderUnavailable, match=says) as refused:
            index.dense.encode(QUESTION)
        assert "`shrag index demo --encoder none` builds the index without vectors" in str(refused.value)
        with pytest.raises(StrategyUnavailable, match=says):
            engine.search(QUESTION, strategy="hybrid")
        engine.close()
    finally:
        moved.rename(made)


def test_the_same_weights_make_the_same_index_and_others_another(home: Path) -> None:
    corpora, indexes = home / "corpora", home / "indexes"
    choice = f"{home / 'weights' / 'tiny-encoder'}:32"
    assert not build_index(corpora, indexes, "demo", encoder=choice)[1]  # the path differs, what it holds does not
    weights = home / "weights" / "tiny-encoder"
    shutil.rmtree(weights)
    make_encoder(weights, seed=9)
    manifest, new = build_index(corpora, indexes, "demo", encoder=choice)
    assert new
    assert manifest.vectors is not None
    assert manifest.vectors.encoder == choice
    assert not build_index(corpora, indexes, "demo")[1]
    assert build_index(corpora, indexes, "demo", encoder=str(weights))[1]  # another length of vector
    shutil.rmtree(weights)
    with pytest.raises(WeightsMissing):
        build_index(corpora, indexes, "demo")


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the identifiers of the documents that are encoded from now on."""
    docids: list[str] = []
    encode = TransformerEncoder.encode_passages

    def noting(self: TransformerEncoder, passages: Sequence[Passage]) -> Vectors:
        docids.extend(passage.docid for passage in passages)
        return encode(self, passages)

    monkeypatch.setattr(TransformerEncoder, "encode_passages", noting)
    return docids


def test_an_update_encodes_only_new_and_changed_records(home: Path, tmp_path: Path, encoded: list[str]) -> None:
    def rows() -> dict[str, bytes]:
        folder, manifest = current_generation(home / "indexes" / "demo")
        assert manifest.vectors is not None
        reader = LuceneSearcher(folder / "lucene", manifest.bm25)
        numbers = range(reader.count())
        vectors = open_vectors(folder / FOLDER, manifest.vectors)
        found = {docid: vectors[n].tobytes() for docid, n in zip(reader.docids(numbers), numbers, strict=True)}
        reader.close()
        return found

    before = rows()
    lines = [json.loads(line) for line in (DEMO / "records.jsonl").read_text().splitlines()[3 : ROWS + 2]]
    lines[4]["title"] = f"Again: {lines[4]['title']}"  # its beginning, since the tiny encoder reads no further
    source = tmp_path / "records.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)))
    add_corpus(home / "corpora", "demo", "scienceon", [source], replace=True)
    manifest, changes = update_index(home / "corpora", home / "indexes", "demo")
    assert changes is not None
    assert (changes.added, changes.changed, changes.deleted) == (2, 1, 3)
    after = rows()
    assert len(after) == ROWS - 1
    assert len(encoded) == 3
    assert {docid for docid in after if after[docid] != before.get(docid)} == set(encoded)
    update_index(home / "corpora", home / "indexes", "demo")
    build_index(home / "corpora", home / "indexes", "demo", force=True)
    assert len(encoded) == 3
    assert rows() == after
    assert manifest.vectors is not None
    assert manifest.vectors.dimension == 32


def test_damaged_vectors_and_those_of_another_encoder_are_not_copied(home: Path, encoded: list[str]) -> None:
    path = current_generation(home / "indexes" / "demo")[0] / FOLDER / FILE
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    build_index(home / "corpora", home / "indexes", "demo", force=True)
    assert len(encoded) == ROWS
    encoded.clear()
    build_index(home / "corpora", home / "indexes", "demo", encoder=str(home / "weights" / "tiny-encoder"))
    assert len(encoded) == ROWS


def test_the_command_names_the_encoders_there_are(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _write_records(tmp_path / "records.jsonl", 3)
    add_corpus(own_home / "corpora", "demo", "scienceon", [source], replace=True)
    assert run(["index", "demo", "--encoder", "word2vec"]) == 2
    known = "lsa, gte, arctic, kure, bge-m3, bge-base, e5, e5-small, none"
    assert f"There is no encoder 'word2vec': use one of {known}" in capsys.readouterr().err
    assert run(["index", "demo", "--encoder", "gte"]) == 6
    assert f"There are no weights at {own_home}/weights/gte-multilingual-base" in capsys.readouterr().err
    assert not (own_home / "indexes" / "demo" / "CURRENT").exists()


def test_settings_are_known_before_loading(encoder_folder: Path, tmp_path: Path) -> None:
    assert encoder_settings("none", tmp_path) == ""
    assert encoder_settings("lsa", tmp_path).startswith("lsa 1:")
    assert encoder_settings(str(encoder_folder), tmp_path).startswith("transformer 1: tiny-encoder, 64 of 64")
    assert canonical_encoder("gte:128") == "gte-multilingual-base:128"
    with pytest.raises(UnknownEncoder):
        canonical_encoder("lsa:128")


def test_a_card_is_json_like_the_rest_of_the_manifest(made: Path) -> None:
    _, manifest = current_generation(made / "indexes" / "demo")
    assert msgspec.json.decode(msgspec.json.encode(manifest.vectors)) == msgspec.to_builtins(manifest.vectors)
