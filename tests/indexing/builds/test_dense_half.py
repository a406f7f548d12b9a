"""`make index` with an encoder's weights at hand: both halves of the index, the FAISS file among them; and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from shrag.cli.main import run
from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build import builder, vectors_step
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.incremental import update_index
from shrag.indexing.build.job import BuildOptions
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.open_index import open_index
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.manifest import IndexManifest
from shrag.indexing.storage.vector_card import FAISS_FILE, FOLDER, VectorCard
from shrag.indexing.vectors import ann_search
from shrag.indexing.vectors.ann_search import FlatSearch
from shrag.indexing.vectors.exact_search import BlockSearch
from shrag.indexing.vectors.faiss_index import has_faiss, load_faiss
from shrag.indexing.vectors.store import open_vectors
from shrag.indexing.vectors.vector_index import FileRows
from shrag.serving.engine import open_engine
from tests.conftest import DEMO

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("short_builds"),
    pytest.mark.skipif(not has_faiss(), reason="faiss-cpu is not installed"),
]

QUESTIONS = ["How much does milk yield fall in dairy cows under heat stress?", "그래핀 필름의 전자파 차폐", "사과 토양"]
LINE = "Vectors for index demo by the encoder"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path, short_builds: None) -> Path:
    """Return a home with an encoder's weights whose index was built without naming an encoder. Tests only read it."""
    home = tmp_path_factory.mktemp("dense-home")
    shutil.copytree(encoder_folder, home / "weights" / "tiny-encoder")
    add_corpus(home / "corpora", "demo", "scienceon", [DEMO / "records.jsonl"])
    assert run(["--home", str(home), "index", "demo"]) == 0
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "home"))


def _current(home: Path) -> tuple[Path, IndexManifest, VectorCard]:
    folder, manifest = current_generation(home / "indexes" / "demo")
    assert manifest.vectors is not None
    return folder, manifest, manifest.vectors


def test_the_manifest_has_the_file_and_its_parameters(made: Path) -> None:
    folder, manifest, card = _current(made)
    assert card.encoder == str(made / "weights" / "tiny-encoder")
    assert card.faiss is not None
    assert (card.faiss.factory, card.faiss.lists, card.faiss.probes) == ("SQfp16", 0, 0)
    file = manifest.files[f"{FOLDER}/{FAISS_FILE}"]
    assert file.bytes == (folder / FOLDER / FAISS_FILE).stat().st_size
    assert f"{FOLDER}/passages.f16" in manifest.files
    assert not verify_index(made / "indexes", "demo").problems


def test_faiss_alone_and_the_index_find_what_brute_force_finds(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _, card = _current(made)
    stock = load_faiss().read_index(str(folder / FOLDER / FAISS_FILE))
    assert (stock.ntotal, stock.d) == (card.rows, card.dimension) == (235, 64)
    rows = open_vectors(folder / FOLDER, card)
    monkeypatch.setattr(ann_search, "FAISS_MIN_ROWS", 1)
    index = open_index(made / "indexes", "demo", "")
    assert index.dense is not None
    for question in QUESTIONS:
        vector = index.dense.encode(question)
        brute_force = np.argsort(-(rows.astype(np.float32) @ vector[0]), kind="stable")[:100]
        assert len(set(stock.search(vector, 100)[1][0].tolist()) & set(brute_force.tolist())) >= 99
        opened = index.dense._open().rows
        assert isinstance(opened, FileRows)
        assert isinstance(opened.search, FlatSearch)
        hits = index.dense.search(vector, 100)
        assert hits == BlockSearch(rows, index.dense._documents.docids).search(vector, 100)[0]
    index.close()


def test_a_hybrid_search_by_faiss_ranks_as_one_by_brute_force(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rankings = []
    for least in (1, 1_000_000):
        monkeypatch.setattr(ann_search, "FAISS_MIN_ROWS", least)
        engine = open_engine(made / "indexes", "demo", "")
        found = [engine.search(question, strategy="hybrid", k=100).ranking.records for question in QUESTIONS]
        rankings.append([[(each.record.docid, each.score) for each in records] for records in found])
        engine.close()
    assert rankings[0] == rankings[1]
    assert all(len(records) >= 10 for records in rankings[0])


def test_the_index_can_be_ranked_by_encoding_the_candidates(made: Path) -> None:
    scores = []
    for reranker in ("vectors", "encoder"):
        engine = open_engine(made / "indexes", "demo", "", reranker=reranker)
        found = engine.search(QUESTIONS[1], k=20).ranking
        assert found.reranker == "tiny-encoder cosine"
        scores.append({each.record.docid: each.score for each in found.records})
        engine.close()
    assert scores[1] == pytest.approx(scores[0], abs=2e-3)  # stored vectors are in half precision


def test_an_update_writes_the_file_anew_and_a_changed_byte_of_it_is_found(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    source.write_text("\n".join((DEMO / "records.jsonl").read_text().splitlines()[:200]))
    add_corpus(home / "corpora", "demo", "scienceon", [source], replace=True)
    update_index(home / "corpora", home / "indexes", "demo")
    folder, _, card = _current(home)
    assert card.faiss is not None
    path = folder / FOLDER / FAISS_FILE
    assert load_faiss().read_index(str(path)).ntotal == card.rows == 200
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamaged, match=FAISS_FILE):
        open_index(home / "indexes", "demo")
    assert any(FAISS_FILE in problem.file for problem in verify_index(home / "indexes", "demo").problems)


def test_without_faiss_the_index_is_built_with_a_line_about_it_and_the_file_is_added_later(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with monkeypatch.context() as patch:
        for module in (builder, vectors_step, ann_search):
            patch.setattr(module, "has_faiss", lambda: False)
        options = BuildOptions(notify=said.append)
        build_index(home / "corpora", home / "indexes", "demo", force=True, options=options)
        (sentence,) = said
        assert sentence.startswith("No FAISS index of the vectors, which are searched without it: FAISS is not")
        folder, _, card = _current(home)
        assert card.faiss is None
        assert not (folder / FOLDER / FAISS_FILE).exists()
        assert not build_index(home / "corpora", home / "indexes", "demo")[1]
        index = open_index(home / "indexes", "demo", "")
        assert index.dense is not None
        assert len(index.dense.search(index.dense.encode(QUESTIONS[0]), 10)) == 10
        index.close()
    manifest, new = build_index(home / "corpora", home / "indexes", "demo")
    assert new
    assert manifest.vectors is not None
    assert manifest.vectors.faiss is not None


def test_the_command_says_in_one_line_which_half_is_missing(
    own_home: Path, tmp_path: Path, encoder_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "records.jsonl"
    source.write_text("\n".join((DEMO / "records.jsonl").read_text().splitlines()[:12]))
    add_corpus(own_home / "corpora", "demo", "scienceon", [source], replace=True)
    assert run(["index", "demo"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "vectors" in line.lower()]
    assert lines == [
        f"No vectors for index demo: {own_home / 'weights'} has no encoder's weights (docs/en/reference/encoders.md)."
    ]
    shutil.copytree(encoder_folder, own_home / "weights" / "tiny-encoder")
    assert run(["index", "demo"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if LINE in line]
    assert len(lines) == 1
    assert _current(own_home)[2].rows == 12
    assert run(["index", "demo", "--encoder", "none"]) == 0
    assert current_generation(own_home / "indexes" / "demo")[1].vectors is None
