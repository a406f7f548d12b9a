"""The classes that are kept are those of the sources beside them."""

from __future__ import annotations

import hashlib
from pathlib import Path

JAVA = Path(__file__).resolve().parents[3] / "indexing" / "lexical" / "java"


def test_classes_were_compiled_from_the_sources_as_they_are() -> None:
    lines = (JAVA / "compiled.sha256").read_text("ascii").splitlines()
    kept = {name: digest for digest, name in (line.split("  ") for line in lines)}
    there = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (JAVA / "shrag").iterdir()}
    assert kept == there, "run `make java`"
    assert {Path(name).suffix for name in there} == {".java", ".class"}
