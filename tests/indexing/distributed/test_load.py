"""Loading a generation into a vector database, publishing it there, rolling back; over Qdrant's core."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.distributed import load, searcher
from shrag.indexing.distributed.collection import Between, StoredParts
from shrag.indexing.distributed.database import alias_name, collection_name, is_of_index, open_database
from shrag.indexing.distributed.load import LoadProgress, load_index
from shrag.indexing.distributed.opening import load_folder
from shrag.indexing.distributed.qdrant_edge import EdgeCollection
from shrag.indexing.errors import IndexMismatch
from shrag.indexing.lexical.schema import FOLDER as LUCENE
from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.open_index import open_index
from shrag.indexing.query import Query, any_of
from shrag.indexing.record_filter import RecordFilter
from shrag.indexing.search_engine import LUCENE as LUCENE_ENGINE
from shrag.indexing.search_engine import EngineChoice
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import generation_folder, read_generation, remove_folder, set_current
from shrag.serving.engine import Engine, open_engine
from shrag.serving.runtime import hot_reload
from tests.indexing.storage.test_manifest import SMALL
from tests.support.published import publish_copy

pytestmark = pytest.mark.slow

QUESTIONS = (
    "그래핀 에어로겔의 전자파 차폐 성능은?",
    "deep learning for diabetic retinopathy screening",
    "Mechanical Turk 말뭉치",
)


@pytest.fixture
def home(demo_home: Path, tmp_path: Path) -> Path:
    """Return a home with the demonstration's index, to be loaded."""
    return Path(shutil.copytree(demo_home, tmp_path / "home"))


def _edge(home: Path) -> EngineChoice:
    return EngineChoice("qdrant", str(home / "edge"))


def _stored(home: Path, generation: int = 1) -> dict[int, StoredParts]:
    """Return all that the collection of a generation has."""
    manifest = read_generation(home / "indexes" / "demo", generation)
    with closing(open_database(_edge(home))) as database:
        collection = database.open(collection_name("demo", manifest))
        assert collection is not None
        return collection.read(collection.find(Between("number", 0, 9_999), 9_999), ("docid", "sparse", "stored"))


def _same(left: dict[int, StoredParts], right: dict[int, StoredParts]) -> bool:
    return left.keys() == right.keys() and all(
        each.docid == right[number].docid
        and each.stored == right[number].stored
        and each.sparse is not None
        and all(map(np.array_equal, each.sparse, right[number].sparse or ()))
        for number, each in left.items()
    )


def test_a_loaded_index_answers_word_for_word_as_lucene_does(home: Path, demo: Engine) -> None:
    assert load_index(home / "indexes", "demo", _edge(home))
    # A machine that serves needs neither Lucene's files nor the vectors.
    shutil.rmtree(generation_folder(home / "indexes" / "demo", 1) / LUCENE)
    (generation_folder(home / "indexes" / "demo", 1) / "vectors" / "passages.f16").unlink()
    with open_engine(home / "indexes", "demo", engine=_edge(home)) as engine:
        for question in QUESTIONS:
            # Rounding lets in other candidates at the end of the lists, over which hybrid has means and deviations.
            for strategy, tolerance in (("shrag", 1e-4), ("hybrid", 1e-3)):
                found, wanted = (each.ask(question, strategy=strategy, facets=True) for each in (engine, demo))
                assert found.answer == wanted.answer
                assert found.search.facets == wanted.search.facets
                assert [each.record for each in found.search] == [each.record for each in wanted.search]
                assert [each.score for each in found.search] == pytest.approx(
                    [each.score for each in wanted.search], abs=tolerance
                )


def test_of_very_many_hits_all_undated_ones_and_languages_are_counted(
    home: Path, demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_index(home / "indexes", "demo", _edge(home))
    monkeypatch.setattr(searcher, "MOST_FACETED", 0)
    with open_engine(home / "indexes", "demo", engine=_edge(home)) as engine:
        for chosen in (RecordFilter(), RecordFilter(year_from=2020), RecordFilter(language=("ko",), year_to=2021)):
            query: list[Query] = [any_of(["그래핀", "graphen", "탄소", "carbon"])]
            found, wanted = (each.open_index.searcher.count_facets(query, chosen) for each in (engine, demo))
            assert (found.total, found.undated, found.language) == (wanted.total, wanted.undated, wanted.language)
            assert found.journal == found.author == found.type == found.year == ()


def test_an_index_without_any_term_is_loaded_and_finds_nothing(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"a{number}", "title": "مقالة", "text": "هذا نص قصير."}) for number in range(5)]
    (tmp_path / "arab.jsonl").write_text("\n".join(lines), encoding="utf-8")
    add_corpus(tmp_path / "corpora", "arab", "table", [tmp_path / "arab.jsonl"])
    build_index(tmp_path / "corpora", tmp_path / "indexes", "arab", encoder="lsa")
    assert load_index(tmp_path / "indexes", "arab", _edge(tmp_path))
    for choice in (LUCENE_ENGINE, _edge(tmp_path)):
        with closing(open_engine(tmp_path / "indexes", "arab", engine=choice)) as engine:
            assert list(engine.search("graphene", strategy="hybrid")) == []
            assert engine.ask("graphene").answer.citations == ()
            assert engine.open_index.checksums.state != "damaged"


def test_a_load_that_is_complete_is_not_repeated(home: Path) -> None:
    reports: list[int] = []
    assert load_index(home / "indexes", "demo", _edge(home))
    assert not load_index(home / "indexes", "demo", _edge(home), lambda what, done: reports.append(done))
    assert reports == []


_LOAD = """
import sys; from pathlib import Path
from shrag.indexing.distributed.load import LoadProgress, load_index
from shrag.indexing.query import Query, any_of
from shrag.indexing.record_filter import RecordFilter
from shrag.indexing.search_engine import LUCENE as LUCENE_ENGINE
from shrag.indexing.search_engine import EngineChoice
home = Path(sys.argv[1])
engine = EngineChoice("qdrant", str(home / "edge"))
load_index(home / "indexes", "demo", engine, lambda what, done: print(done, flush=True), 40)
"""


@pytest.mark.process
def test_a_killed_load_goes_on_after_its_last_shard_and_ends_in_the_same_collection(home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _LOAD, str(home)], stdout=subprocess.PIPE, text=True) as loading:
        assert loading.stdout is not None
        for line in loading.stdout:
            if line == "80\n":
                loading.send_signal(signal.SIGKILL)
                break
    with pytest.raises(IndexMismatch, match="cannot serve generation 1"):
        open_index(home / "indexes", "demo", "", engine=_edge(home))
    reports: list[int] = []
    assert load_index(home / "indexes", "demo", _edge(home), lambda what, done: reports.append(done))
    assert reports[0] >= 80
    resumed = _stored(home)
    shutil.rmtree(home / "edge")
    assert load_index(home / "indexes", "demo", _edge(home))
    assert len(resumed) == 235
    assert _same(resumed, _stored(home))


def test_a_collection_that_was_not_created_to_the_end_is_completed_before_it_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, complete, filled = MagicMock(), MagicMock(), MagicMock()
    there.count.return_value, complete.count.return_value = 0, 1
    database = MagicMock(open=MagicMock(return_value=there), create=MagicMock(return_value=complete))
    monkeypatch.setattr(load, "open_documents", lambda *_: nullcontext(("searcher", "vocabulary", None)))
    monkeypatch.setattr(load, "copy_documents", filled)
    progress = LoadProgress(tmp_path / "progress", "collection")
    assert load._load(database, tmp_path, SMALL, progress, lambda what, done: None, 8)
    database.create.assert_called_once_with("collection", 0)
    assert filled.call_args.args[:5] == ("searcher", "vocabulary", complete, None, 0)
    complete.finish.assert_called_once_with()


def test_a_database_that_has_lost_what_was_loaded_is_loaded_anew(home: Path) -> None:
    load_index(home / "indexes", "demo", _edge(home))
    before = _stored(home)
    with closing(open_database(_edge(home))) as database:
        database.drop(collection_name("demo", read_generation(home / "indexes" / "demo", 1)))
    with pytest.raises(IndexMismatch, match="it is not loaded"):
        open_index(home / "indexes", "demo", "", engine=_edge(home))
    assert load_index(home / "indexes", "demo", _edge(home))
    assert _same(before, _stored(home))


@pytest.fixture
def generations(three_generations: Path, tmp_path: Path) -> Path:
    """Return a home whose index has three generations, the second and the third loaded."""
    home = Path(shutil.copytree(three_generations, tmp_path / "home"))
    for number in (2, 3):
        set_current(home / "indexes" / "demo", number)
        load_index(home / "indexes", "demo", _edge(home))
    return home


def test_the_alias_follows_publishing_and_rolling_back(generations: Path) -> None:
    indexes, engine = generations / "indexes", _edge(generations)

    def published() -> str:
        with closing(open_database(engine)) as database:
            return database.target(alias_name("demo"))

    names = {number: collection_name("demo", read_generation(indexes / "demo", number)) for number in (1, 2, 3)}
    assert published() == names[3]
    assert roll_back(indexes, "demo", engine=engine).generation == 2
    assert published() == names[2]
    index = open_index(indexes, "demo", "", engine=engine)
    assert index.manifest.generation == 2
    index.close()
    with pytest.raises(IndexMismatch, match=r"generation 1 of index demo \(it is not loaded\)"):
        roll_back(indexes, "demo", engine=engine)
    assert published() == names[2]
    roll_back(indexes, "demo", 3)  # without the engine
    with pytest.raises(IndexMismatch, match="another generation is published"):
        open_index(indexes, "demo", "", engine=engine)


def test_a_server_answers_from_the_loaded_generation_until_the_next_one_is_loaded(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, engine = home / "indexes" / "demo", _edge(home)
    load_index(index.parent, "demo", engine)
    monkeypatch.setattr(hot_reload, "_RETRY_SECONDS", 0.0)

    def open_it(verify: Verify, generation: int | None) -> Engine:
        return open_engine(index.parent, "demo", verify=verify, generation=generation, engine=engine)

    with closing(hot_reload.CurrentIndex(index, open_it)) as current:
        publish_copy(index, generation_folder(index, 1))
        assert not current.refresh()
        assert "cannot serve generation 2 of index demo (it is not loaded)" in current.status.problem
        with current.use() as answering:
            assert answering.manifest.generation == 1
            assert len(answering.search(QUESTIONS[0])) > 0
        load_index(index.parent, "demo", engine)
        assert current.refresh(), current.status.problem
        assert current.status.generation == 2
        assert current.status.problem == ""


def test_a_full_disk_leaves_the_progress_that_names_the_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = LoadProgress(tmp_path / "progress.jsonl", "first")
    progress.begin(0)
    progress.append(5)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        progress.begin(0)
    assert progress.read() == 5
    assert LoadProgress.collection_of(progress.path) == "first"


def test_a_collection_is_dropped_with_its_generation_and_no_other_is(generations: Path) -> None:
    index, engine = generations / "indexes" / "demo", _edge(generations)
    names = {number: collection_name("demo", read_generation(index, number)) for number in (2, 3)}
    remove_folder(generation_folder(index, 2))
    assert not load_index(index.parent, "demo", engine)
    with closing(open_database(engine)) as database:
        assert database.open(names[2]) is None
        assert database.open(names[3]) is not None
    assert not load_folder(index, 2).exists()
    assert load_folder(index, 3).exists()


def test_indexes_whose_names_differ_in_a_hyphen_share_no_collection_and_drop_only_their_own(home: Path) -> None:
    indexes, engine = home / "indexes", _edge(home)
    (indexes / "demo").rename(indexes / "a-b")
    shutil.copytree(indexes / "a-b", indexes / "a_b")
    assert load_index(indexes, "a-b", engine)
    assert load_index(indexes, "a_b", engine)
    publish_copy(indexes / "a-b", generation_folder(indexes / "a-b", 1))
    remove_folder(generation_folder(indexes / "a-b", 1))
    assert load_index(indexes, "a-b", engine)
    for name in ("a-b", "a_b"):
        with closing(open_engine(indexes, name, engine=engine)) as opened:
            assert list(opened.search(QUESTIONS[0]))


def test_a_collection_whose_name_may_be_that_of_another_index_is_not_dropped() -> None:
    assert is_of_index("shrag_sci_000007_0123456789ab", "sci")
    assert not is_of_index("shrag_a_b_000007_0123456789ab", "a-b")


def test_a_failing_database_leaves_the_published_generation(generations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, engine = generations / "indexes" / "demo", _edge(generations)
    set_current(index, 1)
    upsert = EdgeCollection.upsert

    def fail(*_: object) -> None:
        raise OSError("no space left on the server")

    monkeypatch.setattr(EdgeCollection, "upsert", fail)
    with pytest.raises(OSError, match="no space left"):
        load_index(index.parent, "demo", engine)
    monkeypatch.setattr(EdgeCollection, "upsert", upsert)
    with closing(open_database(engine)) as database:
        assert database.target(alias_name("demo")) == collection_name("demo", read_generation(index, 3))
    assert load_index(index.parent, "demo", engine)
