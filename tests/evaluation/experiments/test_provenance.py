from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import shrag.evaluation
import shrag.indexing
from shrag.evaluation.experiments.provenance import code_digest, package_versions, read_code_version, read_hardware

ROOT = Path(__file__).resolve().parents[3]


def test_the_digest_changes_with_any_file_that_decides_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "evaluation"
    shutil.copytree(shrag.evaluation.__path__[0], folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = code_digest()
    monkeypatch.setattr(shrag.evaluation, "__path__", [str(folder)])
    assert code_digest() == before
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert code_digest() == before
    (folder / "experiments" / "specs" / "mine.toml").write_text("title = 'another'")
    assert code_digest() == before
    for name in ("errors.py", "experiments/spec.py"):
        (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
        assert code_digest() != before
        before = code_digest()


def test_the_digest_changes_with_the_classes_that_score_in_java_and_with_the_terms_of_headwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "indexing"
    shutil.copytree(shrag.indexing.__path__[0], folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(shrag.indexing, "__path__", [str(folder)])
    for name in ("lexical/java/shrag/QuestionScorer.class", "glossary/terms/headwords.json"):
        before = code_digest()
        (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
        assert code_digest() != before


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None,
    reason="no git, or not a git checkout: there is no commit",
)
def test_the_commit_is_gits_own() -> None:
    code = read_code_version()
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert code.commit == told.strip()
    assert code.dirty == bool(changed.stdout)


def test_without_git_there_is_a_digest_and_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    code = read_code_version()
    assert (code.commit, code.dirty) == ("", None)
    assert code.digest == code_digest()


def test_the_machine_is_what_this_process_may_use() -> None:
    machine = read_hardware()
    assert machine.cores == len(os.sched_getaffinity(0))
    assert machine.processor
    assert machine.system.startswith(os.uname().sysname)


def test_versions_are_of_what_is_installed() -> None:
    assert package_versions()["numpy"]
    assert "bm25s" in package_versions()
    assert "no-such-package" not in package_versions()


def test_versions_of_what_tokenizes_and_searches_vectors_are_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shrag.evaluation.experiments.provenance.version", lambda package: "1.0")
    assert {"tokenizers", "faiss-cpu", "faiss-gpu"} < set(package_versions())
