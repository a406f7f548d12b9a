"""A real build in a process of its own that is killed by SIGKILL at a chosen point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shrag.indexing.glossary import vocabulary_selection
from shrag.indexing.glossary.vocabulary import read_vocabulary

ROOT = Path(__file__).resolve().parents[2]

# The command itself, with smaller shards, and with a death sentence at the point that its first argument names.
_SCRIPT = """
import os, sys, threading, time
from pathlib import Path
from shrag.indexing.storage import generations
from shrag.indexing.build import builder, checkpoints, derived_steps, records_step
from shrag.indexing.lexical.writer import LuceneIndexWriter

records_step._SMALLEST_SHARD = 256
from tests.support.killed_build import shorten_vocabulary
import pytest; shorten_vocabulary(pytest.MonkeyPatch())
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


def shorten_vocabulary(patch: pytest.MonkeyPatch) -> None:
    """Let builds of this process use a fiftieth of the general vocabulary, whose analysis takes seconds."""
    patch.setattr(vocabulary_selection, "read_vocabulary", lambda: read_vocabulary()[::50])


def start_killed_build(home: Path, name: str, point: str) -> subprocess.Popen[bytes]:
    """Start ``shrag index NAME --force``, which is killed at ``point``, a name of the script above."""
    command = [sys.executable, "-c", _SCRIPT, point, "index", name, "--force"]
    environment = {**os.environ, "SHRAG_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
