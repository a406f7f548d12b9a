"""The data folder, corpora, indexes and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from shrag.cli.doctor import data
from shrag.cli.doctor.data import check_corpora, check_home, check_indexes, check_models
from shrag.cli.doctor.finding import DoctorFinding
from shrag.cli.settings import Home
from shrag.corpora.errors import CorpusError
from shrag.corpora.store import open_corpus
from shrag.indexing import open_index
from shrag.indexing.errors import IndexDamaged, IndexMissing
from shrag.models.encoders import weights
from shrag.models.encoders.catalog import ModelCard
from shrag.models.errors import WeightsRejected


@pytest.mark.parametrize(
    "folder", ["gte-multilingual-base", "gte", "models--Alibaba-NLP--gte-multilingual-base/snapshots/1"]
)
def test_a_model_without_its_weights_is_a_failure_under_each_name_that_its_folder_may_have(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "config.json").write_text("{}", encoding="utf-8")
    (found,) = [each for each in check_models(tmp_path) if each.status == "failure"]
    assert (found.check, found.exit_status) == ("gte-multilingual-base", 6)
    assert found.message == f"{tmp_path / folder} has no model.safetensors: copy the whole folder."
    assert found.repair.startswith("copy the model's whole folder again")


def test_without_a_folder_of_weights_nothing_fails(tmp_path: Path) -> None:
    findings = list(check_models(tmp_path / "weights"))
    assert {each.status for each in findings} == {"ok"}
    assert findings[-1].message == f"none under {tmp_path / 'weights'}: vectors and re-ranking by models need them"


def _lines(findings: Iterable[DoctorFinding]) -> list[tuple[str, str, str, int]]:
    return [(each.check, each.status, each.message, each.exit_status) for each in findings]


def test_a_data_folder_can_be_written_to_where_each_folder_that_exists_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "not" / "yet")
    assert _lines(check_home(home)) == [("Home", "ok", str(home.path), 0)]
    tried: list[Path | None] = []
    closed = tmp_path / "not" / "yet" / "indexes" / "sci"

    @contextmanager
    def temporary_file(dir: Path | None) -> Iterator[None]:
        tried.append(dir)
        if dir == closed:
            raise PermissionError(13, "Permission denied")
        yield

    monkeypatch.setattr(data, "TemporaryFile", temporary_file)
    assert _lines(check_home(home)) == [("Home", "ok", str(home.path), 0)]
    assert tried == [None, tmp_path]
    closed.mkdir(parents=True)
    (home.indexes / "a.txt").touch()
    (home.corpora / "lib").mkdir(parents=True)
    tried.clear()
    (found,) = check_home(home)
    assert tried == [None, home.path, home.path, home.corpora, home.indexes, home.corpora / "lib", closed]
    assert (found.status, found.exit_status) == ("failure", 2)
    assert found.message == f"{closed} cannot be written to (Permission denied)"
    assert found.repair.startswith("give this user permission to write to it")


def test_the_folder_of_temporary_files_is_named_by_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(dir: Path | None) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(data, "TemporaryFile", none)
    assert _lines(check_home(Home(tmp_path))) == [
        ("Home", "failure", "TMPDIR cannot be written to (No usable temporary directory found)", 2),
    ]


def test_every_corpus_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(folder: Path, name: str) -> int:
        if name == "sci":
            return 1_200
        raise CorpusError("Its records are damaged.") if name == "lib" else OSError(5, "Input/output error")

    monkeypatch.setattr(open_corpus, "list_corpora", lambda folder: ["lib", "sci", "wiki"])
    monkeypatch.setattr(open_corpus, "check_corpus", check)
    assert _lines(check_corpora(tmp_path)) == [
        ("Corpus lib", "failure", "Its records are damaged.", 3),
        ("Corpus sci", "ok", "1,200 records, verified", 0),
        ("Corpus wiki", "failure", "[Errno 5] Input/output error", 3),
    ]
    assert "`shrag corpus replace wiki`" in list(check_corpora(tmp_path))[2].repair


def test_every_index_is_checked_and_one_that_is_not_built_yet_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexes = tmp_path / "indexes"
    assert _lines(check_indexes(indexes)) == [("Indexes", "warning", f"none under {indexes}", 0)]
    for name in ("damaged", "good", "locked", "new"):
        (indexes / name).mkdir(parents=True)
    (indexes / "a.txt").touch()

    def check(folder: Path, name: str) -> SimpleNamespace:
        if name == "good":
            return SimpleNamespace(generation=3, records=1_200, files={"a": 1, "b": 2})
        raise {
            "damaged": IndexDamaged("A file is damaged."),
            "locked": PermissionError(13, "Permission denied", "locked/f"),
            "new": IndexMissing("There is no index."),
        }[name]

    monkeypatch.setattr(open_index, "check_index", check)
    found = list(check_indexes(indexes))
    assert _lines(found) == [
        ("Index damaged", "failure", "A file is damaged.", 4),
        ("Index good", "ok", "generation 3, 1,200 records, analyzer and 2 files verified", 0),
        ("Index locked", "failure", "locked/f cannot be read (Permission denied)", 4),
        ("Index new", "warning", "not built yet", 0),
    ]
    assert [each.repair.partition("`")[2][:12] for each in found] == [
        "shrag index ",
        "",
        "chmod -R u+r",
        "shrag index ",
    ]
    (unreadable,) = check_indexes(indexes / "a.txt")
    assert (unreadable.status, unreadable.exit_status) == ("failure", 4)
    assert unreadable.message == f"{indexes / 'a.txt'} cannot be read (Not a directory)"


def test_packages_that_models_need_are_missed_only_where_there_are_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "find_spec", lambda package: None if package == "faiss" else object())
    says = "not installed (vector search): ranking is by BM25 and sentences"
    assert _lines(check_models(tmp_path))[:2] == [
        ("sentence_transformers", "ok", "installed (encoders and re-rankers)", 0),
        ("faiss", "ok", says, 0),
    ]
    own = tmp_path / "own"
    own.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (own / name).write_text("{}", encoding="utf-8")
    header = b'{"w":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}'
    (own / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"xx")
    (tmp_path / "notes").mkdir()
    found = list(check_models(tmp_path))
    assert _lines(found)[1] == ("faiss", "warning", says, 0)
    assert "'shrag[cpu]'" in found[1].repair
    digest = weights.check_weights("own", own).digest[:16]
    assert _lines(found)[2:] == [
        ("own", "ok", f"complete; the catalogue has no checksums for this model, weights {digest}", 0),
    ]


def test_a_model_of_the_catalogue_is_verified_in_its_folder_or_its_snapshot_and_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = tmp_path / "models--Alibaba-NLP--gte-multilingual-base" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (tmp_path / "own").mkdir()
    for folder in (snapshot.parents[1], tmp_path / "own"):
        (folder / "config.json").write_text("{}", encoding="utf-8")
    checked = weights.Weights(snapshot, {"config.json": "0"})

    def check(name: str, folder: Path, card: ModelCard | None = None) -> weights.Weights:
        if card is None:
            raise WeightsRejected(f"{name} is damaged.")
        return checked

    monkeypatch.setattr(weights, "check_weights", check)
    found = _lines(each for each in check_models(tmp_path) if each.check in ("gte-multilingual-base", "own"))
    assert found == [
        ("gte-multilingual-base", "ok", f"verified at {snapshot}, weights {checked.digest[:16]}", 0),
        ("own", "failure", "own is damaged.", 6),
    ]
