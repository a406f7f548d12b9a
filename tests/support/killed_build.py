"""A real build in a process of its own that is killed by SIGKILL at a chosen point, or what such kills leave."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from shrag.indexing.analyzed_record import PackedRecord
from shrag.indexing.build import builder, checkpoints, records_step
from shrag.indexing.glossary import vocabulary_selection
from shrag.indexing.glossary.vocabulary import read_vocabulary
from shrag.indexing.lexical import calibration
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.storage import generations

ROOT = Path(__file__).resolve().parents[2]

# The command itself, with smaller shards, and with a death sentence at the point that its first argument names.
_SCRIPT = """
import os, sys, threading, time
from pathlib import Path
from shrag.indexing.storage import generations
from shrag.indexing.build import builder, checkpoints, derived_steps, records_step
from shrag.indexing.lexical import calibration
from shrag.indexing.lexical.writer import LuceneIndexWriter

records_step._SMALLEST_SHARD = 256
from tests.support.killed_build import shorten_builds
import pytest; shorten_builds(pytest.MonkeyPatch())
point, _, place = sys.argv.pop(1).partition(":")

def die(*_):
    os.kill(os.getpid(), 9)

def before(owner, name, wanted=lambda *_: True):
    there = getattr(owner, name)
    setattr(owner, name, lambda *given, **named: die() if wanted(*given) else there(*given, **named))

def soon():
    threading.Thread(target=lambda: (time.sleep(float(place)), die())).start()
    return False

if point == "records":
    add, seen = LuceneIndexWriter.add, [0]
    def counted(records):
        for record in records:
            seen[0] += 1
            if seen[0] == int(place):
                die()
            yield record
    LuceneIndexWriter.add = lambda self, records: add(self, counted(records))
elif point == "commit":
    before(LuceneIndexWriter, "checkpoint", lambda *_: soon())
elif point == "merge":
    before(LuceneIndexWriter, "commit", lambda *_: soon())
elif point == "rejects":
    before(builder, "rejected_docids"); before(derived_steps, "write_rejects")
elif point == "words":
    before(derived_steps, "write_token_store")
elif point == "mark":
    before(checkpoints, "write_atomically", lambda path, _: path.name == f"{place}.done")
elif point == "glossary":
    before(derived_steps, "mine_glossary")
elif point == "seal":
    before(builder, "make_manifest")
elif point == "manifest":
    before(generations, "write_atomically", lambda path, _: path.name == "MANIFEST.json")
elif point == "rename":
    before(Path, "rename")
elif point == "current":
    before(generations, "write_atomically", lambda path, _: path.name == "CURRENT")
elif point == "clean":
    before(generations.shutil, "rmtree")

from shrag.cli.main import main
main()
"""


def shorten_builds(patch: pytest.MonkeyPatch) -> None:
    """Let builds of this process use a fiftieth of the vocabulary and ask few questions to calibrate: seconds less."""
    words = read_vocabulary()[::50]
    patch.setattr(vocabulary_selection, "read_vocabulary", lambda: words)
    patch.setattr(calibration, "SAMPLE", 60)


def start_killed_build(home: Path, name: str, point: str) -> subprocess.Popen[bytes]:
    """Start ``shrag index NAME --force``, which is killed at ``point``, a name of the script above."""
    command = [sys.executable, "-c", _SCRIPT, point, "index", name, "--force"]
    environment = {**os.environ, "SHRAG_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def half_built_homes(home: Path, name: str, points: Sequence[str], patch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Build ``name`` anew in this process, and copy the home at each point, which is what a kill there would leave.

    Args:
        home: The home; the copies lie beside it.
        name: The name of the corpus and the index.
        points: ``records:500``, ``seal``, ``current`` or, for the end of a step, ``mark:STEP``.
        patch: Undone by the caller.
    """
    copies: dict[str, Path] = {}

    def copy(point: str) -> None:
        if point in points and point not in copies:
            copies[point] = home.with_name(point.replace(":", "-"))
            shutil.copytree(home, copies[point])

    def before(owner: Any, attribute: str, point: Callable[..., str]) -> None:  # noqa: ANN401
        there = getattr(owner, attribute)

        def copying(*given: object) -> object:
            copy(point(*given))
            return there(*given)

        patch.setattr(owner, attribute, copying)

    add, seen = LuceneIndexWriter.add, itertools.count(1)

    def adding(writer: LuceneIndexWriter, records: Iterable[PackedRecord]) -> None:
        def counted() -> Iterator[PackedRecord]:
            for record in records:
                copy(f"records:{next(seen)}")
                yield record

        add(writer, counted())

    patch.setattr(records_step, "_SMALLEST_SHARD", 256)
    patch.setattr(LuceneIndexWriter, "add", adding)
    before(checkpoints, "write_atomically", lambda path, _: f"mark:{path.stem}")
    before(builder, "make_manifest", lambda _: "seal")
    before(generations, "write_atomically", lambda path, _: path.name.lower())
    builder.build_index(home / "corpora", home / "indexes", name, force=True)
    assert copies.keys() == set(points)
    return copies
