"""``shrag index`` and its subcommands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click
import pytest

from shrag.cli.commands.index import command
from shrag.cli.main import run
from shrag.corpora.files import RESERVED
from shrag.indexing.errors import IndexMissing
from shrag.indexing.storage.generations import list_generations
from tests.support.milvus_import import importing_server

pytestmark = pytest.mark.slow


@pytest.fixture
def indexes(three_generations: Path, own_home: Path) -> Path:
    """Return the indexes of a home of the test's own, with three generations of one."""
    shutil.copytree(three_generations, own_home)
    return own_home / "indexes"


def test_a_word_for_what_to_do_is_no_name() -> None:
    assert isinstance(command, click.Group)
    assert set(command.commands) == RESERVED
    for word in RESERVED:
        assert run(["corpus", "add", word, "--format", "miracl", "x"]) == 3


def test_verify_says_what_it_looked_at(indexes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "verify", "demo"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "index demo: generation 3 is intact"
    assert "         records        235 examined  ok" in out
    assert run(["index", "verify", "demo", "--json", "--generation", "1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1] == {"index": "demo", "generation": 1, "verified": True}
    assert {"check": "golden queries", "examined": 20, "problems": 0} in lines
    assert (indexes / "demo").is_dir()


def test_verify_names_every_damaged_file_and_ends_with_4(indexes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = indexes / "demo" / "gen-000003"
    (folder / "tokens.sqlite").write_bytes(b"")
    (folder / "golden.json").unlink()
    assert run(["index", "verify", "demo"]) == 4
    captured = capsys.readouterr()
    assert "gen-000003/tokens.sqlite: " in captured.out
    assert "gen-000003/golden.json: " in captured.out
    assert (
        "build it again with `shrag index demo --force`, or choose another with `shrag index rollback demo`"
        in captured.err
    )
    assert run(["index", "verify", "demo", "--json"]) == 4
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["file"] for line in lines if "file" in line} == {
        "gen-000003/tokens.sqlite",
        "gen-000003/golden.json",
    }
    assert lines[-1] == {"index": "demo", "generation": 3, "verified": False}
    assert {"check": "records", "skipped": True} in lines
    assert run(["search", "demo", "q"]) == 4


def test_rollback_and_list(indexes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "rollback", "demo"]) == 0
    assert capsys.readouterr().out == "index demo: generation 2 is current, 235 records\n"
    assert run(["index", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["1", "*", "3"]
    assert run(["index", "list", "demo", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["generation"], row["current"]) for row in rows] == [(1, False), (2, True), (3, False)]
    assert run(["index", "show", "demo"]) == 0
    assert json.loads(capsys.readouterr().out)["generation"] == 2
    assert run(["index", "rollback", "demo", "--to", "9"]) == 4
    assert run(["index", "verify", "demo", "--generation", "9"]) == 4
    assert run(["index", "show", "nothing"]) == 4
    assert indexes.is_dir()


def test_an_index_that_was_exported_is_imported_under_the_name_that_is_given(
    indexes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "carried.tar"
    assert run(["index", "export", "demo", str(file), "--generation", "1"]) == 0
    exported = capsys.readouterr()
    assert exported.out == f"index demo: {file}, {file.stat().st_size / 2**20:.1f} MiB\n"
    assert exported.err == "next, on the other machine: shrag index import carried.tar\n"
    assert run(["index", "import", str(file), "--name", "other"]) == 0
    assert capsys.readouterr().out == "index other: generation 1 is current, 235 records\n"
    assert list_generations(indexes / "other") == [1]


def test_an_index_is_exported_for_milvus_and_loaded_from_there(
    indexes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bucket" / "demo-milvus"
    assert run(["index", "export", "demo", str(folder), "--milvus"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"index demo: 235 records in {folder}, 1 files, ")
    assert f"then: shrag index load demo {folder} --prefix demo-milvus" in captured.err
    assert run(["index", "export", "demo", str(folder), "--milvus"]) == 0  # all of it is there
    with importing_server(tmp_path / "milvus", tmp_path / "bucket") as server:
        load = ["index", "load", "demo", str(folder), "--engine", "milvus", "--engine-address", server.address]
        assert run(load) == 1
        assert "check that the files of shrag_demo_2a97516c_000003_" in capsys.readouterr().err
        assert run([*load, "--prefix", "demo-milvus"]) == 0
        assert capsys.readouterr().out.startswith(f"milvus at {server.address}: 235 records, loaded in ")
        assert run([*load, "--prefix", "demo-milvus"]) == 0
        assert capsys.readouterr().out == f"milvus at {server.address}: 235 records, loaded already\n"
    assert run(["index", "load", "demo", str(folder)]) == 1
    assert "Only a Milvus server imports files, and the engine is lucene" in capsys.readouterr().err
    assert run(["index", "export", "demo", str(folder), "--milvus", "--opensearch"]) == 2
    assert run(["index", "export", "demo", str(folder), "--milvus", "--generation", "1"]) == 2
    assert (indexes / "demo").is_dir()


def test_options_of_building_may_stand_before_the_name_in_the_file_or_in_the_environment(
    indexes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shrag.toml").write_text("[index]\nkeep = 1\n")
    monkeypatch.setenv("SHRAG_INDEX_FORCE", "1")
    assert run(["index", "demo"]) == 0
    assert "generation 4" in capsys.readouterr().out
    assert list_generations(indexes / "demo") == [4]
    monkeypatch.delenv("SHRAG_INDEX_FORCE")
    assert run(["index", "--keep", "3", "demo"]) == 0
    assert "up to date" in capsys.readouterr().out
    (tmp_path / "shrag.toml").write_text("[index]\nkep = 1\n")
    assert run(["index", "demo"]) == 2
    assert "[index] in shrag.toml has no option 'kep'" in capsys.readouterr().err
    (tmp_path / "shrag.toml").unlink()
    assert run(["index", "demo", "--keep", "0"]) == 2


def test_an_index_can_be_asked_before_it_is_read_through(indexes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "demo", "salt marsh", "-k", "1", "--verify", "quick"]) == 0
    assert capsys.readouterr().out.startswith("  1 ")
    assert indexes.is_dir()


def test_verification_reaches_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def open_engine(_indexes: Path, _name: str, _question: str, verify: str, **_: object) -> None:
        seen.append(verify)
        raise IndexMissing("There is none.")

    monkeypatch.setattr("shrag.cli.options.search.open_engine", open_engine)
    for asking in ("search", "ask"):
        assert run([asking, "demo", "salt marsh"]) == 4
        assert run([asking, "demo", "salt marsh", "--verify", "quick"]) == 4
    assert seen == ["changed", "quick"] * 2
