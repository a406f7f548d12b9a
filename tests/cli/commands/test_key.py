"""``shrag key``, and servers that are given the key."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import pytest

from shrag.cli.main import run
from shrag.cli.options.server import read_api_key
from shrag.serving.http.api_key import write_key_file
from tests.serving.http.test_access import KEY
from tests.serving.http.test_server import serve_process

SERVE = "from shrag.cli.commands.serve import main; main()"


def test_key_prints_a_key_once_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["key"]) == 0
    printed = capsys.readouterr()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}\n", printed.out)
    assert printed.err == ""


def test_key_writes_a_file_for_its_owner_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "key"
    assert run(["key", "--output", str(file)]) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text(encoding="ascii").strip()
    printed = capsys.readouterr()
    assert (printed.out, text in printed.err) == ("", False)
    chosen = read_api_key(file, {})
    assert chosen is not None
    assert chosen.matches(text)
    assert run(["key", "-o", str(file)]) == 3
    assert "name a file that is not there yet" in capsys.readouterr().err
    assert run(["key", "-o", str(tmp_path)]) == 2
    assert f"File '{tmp_path}' is a directory." in capsys.readouterr().err


def test_key_makes_the_folder_of_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "etc" / "shrag" / "api-key"
    assert run(["key", "--output", str(file)]) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (tmp_path / "plain").write_text("")
    assert run(["key", "--output", str(tmp_path / "plain" / "api-key")]) == 3
    assert "cannot be written" in capsys.readouterr().err


def _refused(home: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", SERVE, "demo", "--port", "0", *arguments],
        capture_output=True, text=True, env={**os.environ, "SHRAG_HOME": str(home), **environment}, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.process
def test_there_is_no_way_to_give_the_key_on_the_command_line_or_in_the_configuration(
    demo_home: Path, tmp_path: Path
) -> None:
    assert _refused(demo_home, "--api-key", KEY)[0] == 2
    (tmp_path / "shrag.toml").write_text(f'[serve]\napi_key = "{KEY}"\n', encoding="utf-8")
    assert _refused(demo_home)[0] == 2


@pytest.mark.process
def test_an_address_that_others_reach_is_refused_without_a_key_and_a_bad_key_without_showing_it(
    demo_home: Path, tmp_path: Path
) -> None:
    status, said = _refused(demo_home, "--host", "0.0.0.0")
    assert (status, said.count("\n")) == (3, 1)
    assert "make a key with `shrag key` and give it by SHRAG_API_KEY or --api-key-file" in said
    status, said = _refused(demo_home, "--host", "0.0.0.0", SHRAG_API_KEY=KEY)
    assert (status, said.count("\n")) == (3, 1)
    assert "reach this server with --allow-host" in said
    short = KEY[:20]
    status, said = _refused(demo_home, SHRAG_API_KEY=short)
    assert (status, said.count("\n"), short in said) == (3, 1, False)
    file = tmp_path / "key"
    write_key_file(file, KEY)
    file.chmod(0o644)
    status, said = _refused(demo_home, "--api-key-file", str(file))
    assert (status, said.count("\n"), KEY in said) == (3, 1, False)
    assert "mode 644" in said


@pytest.mark.process
def test_a_server_on_every_address_answers_by_its_name_and_with_the_key_only(demo_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "key"
    write_key_file(file, KEY)
    options = ("demo", "--host", "0.0.0.0", "--allow-host", "search.example", "--api-key-file", str(file))
    with serve_process(demo_home, *options) as (server, address):
        assert address.startswith("http://0.0.0.0:")
        local = address.replace("0.0.0.0", "127.0.0.1")

        def ask(path: str, **headers: str) -> int:
            request = urllib.request.Request(local + path, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=10) as response:
                    status: int = response.status
                    return status
            except HTTPError as error:
                return error.code

        bearer = {"Authorization": f"Bearer {KEY}"}
        assert ask("health/live") == 200
        assert ask("health/ready") == 401
        assert ask("health/ready", **bearer) == 200
        assert ask("health/ready", Host="search.example", **bearer) == 200
        assert ask("health/ready", Host="evil.example", **bearer) == 400
        command = Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert KEY.encode() not in command
