"""Vectors by the workers of a cluster, seen from the build: those of one machine, with a driver real but for Ray."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.cluster import ray_workers
from shrag.indexing.build.cluster.shard_encoding import FOLDER as SHARDS
from shrag.indexing.build.incremental import update_index
from shrag.indexing.build.job import BuildOptions
from shrag.indexing.errors import IndexingError
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.vector_card import FILE, FOLDER
from tests.support.lone_driver import lone_driver

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.usefixtures("short_builds")]

NAME = "grown"
RECORDS = 150
BY_RAY = BuildOptions(ray="local")


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, grow_corpus: Callable[[Path, str, int], None], encoder_folder: Path
) -> Path:
    """Return a home with a corpus and an encoder's weights. Tests only read it."""
    home = tmp_path_factory.mktemp("ray-vectors") / "home"
    grow_corpus(home, NAME, RECORDS)
    shutil.copytree(encoder_folder, home / "weights" / "tiny-encoder")
    return home


def _build(home: Path, options: BuildOptions | None = None, encoder: str = "") -> bytes:
    """Build the index anew and return its vectors."""
    chosen = encoder or str(home / "weights" / "tiny-encoder")
    build_index(home / "corpora", home / "indexes", NAME, encoder=chosen, force=True, options=options)
    return _vectors(home)


def _vectors(home: Path) -> bytes:
    return (current_generation(home / "indexes" / NAME)[0] / FOLDER / FILE).read_bytes()


@pytest.fixture(scope="module")
def alone(made: Path) -> Path:
    """Return a home in which one machine has built the index. Tests only read it."""
    home = Path(shutil.copytree(made, made.with_name("alone")))
    _build(home)
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    """Return a home without an index that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "home"))


def test_vectors_are_those_of_one_machine_also_where_the_build_was_interrupted(
    alone: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver(encoded=2))
    with pytest.raises(IndexingError, match="controls the Ray cluster ended"):
        _build(home, BY_RAY)
    (shards,) = (home / "indexes" / NAME).rglob(SHARDS)
    assert len(list(shards.glob("*.json"))) == 2
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver(analyzed=0, encoded=1))
    done: list[tuple[str, int]] = []
    options = BuildOptions(ray="local", report=lambda stage, count: done.append((stage, count)))
    assert _build(home, options) == _vectors(alone)
    assert [count for stage, count in done if stage == "vectors"] == [RECORDS, 64, 128, RECORDS, RECORDS]
    manifests = [current_generation(each / "indexes" / NAME)[1] for each in (home, alone)]
    cards = [manifest.vectors for manifest in manifests]
    assert cards[0] is not None
    assert cards[1] is not None
    assert (cards[0].digest, cards[0].rows, cards[0].dimension) == (cards[1].digest, RECORDS, cards[1].dimension)


def test_vectors_that_one_machine_would_copy_are_not_encoded(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(shutil.copytree(alone, tmp_path / "home"))
    _build(home)  # the encoder's path is part of the index
    other = Path(shutil.copytree(home, tmp_path / "other"))
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver(encoded=0))
    before = _vectors(home)
    assert _build(home, BY_RAY) == before

    lines = [json.loads(line) for line in (home / f"{NAME}.jsonl").read_text().splitlines()]
    lines[70]["text"] = "another text"
    for each in (home, other):
        source = each / "changed.jsonl"
        source.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
        add_corpus(each / "corpora", NAME, "miracl", [source], replace=True)
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver(encoded=1))  # that of the changed record
    changed = _build(home, BY_RAY)
    assert changed == _build(other)
    assert changed != before


def test_lsa_and_updates_stay_on_the_machine_of_the_command(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver(encoded=0))
    assert _build(home, BY_RAY, encoder="lsa")
    monkeypatch.setattr(ray_workers, "COMMAND", lone_driver())
    _build(home, BY_RAY)
    more = home / "more.jsonl"
    more.write_text(json.dumps({"docid": "new", "title": "그래핀", "text": "그래핀 필름."}))
    add_corpus(home / "corpora", NAME, "miracl", [home / f"{NAME}.jsonl", more], replace=True)
    monkeypatch.setattr(ray_workers, "COMMAND", ("/nowhere",))
    manifest, changes = update_index(home / "corpora", home / "indexes", NAME, options=BY_RAY)
    assert changes is not None
    assert manifest.vectors is not None
    assert (changes.added, manifest.vectors.rows) == (1, RECORDS + 1)
