"""The installer is one file that needs Python's standard library only."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from shrag.bundle.installer_file import MODULES, make_installer
from tests.support.small_bundle import write_small_bundle


def test_the_same_source_gives_the_same_bytes_under_150_kilobytes() -> None:
    data = make_installer()
    assert make_installer() == data
    assert data.startswith(b"#!/usr/bin/env python3\n")
    assert len(data) < 150_000


@pytest.mark.parametrize("module", MODULES)
def test_its_modules_import_each_other_and_the_standard_library(module: str) -> None:
    package, _, name = module.rpartition(".")
    tree = ast.parse(files(package).joinpath(f"{name}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for each in names:
            assert each in MODULES or each.partition(".")[0] in sys.stdlib_module_names, f"{module} imports {each}"


@pytest.mark.process
def test_it_runs_with_nothing_but_python_in_english_and_korean_and_finds_its_bundle(tmp_path: Path) -> None:
    bundle = tmp_path / "small.tar"
    write_small_bundle(bundle)
    for language, expected in (("en", "all as when it was made"), ("ko", "만들 때 그대로입니다")):
        command = [sys.executable, "-I", "-S", str(bundle.with_name("small.install.pyz")), "verify"]
        environment = {"SHRAG_LANG": language, "PATH": os.environ["PATH"]}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/")
        assert (done.returncode, done.stderr) == (0, "")
        assert expected in done.stdout


def test_an_old_python_is_told_what_is_needed() -> None:
    with zipfile.ZipFile(io.BytesIO(make_installer())) as archive:
        source = archive.read("__main__.py").decode()
    assert source.index("sys.version_info < (3, 11)") < source.index("from shrag")
