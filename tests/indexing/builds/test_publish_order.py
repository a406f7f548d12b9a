"""R2: however much of what publishing did has reached the disk when the power goes, one whole generation is current.

The system calls of a real publication are recorded once and played back, every prefix of them, onto a copy of what was
there before. A file's bytes count as written only once they were synced.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from shrag.indexing.build.builder import build_index
from shrag.indexing.storage.generations import check_files, current_generation

pytestmark = pytest.mark.process

STOPPED = (
    "import os, sys; from pathlib import Path\n"
    "from shrag.indexing.build import builder\n"
    "if sys.argv[2] == 'stop': builder.make_manifest = lambda *_: os._exit(9)\n"
    "home = Path(sys.argv[1]); builder.build_index(home / 'corpora', home / 'indexes', 'grown', force=True)"
)
CALL = re.compile(r"^(?:\[pid\s+\d+\] |\d+\s+)?(\w+)\((.*)\)\s+= (-?\d+)")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Call(NamedTuple):
    name: str
    strings: list[bytes]
    rest: str
    result: int


def _recorded(trace: str) -> list[Call]:
    calls = []
    for line in trace.splitlines():
        if match := CALL.match(line):
            strings = [bytes.fromhex(found.replace("\\x", "")) for found in STRING.findall(match.group(2))]
            calls.append(Call(match.group(1), strings, match.group(2), int(match.group(3))))
    return [call for call in calls if call.result >= 0]


class Disk:
    """A folder as it would be found after the power went, with the calls so far in order."""

    def __init__(self, recorded: Path, replayed: Path) -> None:
        self._recorded = recorded
        self._replayed = replayed
        self._open: dict[int, tuple[Path, bytearray]] = {}

    def apply(self, call: Call) -> None:
        descriptor = int(number.group()) if (number := re.match(r"\d+", call.rest)) else -1
        match call.name:
            case "openat" if "O_CREAT" in call.rest and (path := self._at(call.strings[0])):
                self._open[call.result] = (path, bytearray())
                path.unlink(missing_ok=True)
                path.touch()
            case "openat":
                self._open.pop(call.result, None)
            case "write" if descriptor in self._open:
                self._open[descriptor][1].extend(call.strings[0])
            case "fsync" | "fdatasync" if descriptor in self._open:
                path, data = self._open[descriptor]
                path.write_bytes(data)
            case "rename" | "renameat" | "renameat2" if path := self._at(call.strings[0]):
                target = self._at(call.strings[1])
                assert target is not None
                path.rename(target)
            case "mkdir" | "mkdirat" if path := self._at(call.strings[0]):
                path.mkdir()
            case "unlink" | "unlinkat" | "rmdir" if path := self._at(call.strings[0]):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _at(self, name: bytes) -> Path | None:
        path = Path(name.decode())
        return self._replayed / path.relative_to(self._recorded) if path.is_relative_to(self._recorded) else None


def test_r2_every_prefix_of_a_publication_leaves_the_old_or_the_new_generation(
    tmp_path: Path, grow_corpus: Callable[[Path, str, int], None], strace: str
) -> None:
    home = tmp_path / "home"
    grow_corpus(home, "grown", 40)
    build_index(home / "corpora", home / "indexes", "grown")
    assert subprocess.run([sys.executable, "-c", STOPPED, str(home), "stop"], check=False).returncode == 9
    index = home / "indexes" / "grown"
    shutil.copytree(index, tmp_path / "before")
    traced = "trace=openat,write,fsync,fdatasync,rename,renameat,renameat2,mkdir,unlink,unlinkat,rmdir"
    command = [strace, "-f", "-xx", "-s", "1000000", "-e", traced, "-o", str(tmp_path / "trace")]
    subprocess.run([*command, sys.executable, "-c", STOPPED, str(home), "go"], check=True)
    calls = [call for call in _recorded((tmp_path / "trace").read_text()) if _concerns(call, index)]
    seen = [_current_after(calls[:length], index, tmp_path) for length in range(len(calls) + 1)]
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (1, 2)
    assert len(calls) > 20


def _concerns(call: Call, index: Path) -> bool:
    names = [string for string in call.strings if string.startswith(b"/")]
    return call.name in ("write", "fsync", "fdatasync") or any(name.startswith(bytes(index)) for name in names)


def _current_after(calls: list[Call], index: Path, scratch: Path) -> int:
    replayed = scratch / "replayed"
    subprocess.run(["cp", "-al", str(scratch / "before"), str(replayed)], check=True)
    disk = Disk(index, replayed)
    for call in calls:
        disk.apply(call)
    folder, manifest = current_generation(replayed)
    check_files(folder, manifest)
    shutil.rmtree(replayed)
    return manifest.generation
