"""RECORD of installed packages: its lines with a SHA-256, and the SHA-256 of a file as it is written there."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

from shrag.bundle.installer.record import recorded_digest, recorded_files

_LINES = (
    'a.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n"b, c.py",sha256=x,1\nd.pyc,,\ne.py,md5=y,1\nRECORD,,\n'
)


def test_only_lines_with_a_sha256_count_and_names_may_have_commas() -> None:
    empty = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
    assert list(recorded_files(_LINES)) == [("a.py", empty), ("b, c.py", "x")]


def test_a_file_has_the_digest_that_pip_wrote_and_one_that_is_missing_has_none(tmp_path: Path) -> None:
    package = distribution("click")
    files = list(recorded_files(package.read_text("RECORD") or ""))
    assert len(files) > 10
    assert [recorded_digest(Path(str(package.locate_file(name)))) for name, _ in files] == [each for _, each in files]
    assert recorded_digest(tmp_path / "missing") == ""
    assert recorded_digest(tmp_path) == ""
