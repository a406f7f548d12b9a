"""The container file, which is held to its rules here, and the image of this machine's Python that it is built on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

FILE = ROOT / "deploy" / "Containerfile"
INSTRUCTIONS = {
    "ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD",
}  # fmt: skip


def _instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def _last_stage() -> list[tuple[str, str]]:
    found = _instructions()
    return found[max(place for place, (word, _) in enumerate(found) if word == "FROM") :]


def test_it_is_made_of_instructions_and_has_two_stages() -> None:
    found = _instructions()
    assert {word for word, _ in found} <= INSTRUCTIONS
    assert [rest for word, rest in found if word == "FROM"] == ["${BASE} AS install", "${BASE}"]


def test_the_first_stage_has_the_bundle_alone_and_installs_it() -> None:
    found = _instructions()
    assert next(rest for word, rest in found if word == "COPY") == ". /bundle/"
    (run,) = (rest for word, rest in found if word == "RUN")
    assert run.startswith("python3 /bundle/*.install.pyz install --into /opt/shrag && ")


def test_the_last_stage_is_not_roots_installs_nothing_and_has_only_what_the_first_one_made() -> None:
    stage = _last_stage()
    (user,) = (rest for word, rest in stage if word == "USER")
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    assert [word for word, _ in stage].index("USER") < [word for word, _ in stage].index("ENTRYPOINT")
    assert not [word for word, _ in stage if word == "RUN"]
    assert [rest for word, rest in stage if word == "COPY"] == ["--from=install /opt/shrag /opt/shrag"]


@pytest.mark.parametrize("word", ["ARG", "ENV"])
def test_no_secret_is_given_while_it_is_built(word: str) -> None:
    given = " ".join(rest for instruction, rest in _instructions() if instruction == word)
    assert not re.search(r"(?i)key|token|secret|passw", given)
    assert "://" not in FILE.read_text(encoding="utf-8").replace("http://127.0.0.1:8080/health/live", "")


def test_it_starts_what_the_server_takes_and_looks_whether_it_lives() -> None:
    from shrag.cli.commands.serve import command
    from shrag.serving.http.access import PUBLIC

    stage = dict(_last_stage())
    assert json.loads(stage["ENTRYPOINT"]) == ["/opt/shrag/bin/shrag-serve"]
    arguments = json.loads(stage["CMD"])
    known = {option for parameter in command.params for option in parameter.opts}
    assert {each for each in arguments if each.startswith("--")} <= known
    assert arguments[arguments.index("--host") + 1] == "127.0.0.1"
    check = stage["HEALTHCHECK"].partition("CMD ")[2]
    program = json.loads(check)[2]
    compile(program, "HEALTHCHECK", "exec")
    assert re.findall(r"8080(/[a-z/]+)", program) == ["/health/live"]
    assert "/health/live" in PUBLIC


@pytest.mark.process
@pytest.mark.skipif(shutil.which("ldd") is None, reason="no ldd")
def test_the_image_has_this_python_with_its_libraries_and_no_package() -> None:
    python = Path(sys.base_prefix, "bin", "python3")
    code = "import base_image; print(*base_image.image_files(), sep='\\n')"
    done = subprocess.run([python, "-c", code], cwd=ROOT / "deploy", capture_output=True, text=True, check=True)
    files = {f"/{name}" for name in done.stdout.splitlines()}
    assert {str(python), "/bin/sh", "/bin/chmod"} <= files
    for part in (
        "/venv/__init__.py",
        "/ensurepip/__init__.py",
        "/lib-dynload/_sqlite3",
        "/libc.so.6",
        "/libstdc++.so.6",
    ):
        assert any(part in name for name in files), part
    assert not any("site-packages" in name or "/test/" in name for name in files)


@pytest.mark.process
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_path_that_the_guide_gives_to_an_image_of_this_python_begins_with_its_folder(language: str) -> None:
    guide = (ROOT / "docs" / language / "how-to" / "deployment.md").read_text(encoding="utf-8")
    ((before, change),) = re.findall(r"```sh\n(.*\n)?.*podman import --change (.+) - localhost/python", guide)
    python = Path(sys.base_prefix, "bin")
    command = ["env", f"PATH={python}:/usr/bin:/bin", "sh", "-c", f"{before}printf %s {change}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"ENV PATH={python}:/usr/bin:/bin"
