"""``shrag doctor`` on a home with damage."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shrag.cli.commands import doctor
from shrag.cli.doctor.data import check_corpora, check_home, check_indexes
from shrag.cli.doctor.finding import DoctorFinding
from shrag.cli.main import run
from shrag.cli.settings import Home
from shrag.indexing.storage.generations import generation_folder

NOBODY = 65_534


@pytest.fixture
def home(demo_home: Path) -> Iterator[Path]:
    """Return a home with the demonstration that everybody can look into."""
    folder = Path(tempfile.mkdtemp(prefix="shrag-doctor-"))
    shutil.copytree(demo_home, folder, dirs_exist_ok=True)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def _lose_current(home: Path) -> None:
    (home / "indexes" / "demo" / "CURRENT").unlink()


def _change_digest(home: Path) -> None:
    path = generation_folder(home / "indexes" / "demo", 1) / "MANIFEST.sha256"
    path.write_bytes(path.read_bytes().translate(bytes.maketrans(b"01", b"10")))


def _truncate_records(home: Path) -> None:
    (path,) = (home / "corpora" / "demo").glob("records-*.parquet")
    os.truncate(path, path.stat().st_size // 2)


def _flip_records(home: Path) -> None:
    (path,) = (home / "corpora" / "demo").glob("records-*.parquet")
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def _lose_rejects(home: Path) -> None:
    (path,) = (home / "corpora" / "demo").glob("rejects-*.jsonl")
    path.unlink()


@pytest.mark.parametrize(
    ("damage", "check", "status", "named"),
    [
        (_lose_current, "Index demo", 4, "CURRENT"),
        (_change_digest, "Index demo", 4, "MANIFEST"),
        (_truncate_records, "Corpus demo", 3, "records-"),
        (_flip_records, "Corpus demo", 3, "records-"),
        (_lose_rejects, "Corpus demo", 3, "rejects-"),
    ],
)
def test_damage_is_found_and_named(
    home: Path, damage: Callable[[Path], None], check: str, status: int, named: str
) -> None:
    damage(home)
    findings = [*check_corpora(home / "corpora"), *check_indexes(home / "indexes")]
    (found,) = [finding for finding in findings if finding.status == "failure"]
    assert (found.check, found.exit_status) == (check, status)
    assert named in found.message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_a_home_and_an_index_without_rights_are_found(home: Path) -> None:
    (home / "indexes" / "demo").chmod(0o700)
    os.seteuid(NOBODY)
    try:
        findings = [*check_home(Home(home)), *check_indexes(home / "indexes")]
    finally:
        os.seteuid(0)
    assert [(finding.check, finding.status, finding.exit_status) for finding in findings] == [
        ("Home", "failure", 2),
        ("Index demo", "failure", 4),
    ]
    assert "cannot be written to (Permission denied)" in findings[0].message
    assert "Permission denied" in findings[1].message


def test_no_folder_for_temporary_files_is_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])
    (finding,) = check_home(Home(home))
    assert (finding.status, finding.exit_status) == ("failure", 2)
    assert finding.message.startswith("TMPDIR cannot be written to (No usable temporary directory found")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
@pytest.mark.parametrize(
    ("folder", "check", "says"),
    [
        ("indexes", "Indexes", "{home}/indexes cannot be read (Permission denied)"),
        ("indexes/demo/gen-000001", "Index demo", "Permission denied"),
    ],
)
def test_folders_of_indexes_without_rights_are_found(home: Path, folder: str, check: str, says: str) -> None:
    (home / folder).chmod(0o700)
    os.seteuid(NOBODY)
    try:
        findings = list(check_indexes(home / "indexes"))
    finally:
        os.seteuid(0)
    assert [(finding.check, finding.status, finding.exit_status) for finding in findings] == [(check, "failure", 4)]
    assert says.format(home=home) in findings[0].message


def test_an_intact_home_has_no_failure_and_the_command_ends_with_the_status(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--home", str(home), "doctor", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    checks = {line["check"] for line in lines if line["status"] == "ok"}
    assert checks >= {"Python", "Packages", "Installed files", "Java and Lucene", "Kiwi"}
    assert checks >= {"Home", "Corpus demo", "Index demo"}
    _lose_current(home)
    assert run(["--home", str(home), "doctor"]) == 4


def test_each_line_that_is_not_ok_says_how_to_repair_it_without_a_checkout(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _lose_current(home)
    _flip_records(home)
    (home / "weights" / "gte-multilingual-base").mkdir(parents=True)
    assert run(["--home", str(home), "doctor", "--json"]) == 6
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    problems = {finding["check"]: finding["repair"] for finding in findings if finding["status"] != "ok"}
    assert problems.keys() >= {"Corpus demo", "Index demo", "gte-multilingual-base"}
    assert all(problems.values())
    assert not any("make " in finding["repair"] + finding["message"] for finding in findings)
    assert {finding["repair"] for finding in findings if finding["status"] == "ok"} == {""}


def test_every_folder_with_a_models_configuration_is_checked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, file in (("own-model", "config.json"), ("notes", "readme.txt")):
        (home / "weights" / name).mkdir(parents=True)
        (home / "weights" / name / file).write_text("{}", encoding="utf-8")
    assert run(["--home", str(home), "doctor", "--json"]) == 6
    findings = {each["check"]: each["status"] for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert findings["own-model"] == "failure"
    assert "notes" not in findings


def test_the_lines_are_in_korean(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_LANG", "ko")
    _lose_current(home)
    assert run(["--home", str(home), "doctor"]) == 4
    out = capsys.readouterr().out
    assert "  ok  외부 연결              외부로 연결하는 설정이 없습니다" in out
    assert "해결 방법: `shrag index demo` 명령으로 자료에서 다시 만들거나" in out


def test_a_long_name_and_what_is_said_of_it_are_two_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for check in ("check_parts", "check_machine", "check_home", "check_corpora", "check_indexes"):
        monkeypatch.setattr(doctor, check, lambda *given: [])
    monkeypatch.setattr(
        doctor, "check_models", lambda weights: [DoctorFinding("an-encoder-of-a-long-name", "ok", "fine")]
    )
    assert run(["--home", str(tmp_path), "doctor"]) == 0
    assert "  ok  an-encoder-of-a-long-name fine\n" in capsys.readouterr().out
