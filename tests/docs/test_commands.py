"""The commands in README and docs: each is run in a home of its own, or says why not; no option is made up."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from shrag.cli.commands.serve import command as serve
from shrag.cli.main import shrag
from tests.conftest import ROOT
from tests.support.documented_commands import PAGES, blocks, simple_commands

SHELL = {"sh", "console"}
OTHER_LANGUAGES = {"python", "json", "toml", "xml", "yaml", "ini", "nginx", "{toctree}", "{note}", "text", ""}
PROGRAMS = {
    "apptainer", "cat", "cd", "chmod", "cp", "curl", "docker", "export", "git", "make", "mkdir", "nginx", "open-webui",
    "pip", "podman", "printf", "python", "python3", "sbatch", "sha256sum", "shrag", "shrag-serve", "shred", "systemctl",
    "tar", "vllm",
}  # fmt: skip
"""What documented commands may begin with."""


def _check(words: list[str]) -> None:
    """Raise ``click.UsageError`` for a command line of ``shrag`` that has an unknown command, option or choice."""
    program, *arguments = words
    command: click.Command = serve if program == "shrag-serve" else shrag
    # With the names of the option for help, which click keeps with a command from its first use on.
    context = click.Context(command, info_name=program, help_option_names=["-h", "--help"])
    while True:
        parser = command.make_parser(context)
        values, rest, _ = parser.parse_args(list(arguments))
        for option in command.params:
            given = values.get(option.name or "")
            if isinstance(option, click.Option) and isinstance(option.type, click.Choice) and given:
                for value in given if isinstance(given, list) else [given]:
                    if isinstance(value, str):
                        option.type.convert(value, option, context)
        if not isinstance(command, click.Group) or not rest:
            return
        name, found, arguments = command.resolve_command(context, rest)
        assert found is not None
        context = click.Context(found, info_name=name, parent=context)
        command = found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_documented_command_and_option_exists(page: Path) -> None:
    wrong, targets = [], set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for block in blocks(page):
        if block.language not in SHELL:
            assert block.language in OTHER_LANGUAGES, f"{block}: which language is {block.language}?"
            begins = re.search(r"^(\$ |shrag |shrag-serve |make \w|pip |curl )", block.text, re.MULTILINE)
            assert begins is None, f"{block}: commands are in blocks marked sh, or console with their output"
            continue
        for path, *words in simple_commands(block.script):
            words.insert(0, path.rpartition("/")[2])  # as .venv-gpu/bin/shrag
            assert words[0] in PROGRAMS, f"{block}: {path}"
            if words[0] == "make":
                assert {word for word in words[1:] if "=" not in word} <= targets, f"{block}: {words}"
            elif words[0].startswith("shrag"):
                try:
                    _check(words)
                except click.ClickException as error:
                    wrong.append(f"{block}: {' '.join(words)}: {error.format_message()}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_weights_are_copied_into_a_folder_that_is_there(page: Path) -> None:
    for block in blocks(page):
        if re.search(r"^cp -r \S+ var/weights/", block.text, re.MULTILINE):
            assert "mkdir -p var/weights\n" in block.text.partition("cp -r")[0], block


@pytest.mark.parametrize("target", ["setup", "setup-models", "setup-gpu"])
def test_each_environment_finds_the_data_folder_of_the_checkout(tmp_path: Path, target: str) -> None:
    for file in ("Makefile", "pyproject.toml", "constraints.txt", "deploy/wheel_backend.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    done = subprocess.run(["make", "--dry-run", target], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "cp cli/commands/init.toml shrag.toml" in done.stdout


def test_commands_stand_in_fenced_blocks() -> None:
    indented = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        indented += [f"{page.name}: {line}" for line in re.findall(r"^    (?:\$ )?shrag .*", text, re.MULTILINE)]
    assert indented == []


@contextmanager
def _server(script: str, environment: dict[str, str], folder: Path) -> Iterator[str]:
    """Yield the script for a server over the demonstration, which runs meanwhile if the script asks one."""
    if "127.0.0.1:8080" not in script:
        yield script
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("w") as stream:
        command = [str(Path(sys.executable).with_name("shrag-serve")), "demo", "--port", str(port)]
        server = subprocess.Popen(command, env=environment, stderr=stream, stdout=stream)
    try:
        while "Ctrl-C stops" not in log.read_text():
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        yield script.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(120)


@pytest.mark.soak
@pytest.mark.docs_commands
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run_in_their_order(page: Path, demo_home: Path, tmp_path: Path) -> None:
    to_run = [block for block in blocks(page) if block.language in SHELL and not block.reason]
    if not to_run:
        pytest.skip("it has none, or each says why it is not run")
    home, work = tmp_path / "var", tmp_path / "work"
    shutil.copytree(demo_home, home)
    (work / "corpora").mkdir(parents=True)
    shutil.copytree(ROOT / "corpora" / "demo", work / "corpora" / "demo")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SHRAG", "PYTEST"))}
    environment |= {"SHRAG_HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    whole = "".join(f"echo '{block}' >&2\n{block.script}" for block in to_run)
    with _server(whole, environment, tmp_path) as script:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=work, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
