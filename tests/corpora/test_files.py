from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shrag.corpora.files import FolderBusy, lock_folder, write_atomically


def test_replacing_leaves_the_new_content_and_no_draft(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"old")
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with lock_folder(tmp_path), pytest.raises(FolderBusy, match=f"process {os.getpid()}"), lock_folder(tmp_path):
        pass


@pytest.mark.process
def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from shrag.corpora.files import lock_folder\n"
        "with lock_folder(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    with lock_folder(tmp_path):
        assert (tmp_path / ".lock").read_text() == str(os.getpid())
