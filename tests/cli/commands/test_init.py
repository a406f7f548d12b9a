"""``shrag init``: the file that it writes, and the demonstration corpus."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from shrag.cli.commands.init import _TEMPLATE
from shrag.cli.main import COMMANDS, run, shrag
from shrag.cli.options.model import read_llm_settings
from shrag.cli.settings import check_options, read_config
from shrag.corpora.store.manifest import MANIFEST_FILE
from shrag.corpora.store.open_corpus import open_corpus


def test_it_writes_a_file_and_adds_the_demonstration(
    tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init"]) == 0
    out = capsys.readouterr().out
    assert f"wrote {tmp_path / 'shrag.toml'}\n" in out
    assert f"corpus demo: 235 records in {own_home / 'corpora'}\n" in out
    assert open_corpus(own_home / "corpora", "demo")[0].records == 235
    assert run(["corpus", "list"]) == 0  # the file is valid


def test_what_is_there_stays_as_it_is(tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "shrag.toml"
    config.write_text("[search]\nk = 3\n")
    (own_home / "corpora" / "demo").mkdir(parents=True)
    (own_home / "corpora" / "demo" / MANIFEST_FILE).touch()
    assert run(["init"]) == 0
    assert config.read_text() == "[search]\nk = 3\n"
    assert capsys.readouterr().err.count("is not changed.") == 2
    assert [path.name for path in (own_home / "corpora" / "demo").iterdir()] == [MANIFEST_FILE]


def test_every_option_in_the_comments_of_the_file_is_one(tmp_path: Path) -> None:
    config = tmp_path / "all.toml"
    config.write_text(re.sub(r"^# (?=\w+ = )", "", _TEMPLATE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    values = read_config(config, COMMANDS)
    assert set(values) == {"home", "engine", "engine_address", "index", "search", "ask", "serve", "llm"}
    assert read_llm_settings(values.pop("llm"), {}).model == "qwen3"
    del values["home"]
    assert values.pop("engine") == "lucene"
    del values["engine_address"]
    context = shrag.make_context("shrag", ["doctor"])
    for name, table in values.items():
        command = shrag.get_command(context, name)
        assert command is not None
        assert table
        check_options(table, command, name)


def test_as_written_nothing_of_it_is_in_force() -> None:
    assert {key: value for key, value in tomllib.loads(_TEMPLATE.read_text(encoding="utf-8")).items() if value} == {}
