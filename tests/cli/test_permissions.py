"""A home or a file that cannot be used is one sentence with the path, the reason and the way out, and no traceback."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shrag.cli import main
from shrag.cli.main import run

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"
NOBODY = 65_534
ADD = ["corpus", "add", "c", "--format", "scienceon"]


@contextmanager
def _nobody() -> Iterator[None]:
    """Act as a user without rights."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder that everybody can look into, with the demonstration's records."""
    folder = Path(tempfile.mkdtemp(prefix="shrag-permissions-"))
    folder.chmod(0o755)
    shutil.copyfile(DEMO / "records.jsonl", folder / "records.jsonl")
    monkeypatch.chdir(folder)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def _said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = run(arguments)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "unexpected" not in said
    assert "report" not in said
    return status, said


def test_a_home_without_the_right_to_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["--home", str(folder / "first"), *ADD, str(folder / "records.jsonl")])  # imports what nobody may not read
    capsys.readouterr()
    folder.chmod(0o555)
    with _nobody():
        status, said = _said(["--home", str(folder), *ADD, str(folder / "records.jsonl")], capsys)
    assert status == 2
    assert said == (
        f"shrag: {folder}/corpora cannot be used (Permission denied): give this user permission to use it, or choose "
        "another folder with --home.\n"
    )


@pytest.mark.parametrize("home", ["/dev/null", "file"])
def test_a_home_that_is_no_folder(home: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").touch()
    path = Path(home) if home.startswith("/") else folder / home
    status, said = _said(["--home", f"{path}/home", *ADD, str(folder / "records.jsonl")], capsys)
    assert status == 2
    assert (
        said
        == f"shrag: {path} is not a folder, and a folder is needed there: move it elsewhere, or choose another with "
        f"--home.\n"
    )


@pytest.mark.parametrize("name", ["corpora", "corpora/c"])
def test_a_file_where_a_folder_should_be(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = folder / "home"
    (home / name).parent.mkdir(parents=True)
    (home / name).touch()
    status, said = _said(["--home", str(home), *ADD, str(folder / "records.jsonl")], capsys)
    assert (status, said.split(" is not a folder")[0]) == (2, f"shrag: {home / name}")


def test_an_index_whose_folder_is_a_file(demo_home: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = folder / "home"
    shutil.copytree(demo_home / "corpora", home / "corpora")
    (home / "indexes").touch()
    status, said = _said(["--home", str(home), "index", "demo", "--force"], capsys)
    assert (status, said.split(" is not a folder")[0]) == (2, f"shrag: {home / 'indexes'}")


def test_a_right_that_is_missing_without_a_path_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main._report(PermissionError(errno.EACCES, os.strerror(errno.EACCES))) == 2
    assert capsys.readouterr().err == (
        "shrag: A file cannot be used (Permission denied): give this user permission to use the files of the data "
        "folder.\n"
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ESTALE, errno.ENOMEM])
def test_a_fault_of_the_machine_is_one_sentence(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main._report(OSError(number, os.strerror(number), "/data/x")) == 5
    said = capsys.readouterr().err
    assert said.startswith(f"shrag: /data/x cannot be used ({os.strerror(number)}): ")
    assert said.count("\n") == 1
