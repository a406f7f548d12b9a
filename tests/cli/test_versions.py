"""``shrag --version``: every version that matters, without starting Java or loading Kiwi."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from shrag.cli.main import run
from shrag.indexing.lexical.jvm import java_class, java_version, lucene_class
from shrag.indexing.storage.manifest import FORMAT_VERSION


def test_it_prints_the_versions_of_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"shrag {version('shrag')}"
    assert f"Lucene {lucene_class('util.Version').LATEST.toString()}" in lines
    assert f"Kiwi {version('kiwipiepy')}, model {version('kiwipiepy-model')}" in lines
    assert f"index format {FORMAT_VERSION}" in lines


def test_the_version_of_java_is_the_one_it_says_itself() -> None:
    assert str(java_class("java.lang.System").getProperty("java.version")) == java_version()


@pytest.mark.process
def test_it_starts_no_engine() -> None:
    program = (
        "import sys; from shrag.cli.main import run; run(['--version']); "
        "print([name for name in ('jpype', 'kiwipiepy', 'numpy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
