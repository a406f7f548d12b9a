from __future__ import annotations

from pathlib import Path

import pytest

from shrag.cli.main import run
from tests.support.small_bundle import write_small_bundle


def test_diff_prints_the_files_to_carry_with_their_sizes_and_what_to_run_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, update = (str(tmp_path / name) for name in ("old.tar", "new.tar", "update.tar"))
    write_small_bundle(Path(old))
    write_small_bundle(Path(new), more={"weights/tiny/model.safetensors": b"w" * (3 << 19)})
    assert run(["bundle", "diff", old, new, update]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f"{tmp_path}/update.{ending}" for ending in ("install.pyz  0.1 MiB", "sha256  0.0 MiB", "tar  1.5 MiB")
    ]
    assert printed.err == "next, on the other machine: python3 update.install.pyz install --into ~/shrag\n"
