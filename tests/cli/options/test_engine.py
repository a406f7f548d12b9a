"""The search engine of all commands: one line of ``shrag.toml``, variables, options; its key."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import click
import pytest

from shrag.cli.main import run
from shrag.cli.options.engine import choose_engine, configured_engine
from shrag.indexing.errors import EngineUnavailable
from shrag.indexing.search_engine import EngineChoice
from shrag.serving.http.problems import to_problem


@pytest.mark.slow
def test_one_line_of_the_configuration_changes_the_engine(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Path(shutil.copytree(demo_home, tmp_path / "home"))
    config = tmp_path / "shrag.toml"
    config.write_text(f'home = "{home}"\nengine_address = "{home / "edge"}"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHRAG_HOME", raising=False)
    # The eighth and the ninth record differ in their cosines by less than the engines compute them alike.
    question = ["search", "demo", "그래핀 전자파 차폐", "--strategy", "hybrid", "--facets", "-k", "7"]
    assert run(question) == 0
    by_lucene = capsys.readouterr().out
    config.write_text(f'engine = "qdrant"\n{config.read_text(encoding="utf-8")}', encoding="utf-8")
    assert run(question) == 4
    assert "(it is not loaded): load it with `shrag index demo`." in capsys.readouterr().err
    assert run(["index", "demo"]) == 0
    assert f"qdrant at {home / 'edge'}: 235 records, loaded in" in capsys.readouterr().out
    assert run(["index", "demo"]) == 0
    assert "235 records, loaded already" in capsys.readouterr().out
    assert run(question) == 0
    assert capsys.readouterr().out == by_lucene
    shutil.rmtree(home / "edge")
    monkeypatch.setenv("SHRAG_ENGINE", "lucene")  # comes before the file
    assert run(question) == 0
    assert capsys.readouterr().out == by_lucene


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["milvus", "qdrant"])
def test_a_server_that_is_away_is_one_line_and_exit_status_6(
    demo_home: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    options = ["--engine", engine, "--engine-address", address, "--engine-timeout", "1"]
    assert run(["--home", str(demo_home), "search", "demo", "그래핀", *options]) == 6
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"shrag: {engine.title()} at {address} does not answer correctly (")
    assert line.endswith("): check that it is running and can be reached, or use the engine lucene.")


@pytest.mark.parametrize(
    "command", [["search", "demo", "그래핀"], ["index", "demo"], ["serve", "demo"], ["mcp", "demo"]]
)
def test_a_database_without_an_address_is_an_error_of_usage_before_anything_is_opened_or_built(
    own_home: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert run([*command, "--engine", "milvus"]) == 2
    says = "The engine milvus needs the address of its server: set engine_address in shrag.toml, SHRAG_ENGINE_ADDRESS"
    assert says in capsys.readouterr().err
    assert not own_home.exists()


def test_the_variables_name_the_engine_of_a_command_without_its_options() -> None:
    variables = {"SHRAG_ENGINE": "qdrant", "SHRAG_ENGINE_ADDRESS": "http://h:1"}
    assert configured_engine(variables) == EngineChoice("qdrant", "http://h:1")
    assert configured_engine({"SHRAG_ENGINE_ADDRESS": "http://h:1"}) == EngineChoice("lucene")


def test_the_key_comes_from_a_file_or_a_variable_and_is_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("of the file\n", encoding="utf-8")
    file.chmod(0o600)
    environment = {"SHRAG_ENGINE_KEY": "of the variable"}
    chosen = choose_engine("milvus", "http://h:1", None, 5.0, environment)
    assert chosen == EngineChoice("milvus", "http://h:1", "of the variable", 5.0)
    assert environment == {}
    assert choose_engine("qdrant", "http://h:1", file, 5.0, {}).key == "of the file"
    assert "of the" not in repr(chosen)
    file.chmod(0o640)
    with pytest.raises(click.UsageError, match=r"Others can read .*: `chmod 600"):
        choose_engine("qdrant", "http://h:1", file, 5.0, {})
    with pytest.raises(click.UsageError, match="cannot be read"):
        choose_engine("qdrant", "http://h:1", tmp_path / "missing", 5.0, {})


def test_a_client_is_told_503_while_the_database_is_away() -> None:
    problem = to_problem(EngineUnavailable("Milvus at http://h:1 does not answer."))
    assert (problem.status, problem.code, problem.detail) == (
        503,
        "engine_unavailable",
        "Milvus at http://h:1 does not answer.",
    )
