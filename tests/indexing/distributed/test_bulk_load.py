"""Loading by bulk import into a stand-in for a Milvus server, and comparing what it then serves with the ordinary load.

The stand-in (:mod:`tests.support.milvus_import`) is Milvus Lite with an import of its own: no Milvus that imports files
was at hand. What is real is everything but the server's reader.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from shrag.indexing.distributed import bulk_load as module
from shrag.indexing.distributed.bulk_files import BulkFile, export_milvus
from shrag.indexing.distributed.bulk_load import bulk_load
from shrag.indexing.distributed.collection import Between
from shrag.indexing.distributed.database import alias_name, collection_name, open_database
from shrag.indexing.distributed.load import load_index
from shrag.indexing.errors import EngineUnavailable, IndexingError, IndexMismatch
from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.record_filter import RecordFilter
from shrag.indexing.search_engine import EngineChoice
from shrag.indexing.storage.generations import read_generation, set_current
from shrag.serving.engine import open_engine
from tests.support.milvus_import import ImportingServicer, importing_server

pytestmark = pytest.mark.slow

PREFIX = "shrag/demo"
QUESTIONS = (
    "그래핀 에어로겔의 전자파 차폐 성능은?",
    "deep learning for diabetic retinopathy screening",
    "Mechanical Turk 말뭉치",
)
FILTERS = (
    RecordFilter(),
    RecordFilter(2015, 2021),
    RecordFilter(language=("ko",)),
    RecordFilter(type=("article",), year_to=2022),
)


@pytest.fixture
def home(demo_home: Path, tmp_path: Path) -> Path:
    """Return a home with the demonstration's index."""
    return Path(shutil.copytree(demo_home, tmp_path / "home"))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImportingServicer]:
    """Return the stand-in, which reads the folder ``bucket``."""
    monkeypatch.setattr(module, "_POLL_SECONDS", 0.05)
    with importing_server(tmp_path / "milvus", tmp_path / "bucket") as servicer:
        yield servicer


def _choice(server: ImportingServicer) -> EngineChoice:
    return EngineChoice("milvus", server.address, timeout=30.0)


def _export(home: Path, bucket: Path) -> list[BulkFile]:
    """Write an export, and copy its files as a user would; return their manifests."""
    files = export_milvus(home / "indexes", "demo", home / "demo-milvus", file_bytes=100_000)
    (bucket / PREFIX).mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(home / "demo-milvus" / file.name, bucket / PREFIX)
    return files


def _bulk_load(home: Path, server: ImportingServicer, prefix: str = PREFIX) -> bool:
    return bulk_load(home / "indexes", "demo", home / "demo-milvus", _choice(server), prefix)


def _published(server: ImportingServicer) -> str:
    with closing(open_database(_choice(server))) as database:
        return database.target(alias_name("demo"))


def test_a_bulk_load_serves_the_records_rankings_and_filters_of_the_ordinary_load(
    home: Path, server: ImportingServicer, tmp_path: Path
) -> None:
    files = _export(home, tmp_path / "bucket")
    reports: list[tuple[str, int]] = []
    folder, indexes = home / "demo-milvus", home / "indexes"
    for file in files:
        (folder / file.name).unlink()  # the manifests are enough
    assert bulk_load(indexes, "demo", folder, _choice(server), PREFIX, lambda what, done: reports.append((what, done)))
    assert reports[0] == ("records loaded", 0)
    assert reports[-1] == ("records loaded", 235)
    assert server.asked == [f"{PREFIX}/{file.name}" for file in files]
    assert not bulk_load(indexes, "demo", folder, _choice(server), PREFIX)
    assert not load_index(indexes, "demo", _choice(server))
    assert len(server.asked) == len(files)

    ordinary = EngineChoice("milvus", str(tmp_path / "ordinary.db"), timeout=30.0)
    assert load_index(indexes, "demo", ordinary)
    stored = []
    for choice in (_choice(server), ordinary):
        with closing(open_database(choice)) as database:
            collection = database.open(database.target(alias_name("demo")))
            assert collection is not None
            numbers = collection.find(Between("number", 0, 9_999), 9_999)
            stored.append(collection.read(numbers, ("docid", "sparse", "dense", "stored")))
    assert stored[0].keys() == stored[1].keys() == set(range(235))
    for number, bulk in stored[0].items():
        other = stored[1][number]
        assert (bulk.docid, bulk.stored) == (other.docid, other.stored)
        assert bulk.sparse is not None
        assert other.sparse is not None
        assert all(map(np.array_equal, bulk.sparse, other.sparse))
        assert bulk.dense is not None
        assert other.dense is not None
        assert np.array_equal(bulk.dense, other.dense)

    with (
        open_engine(indexes, "demo", engine=_choice(server)) as one,
        open_engine(indexes, "demo", engine=ordinary) as two,
    ):
        for question in QUESTIONS:
            for chosen in FILTERS:
                found, wanted = (each.search(question, record_filter=chosen, facets=True) for each in (one, two))
                assert [(hit.record, hit.score) for hit in found] == [(hit.record, hit.score) for hit in wanted]
                assert found.facets == wanted.facets
            assert one.ask(question, strategy="hybrid").answer == two.ask(question, strategy="hybrid").answer


def test_files_that_milvus_cannot_import_publish_nothing_and_are_imported_once_they_are_there(
    home: Path, server: ImportingServicer, tmp_path: Path
) -> None:
    files = _export(home, tmp_path / "bucket")
    (tmp_path / "bucket" / PREFIX / files[1].name).unlink()
    with pytest.raises(IndexingError, match=r"could not import shrag/demo/.*000002.parquet \(.*No such file"):
        _bulk_load(home, server)
    assert _published(server) == ""
    with pytest.raises(IndexMismatch, match="cannot serve generation 1"):
        open_engine(home / "indexes", "demo", engine=_choice(server))
    _export(home, tmp_path / "bucket")
    assert _bulk_load(home, server)
    assert _published(server) == collection_name("demo", read_generation(home / "indexes" / "demo", 1))


def test_a_collection_that_lacks_records_is_not_published_and_begun_anew(
    home: Path, server: ImportingServicer, tmp_path: Path
) -> None:
    files = _export(home, tmp_path / "bucket")
    path = tmp_path / "bucket" / PREFIX / files[0].name
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).slice(1), path)
    with pytest.raises(EngineUnavailable, match="has 234 records after 235 were loaded"):
        _bulk_load(home, server)
    assert _published(server) == ""
    _export(home, tmp_path / "bucket")
    assert _bulk_load(home, server)
    assert _published(server) != ""


_LOAD = f"""
import sys; from pathlib import Path
from shrag.indexing.distributed import bulk_load
from shrag.indexing.search_engine import EngineChoice
home = Path(sys.argv[1])
bulk_load._POLL_SECONDS, bulk_load._MOST_JOBS = 0.05, 2
choice = EngineChoice("milvus", sys.argv[2], timeout=30.0)
bulk_load.bulk_load(home / "indexes", "demo", home / "demo-milvus", choice, "{PREFIX}")
"""


@pytest.mark.process
def test_a_killed_load_waits_for_its_jobs_and_imports_no_file_twice(
    home: Path, server: ImportingServicer, tmp_path: Path
) -> None:
    files = _export(home, tmp_path / "bucket")
    server.released.clear()
    with subprocess.Popen([sys.executable, "-c", _LOAD, str(home), server.address]) as loading:
        notes = home / "indexes" / "demo" / "loads" / "gen-000001"
        end = time.monotonic() + 60
        # What is imported, and two files with their jobs.
        while sum(len(each.read_bytes().splitlines()) for each in notes.glob("*.jobs")) < 5:
            assert time.monotonic() < end
            assert loading.poll() is None
            time.sleep(0.05)
        loading.send_signal(signal.SIGKILL)
    assert len(server.asked) == 2 < len(files)
    assert _published(server) == ""
    server.released.set()
    assert _bulk_load(home, server)
    assert sorted(server.asked) == [f"{PREFIX}/{file.name}" for file in files]
    assert _published(server) != ""


@pytest.mark.parametrize("lost", ["a job that the server no longer knows", "a job that may have begun", "other files"])
def test_an_import_that_cannot_be_continued_begins_with_an_empty_collection(
    home: Path, server: ImportingServicer, tmp_path: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _export(home, tmp_path / "bucket")
    with monkeypatch.context() as patched:
        patched.setattr(module, "check_count", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            _bulk_load(home, server)
    (notes,) = (home / "indexes" / "demo" / "loads" / "gen-000001").glob("*.jobs")
    lines = notes.read_bytes().splitlines(keepends=True)
    prefix = PREFIX
    if lost.startswith("a job that the"):
        notes.write_bytes(b"".join(lines[:3]))
        server.forgotten.add(1)
        with pytest.raises(IndexingError, match=r"\(import job does not exist, jobID=1\).* run again"):
            _bulk_load(home, server)
    elif lost.startswith("a job that may"):
        notes.write_bytes(b"".join(lines[:2]))
    else:
        prefix = "elsewhere"
        (tmp_path / "bucket" / PREFIX).rename(tmp_path / "bucket" / prefix)
    asked = len(server.asked)
    assert _bulk_load(home, server, prefix)
    assert server.asked[asked:] == [f"{prefix}/{file.name}" for file in files]
    assert not notes.exists()
    with open_engine(home / "indexes", "demo", engine=_choice(server)) as engine:
        assert engine.manifest.records == 235


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_published_collection_that_lacks_records_is_not_emptied(
    home: Path, server: ImportingServicer, tmp_path: Path
) -> None:
    _export(home, tmp_path / "bucket")
    _bulk_load(home, server)
    with closing(open_database(_choice(server))) as database:
        database.client.delete(_published(server), filter="number == 7")  # type: ignore[attr-defined]
    with pytest.raises(IndexingError, match="is published and lacks records"):
        _bulk_load(home, server)
    with closing(open_database(_choice(server))) as database:
        collection = database.open(_published(server))
        assert collection is not None
        assert collection.count() == 234
    assert load_index(home / "indexes", "demo", _choice(server))


def test_the_alias_goes_back_to_what_was_loaded_in_this_way(
    three_generations: Path, server: ImportingServicer, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(three_generations, tmp_path / "home"))
    index = home / "indexes" / "demo"
    names = {}
    for number in (2, 3):
        set_current(index, number)
        shutil.rmtree(home / "demo-milvus", ignore_errors=True)
        _export(home, tmp_path / "bucket")
        _bulk_load(home, server)
        names[number] = collection_name("demo", read_generation(index, number))
        assert _published(server) == names[number]
    assert roll_back(index.parent, "demo", engine=_choice(server)).generation == 2
    assert _published(server) == names[2]


def test_milvus_lite_imports_no_files(home: Path, tmp_path: Path) -> None:
    from milvus_lite.adapter.grpc.server import start_server_in_thread

    export_milvus(home / "indexes", "demo", home / "demo-milvus")
    server, database, port = start_server_in_thread(str(tmp_path / "lite"))
    choice = EngineChoice("milvus", f"http://127.0.0.1:{port}")
    try:
        with pytest.raises(EngineUnavailable, match="Method not implemented"):
            bulk_load(home / "indexes", "demo", home / "demo-milvus", choice, "")
    finally:
        server.stop(0)
        database.close()


@pytest.mark.parametrize(
    "choice", [EngineChoice("milvus", "lite.db"), EngineChoice("qdrant", "http://127.0.0.1:9"), EngineChoice()]
)
def test_what_is_no_milvus_server_is_refused(home: Path, choice: EngineChoice) -> None:
    export_milvus(home / "indexes", "demo", home / "demo-milvus")
    with pytest.raises(IndexingError, match="Only a Milvus server imports files"):
        bulk_load(home / "indexes", "demo", home / "demo-milvus", choice, "")


@pytest.mark.parametrize(
    "prefix", ["http://169.254.169.254/latest", "s3:bucket", "/", "../other", "a//b", "a/../b", "a\\b", "a/", "a\nb"]
)
def test_a_prefix_that_is_no_folder_of_the_bucket_is_refused(home: Path, prefix: str) -> None:
    export_milvus(home / "indexes", "demo", home / "demo-milvus")
    choice = EngineChoice("milvus", "http://127.0.0.1:9")
    with pytest.raises(IndexingError, match=r"is not a prefix of objects in Milvus's bucket"):
        bulk_load(home / "indexes", "demo", home / "demo-milvus", choice, prefix)


def test_an_empty_folder_and_one_of_another_generation_are_refused(three_generations: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(three_generations, tmp_path / "home"))
    set_current(home / "indexes" / "demo", 2)
    export_milvus(home / "indexes", "demo", home / "demo-milvus")
    set_current(home / "indexes" / "demo", 3)
    (tmp_path / "empty").mkdir()
    for folder in (home / "demo-milvus", tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(IndexingError, match=r"has manifests of 0 of the .* records of generation 3 of index demo"):
            bulk_load(home / "indexes", "demo", folder, EngineChoice("milvus", "http://127.0.0.1:9"), "")
