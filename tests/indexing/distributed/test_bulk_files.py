"""Files for Milvus's bulk import: their columns, their values, and exports that go on."""

from __future__ import annotations

import importlib.util
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet
import pymilvus
import pytest

from shrag.corpora.store.file_checksum import compute_checksum
from shrag.indexing.distributed.bulk_files import BulkFile, export_milvus, read_manifests
from shrag.indexing.distributed.database import collection_name
from shrag.indexing.distributed.load import open_documents
from shrag.indexing.distributed.milvus import MilvusDatabase, row_fields
from shrag.indexing.errors import IndexingError
from shrag.indexing.storage.generations import current_generation
from tests.support.milvus_import import check_schema

pytestmark = pytest.mark.slow

SMALL = 100_000


@pytest.fixture(scope="module")
def home(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with the demonstration's index, which gets a vocabulary."""
    return Path(shutil.copytree(demo_home, tmp_path_factory.mktemp("bulk") / "home"))


@pytest.fixture(scope="module")
def exported(home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[BulkFile]]:
    """Return the folder of an export of many small files, and their manifests."""
    folder = tmp_path_factory.mktemp("exports") / "demo"
    return folder, export_milvus(home / "indexes", "demo", folder, file_bytes=SMALL)


def _validators() -> ModuleType:
    # The package of pymilvus's writer cannot be imported without the clients of two object storages.
    path = Path(pymilvus.__file__).parent / "bulk_writer" / "validators.py"
    specification = importlib.util.spec_from_file_location("bulk_writer_validators", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_file_has_the_fields_of_the_collection_and_its_manifest_is_true(
    home: Path, exported: tuple[Path, list[BulkFile]], tmp_path: Path
) -> None:
    folder, files = exported
    manifest = current_generation(home / "indexes" / "demo")[1]
    assert manifest.vectors is not None
    database = MilvusDatabase(str(tmp_path / "lite.db"))
    database.create("one", manifest.vectors.dimension)
    fields = database.client.describe_collection("one")["fields"]
    database.close()
    assert len(files) > 2
    assert read_manifests(folder, "demo", manifest) == files
    done = 0
    for file in files:
        path = folder / file.name
        with pyarrow.parquet.ParquetFile(path) as parquet:
            check_schema(parquet.schema_arrow, fields)
            assert parquet.schema_arrow.names == [field["name"] for field in fields]
            assert parquet.metadata.num_rows == file.rows
        assert (compute_checksum(path).bytes, compute_checksum(path).sha256) == (file.bytes, file.sha256)
        assert file.first == done
        assert file.bytes < 4 * SMALL
        done += file.rows
    assert done == manifest.records == 235
    assert len(list(folder.iterdir())) == 2 * len(files)


def test_every_value_is_that_of_the_ordinary_load_and_valid_to_pymilvus(
    home: Path, exported: tuple[Path, list[BulkFile]]
) -> None:
    folder, files = exported
    validators = _validators()
    generation, manifest = current_generation(home / "indexes" / "demo")
    assert manifest.vectors is not None
    with open_documents(generation, manifest) as documents:
        wanted = [row_fields(row) for row in documents.rows(range(manifest.records))]
    found = [row for file in files for row in pyarrow.parquet.read_table(folder / file.name).to_pylist()]
    for row, fields in zip(found, wanted, strict=True):
        sparse = json.loads(row.pop("sparse"))
        validators.sparse_vector_validator({int(dimension): weight for dimension, weight in sparse.items()})
        validators.float_vector_validator(row["dense"], manifest.vectors.dimension)
        weights = {int(dimension): float(np.float32(weight)) for dimension, weight in sparse.items()}
        assert weights == fields.pop("sparse")
        assert row.pop("dense") == fields.pop("dense").tolist()
        assert row == fields


def test_an_index_without_vectors_has_a_collection_and_files_without_them(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shrag.indexing.distributed import load

    monkeypatch.setattr(load, "open_vectors", lambda *_: None)
    (file,) = export_milvus(home / "indexes", "demo", tmp_path / "demo")
    assert "dense" not in pyarrow.parquet.read_schema(tmp_path / "demo" / file.name).names


_EXPORT = f"""
import sys; from pathlib import Path
from shrag.indexing.distributed.bulk_files import export_milvus
report = lambda what, done: (print(done, flush=True), sys.stdin.readline())
export_milvus(Path(sys.argv[1]) / "indexes", "demo", Path(sys.argv[2]), report, {SMALL})
"""


@pytest.mark.process
def test_a_killed_export_goes_on_after_its_last_whole_file_and_ends_in_the_same_files(
    home: Path, exported: tuple[Path, list[BulkFile]], tmp_path: Path
) -> None:
    wanted, files = exported
    folder = tmp_path / "demo"
    command = [sys.executable, "-c", _EXPORT, str(home), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as exporting:
        assert exporting.stdin is not None
        assert exporting.stdout is not None
        exporting.stdout.readline()
        exporting.stdin.write("go on\n")
        exporting.stdout.readline()
        exporting.send_signal(signal.SIGKILL)
    whole = [path for path in folder.glob("*.parquet") if path.with_suffix(".json").exists()]
    times = {path.name: path.stat().st_mtime_ns for path in whole}
    assert set(times) == {file.name for file in files[:2]}
    (folder / files[2].name).write_bytes(b"PAR1 and not more of it")
    with pytest.raises(IndexingError, match=r"has manifests of \d+ of the 235 records of generation 1 of index demo"):
        read_manifests(folder, "demo", current_generation(home / "indexes" / "demo")[1])
    assert export_milvus(home / "indexes", "demo", folder, file_bytes=SMALL) == files
    assert {name: (folder / name).stat().st_mtime_ns for name in times} == times
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in wanted.iterdir()
    }


def test_damaged_files_are_written_again_and_others_of_another_division_removed(
    home: Path, exported: tuple[Path, list[BulkFile]], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(exported[0], tmp_path / "demo"))
    files = exported[1]
    data = (folder / files[1].name).read_bytes()
    (folder / files[1].name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    (folder / files[2].name).with_suffix(".json").write_text("{", encoding="utf-8")
    assert export_milvus(home / "indexes", "demo", folder, file_bytes=SMALL) == files
    assert (folder / files[1].name).read_bytes() == data
    (folder / files[0].name).unlink()
    (file,) = export_milvus(home / "indexes", "demo", folder)
    assert file.rows == 235
    assert {path.name for path in folder.iterdir()} == {file.name, file.name.replace(".parquet", ".json")}


def test_a_folder_with_anything_else_is_refused(home: Path, tmp_path: Path) -> None:
    stem = collection_name("demo", current_generation(home / "indexes" / "demo")[1])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / stem.replace("000001", "000002")).write_text("an export of another generation")
    (tmp_path / "file").write_text("a file")
    for folder in (tmp_path / "mine", tmp_path / "file"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(IndexingError, match="which does not belong to this export: choose a new folder"):
            export_milvus(home / "indexes", "demo", folder)
        assert sorted(tmp_path.rglob("*")) == before
