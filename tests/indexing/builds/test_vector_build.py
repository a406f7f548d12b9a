"""Indexes with vectors: built, built again, killed, opened, refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.vectors_step import build_vectors
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.open_index import open_index
from shrag.indexing.storage.checksums import MANIFEST_FILE
from shrag.indexing.storage.generations import CURRENT_FILE, current_generation
from shrag.indexing.storage.vector_card import FILE, FOLDER, VectorCard, canonical_encoder
from shrag.indexing.vectors.encoders import sample_documents
from shrag.indexing.vectors.store import open_vectors
from shrag.models.encoders.choice import LsaOptions


@pytest.fixture
def demo_copy(demo_home: Path, tmp_path: Path) -> Path:
    """Return a copy of the demonstration home that a test may change."""
    return Path(shutil.copytree(demo_home, tmp_path / "copy"))


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LuceneSearcher]:
    """Return 60 documents in a Lucene index, one without terms."""
    folder = tmp_path_factory.mktemp("lucene")
    with LuceneIndexWriter(folder, Bm25()) as writer:
        for number in range(60):
            terms = [f"t{number * step % 17}" for step in range(number and 9)]
            record = Record(f"d{number * 37 % 60:02d}", "", "x", "en", complete=True)
            writer.add([pack_record(AnalyzedRecord(record, "", (" ".join(terms),)))])
        writer.commit({})
    reader = LuceneSearcher(folder, Bm25())
    yield reader
    reader.close()


def _phase(folder: Path, documents: LuceneSearcher, analyzer: KoreanEnglishAnalyzer) -> VectorCard:
    return build_vectors(folder, folder / "stage", "lsa", documents, analyzer, "source", folder)


def test_an_index_with_vectors_says_so_and_finds_by_them(demo_home: Path) -> None:
    index = open_index(demo_home / "indexes", "demo")
    card = index.manifest.vectors
    assert card is not None
    assert (card.encoder, card.settings, card.rows) == ("lsa", LsaOptions().settings, 235)
    assert 100 < card.dimension <= 235
    assert {f"{FOLDER}/{FILE}", f"{FOLDER}/encoder/terms.npy", f"{FOLDER}/encoder/vocabulary.json"} <= set(
        index.manifest.files
    )
    assert not [name for name in index.manifest.files if "stage" in name]
    assert index.dense is not None
    assert index.dense.encoder.digest == card.digest
    vector = index.dense.encode("How fast does a restored salt marsh bury blue carbon?")
    hits = index.dense.search(vector, 3)
    found = [each.record.title for each in index.store.fetch([hit.docid for hit in hits]) if each]
    assert any("염습지" in title or "salt marsh" in title.lower() for title in found)
    assert index.dense.cosines(vector, [*(hit.docid for hit in hits), "nothing"]) == [*(hit.score for hit in hits), 0.0]
    index.close()


def test_every_row_is_the_vector_of_the_document_that_stands_there(demo_home: Path) -> None:
    index = open_index(demo_home / "indexes", "demo")
    folder, manifest = current_generation(demo_home / "indexes" / "demo")
    assert index.dense is not None
    assert manifest.vectors is not None
    rows = open_vectors(folder / FOLDER, manifest.vectors)
    reader = LuceneSearcher(folder / "lucene", manifest.bm25)
    numbers = [0, 1, 84, 234]
    for number, docid, analysed in zip(numbers, reader.docids(numbers), reader.documents(numbers), strict=True):
        assert analysed.record.docid == docid
        (own,) = index.dense.encode(f"{analysed.record.title} {analysed.record.text}")
        assert float(own @ rows[number].astype(np.float32)) > 0.999
    assert reader.numbers([*reader.docids(numbers), "nothing"]) == [*numbers, None]
    reader.close()
    index.close()


def test_built_again_it_has_the_same_bytes(
    tmp_path: Path, documents: LuceneSearcher, analyzer: KoreanEnglishAnalyzer
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert _phase(tmp_path / "a", documents, analyzer) == _phase(tmp_path / "b", documents, analyzer)
    assert _digests(tmp_path / "a") == _digests(tmp_path / "b")
    assert len(_digests(tmp_path / "a")) == 3


def test_run_again_after_it_ended_it_changes_nothing(
    tmp_path: Path, documents: LuceneSearcher, analyzer: KoreanEnglishAnalyzer
) -> None:
    card, before = _phase(tmp_path, documents, analyzer), _digests(tmp_path)
    terms = tmp_path / FOLDER / "encoder" / "terms.npy"
    written = terms.stat().st_mtime_ns
    assert _phase(tmp_path, documents, analyzer) == card
    assert _digests(tmp_path) == before
    assert terms.stat().st_mtime_ns == written
    terms.write_bytes(b"cut")
    assert _phase(tmp_path, documents, analyzer) == card
    assert _digests(tmp_path) == before


def test_the_sample_and_so_the_fit_do_not_depend_on_the_order_of_documents(documents: LuceneSearcher) -> None:
    sample = sample_documents(documents, 20)
    docids = documents.docids(sample)
    hashes = [hashlib.blake2b(docid.encode(), digest_size=8).digest() for docid in docids]
    assert hashes == sorted(hashes)
    every = [hashlib.blake2b(f"d{number:02d}".encode(), digest_size=8).digest() for number in range(60)]
    assert hashes == sorted(every)[:20]
    assert sample_documents(documents, 100)[:20] == sample


@pytest.mark.slow
def test_another_encoder_makes_another_index(demo_copy: Path) -> None:
    corpora, indexes = demo_copy / "corpora", demo_copy / "indexes"
    assert not build_index(corpora, indexes, "demo", encoder="lsa")[1]
    assert not build_index(corpora, indexes, "demo")[1]  # what is not said stays as it is
    without, new = build_index(corpora, indexes, "demo", encoder="none")
    assert (new, without.vectors) == (True, None)
    assert not build_index(corpora, indexes, "demo")[1]
    index = open_index(indexes, "demo")
    assert index.dense is None
    index.close()
    with pytest.raises(IndexingError, match="There is no encoder 'word2vec': use one of lsa, gte, "):
        build_index(corpora, indexes, "demo", encoder="word2vec")
    assert canonical_encoder("none") == "none"


def test_vectors_are_not_lost_where_the_manifest_that_names_their_encoder_cannot_be_read(demo_copy: Path) -> None:
    index = demo_copy / "indexes" / "demo"
    (current_generation(index)[0] / "MANIFEST.json").write_bytes(b"{")
    with pytest.raises(IndexDamaged, match=r"The encoder that demo was built with cannot be read .* with --encoder"):
        build_index(demo_copy / "corpora", demo_copy / "indexes", "demo")


def test_an_encoder_this_shrag_does_not_have_is_refused_with_what_to_do(demo_copy: Path) -> None:
    index = demo_copy / "indexes" / "demo"
    changes: list[dict[str, object]] = [{"encoder": "gte", "settings": "gte 3: base"}, {"settings": "lsa 9: other"}]
    for change in changes:
        _change_card(index, change)
        with pytest.raises(IndexMismatch, match=rf"vectors by the encoder \[{change['settings']}\]"):
            open_index(demo_copy / "indexes", "demo")


def test_vectors_for_another_number_of_records_are_damage(demo_copy: Path) -> None:
    _change_card(demo_copy / "indexes" / "demo", {"rows": 234})
    with pytest.raises(IndexDamaged, match="has 234 vectors for 235 records"):
        open_index(demo_copy / "indexes", "demo")


def test_a_flipped_byte_of_the_vectors_is_found(demo_copy: Path) -> None:
    path = current_generation(demo_copy / "indexes" / "demo")[0] / FOLDER / FILE
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamaged, match=FILE):
        open_index(demo_copy / "indexes", "demo")


@pytest.mark.process
def test_a_search_without_vectors_loads_nothing_of_theirs(demo_home: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from shrag.serving.engine import open_engine\n"
        "engine = open_engine(Path(sys.argv[1]), 'demo', '그래핀')\n"
        "assert engine.search('그래핀').ranking.records\n"
        "theirs = {'scipy', 'sklearn', 'faiss', 'torch', 'transformers', 'tokenizers'}\n"
        "theirs |= {'shrag.models.encoders.lsa', 'shrag.indexing.vectors.store'}\n"
        "print(sorted(theirs & set(sys.modules)))\n"
        "assert engine.search('그래핀', strategy='hybrid').ranking.records\n"
        "print(sorted(theirs & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(demo_home / "indexes")], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "['shrag.indexing.vectors.store', 'shrag.models.encoders.lsa']"]


def _change_card(index: Path, change: dict[str, object]) -> None:
    """Change what the manifest says of the vectors, and publish it as another SHRAG would have."""
    folder = current_generation(index)[0]
    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    manifest["vectors"] |= change
    data = json.dumps(manifest).encode()
    (folder / MANIFEST_FILE).write_bytes(data)
    (index / CURRENT_FILE).write_text(f"{folder.name} {hashlib.sha256(data).hexdigest()}\n")


def _digests(folder: Path) -> dict[str, str]:
    files = [path for path in (folder / FOLDER).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
