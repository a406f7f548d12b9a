"""The data folder: the order of what names it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shrag
from shrag.corpora.data_folder import data_folder, find_config
from shrag.corpora.errors import ConfigurationRejected
from shrag.indexing.errors import IndexMissing


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder two below ``tmp_path``, with no SHRAG_HOME and a platform's folder of its own."""
    monkeypatch.delenv("SHRAG_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_a_given_folder_comes_before_the_variable_and_that_before_a_file(
    deep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_folder() == tmp_path / "xdg" / "shrag"
    (tmp_path / "shrag.toml").write_text("")
    assert data_folder() == tmp_path / "var"
    (tmp_path / "a" / "shrag.toml").write_text('home = "../data"')
    assert data_folder().resolve() == tmp_path / "data"
    monkeypatch.setenv("SHRAG_HOME", "other")
    assert data_folder() == deep / "other"
    assert data_folder("given") == deep / "given"
    assert data_folder(tmp_path / "absolute") == tmp_path / "absolute"


def test_the_home_of_a_file_may_be_absolute_or_below_the_user_s_folder(
    deep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (deep / "shrag.toml").write_text('home = "~/data"')
    assert data_folder() == tmp_path / "user" / "data"
    (deep / "shrag.toml").write_text(f'home = "{tmp_path}/data"')
    assert data_folder() == tmp_path / "data"


@pytest.mark.parametrize(
    ("text", "words"),
    [("home = 3", "is 3: write the path of a folder"), ('home = ""', "is ''"), ("home =", "is not TOML")],
)
def test_a_wrong_file_is_named(deep: Path, text: str, words: str) -> None:
    (deep / "shrag.toml").write_text(text)
    with pytest.raises(ConfigurationRejected, match=r"shrag\.toml") as raised:
        data_folder()
    assert words in str(raised.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_counts_in_the_working_folder_only(deep: Path, tmp_path: Path) -> None:
    for folder in (deep, tmp_path):
        (folder / "shrag.toml").write_text("")
        os.chown(folder / "shrag.toml", 65_534, 65_534)
    assert find_config() == deep / "shrag.toml"
    (deep / "shrag.toml").unlink()
    assert find_config() is None


def test_a_working_folder_that_was_removed_has_no_file(deep: Path) -> None:
    deep.rmdir()
    assert find_config() is None


def test_python_uses_the_same_folder(deep: Path, tmp_path: Path) -> None:
    (tmp_path / "shrag.toml").write_text('home = "data"')
    with pytest.raises(IndexMissing, match=f"under {tmp_path}/data/indexes"):
        shrag.open("demo")
