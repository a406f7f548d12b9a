"""The folder of an installation: the programs that start its current release."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shrag.bundle.installer.releases import Installation


def _make_release(installation: Installation, identifier: str, *names: str) -> None:
    """Make a release whose programs print the data folder that they are given."""
    for name in names:
        program = installation.program(identifier, name)
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text('#!/bin/sh\nprintf %s "$SHRAG_HOME"\n')
        program.chmod(0o755)


@pytest.mark.process
@pytest.mark.parametrize("name", ["there", "a } b", "${HOME}", "'quoted'", '"', "a\\", "`id`"])
def test_the_programs_know_their_data_folder_whatever_its_path_and_obey_the_environment(
    tmp_path: Path, name: str
) -> None:
    installation = Installation(tmp_path / name)
    _make_release(installation, "1.0", "shrag")
    installation.switch("1.0")
    program = installation.folder / "bin" / "shrag"
    unset = {key: value for key, value in os.environ.items() if key != "SHRAG_HOME"}
    for given, home in ((unset, str(installation.home)), ({**unset, "SHRAG_HOME": "/data"}, "/data")):
        assert subprocess.run([program], env=given, capture_output=True, text=True, check=True).stdout == home


def test_a_program_that_the_current_release_does_not_have_is_not_in_the_folder_of_programs(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    _make_release(installation, "1.0", "shrag", "vllm")
    _make_release(installation, "2.0", "shrag")
    for release, programs in (("1.0", ["shrag", "vllm"]), ("2.0", ["shrag"]), ("1.0", ["shrag", "vllm"])):
        installation.switch(release)
        assert sorted(path.name for path in (tmp_path / "bin").iterdir()) == programs
