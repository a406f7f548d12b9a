"""Generations to publish while an index is served: copies of a sealed one, each under a number of its own."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.storage.checksums import Verify, compute_checksums
from shrag.indexing.storage.generations import (
    current_generation,
    next_generation,
    prune_generations,
    publish,
    read_generation,
)
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.engine import Engine, open_engine

DEMO_RECORDS = Path(__file__).resolve().parents[2] / "corpora" / "demo" / "records.jsonl"


def two_contents(home: Path) -> None:
    """Make ``demo`` under ``home`` with two generations: the demonstration, and the same with 판 behind each title."""
    other = home / "other.jsonl"
    home.mkdir(parents=True)
    with other.open("w", encoding="utf-8") as stream:
        for line in DEMO_RECORDS.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            record["title"] = f"{record['title']} 판"
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    for records in (DEMO_RECORDS, other):
        shutil.rmtree(home / "corpora", ignore_errors=True)
        add_corpus(home / "corpora", "demo", "scienceon", [records])
        build_index(home / "corpora", home / "indexes", "demo", encoder="lsa")


def publish_copy(
    index: Path, content: Path, *, change: Callable[[Path], object] = lambda _: None, sealed: bool = True
) -> int:
    """Publish a copy of the generation in ``content`` under the next number, and remove old ones; return the number.

    ``change`` is let loose on it behind its sealing, or, unless it is ``sealed`` already, before it.
    """
    before = current_generation(index)[1].generation
    number = next_generation(index)
    build = index / f"build-{number:06d}"
    shutil.copytree(content, build)
    change(build)
    manifest = read_generation(content.parent, int(content.name.removeprefix("gen-")))
    seals = manifest.files if sealed else compute_checksums(build)
    publish(index, build, msgspec.structs.replace(manifest, generation=number, files=seals))
    prune_generations(index, number, before)
    return number


def flip(file: str) -> Callable[[Path], None]:
    """Return what changes one bit in the middle of a generation's file."""

    def change(folder: Path) -> None:
        data = bytearray((folder / file).read_bytes())
        data[len(data) // 2] ^= 1
        (folder / file).write_bytes(data)

    return change


def open_files(index: Path, process: int | str = "self") -> set[str]:
    """Return the generations of which a process has a file open or mapped, removed ones too."""
    links = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            links.append(str(descriptor.readlink()))
        except FileNotFoundError:  # the folder's own, or closed meanwhile
            continue
    maps = Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines()
    paths = [*links, *(line.split(maxsplit=5)[5] for line in maps if len(line.split(maxsplit=5)) > 5)]
    prefix = f"{index.resolve()}/gen-"
    return {f"gen-{path.removeprefix(prefix)[:6]}" for path in paths if path.startswith(prefix)}


def wait_for(what: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Wait until ``what`` holds; return whether it did, if only for a moment."""
    end = time.monotonic() + seconds
    while not (holds := what()) and time.monotonic() < end:
        time.sleep(0.01)
    return holds


def opener(index: Path, cache: AnswerCache | None = None) -> Callable[[Verify, int | None], Engine]:
    """Return what opens a generation of the index in the folder ``index``, as a server does."""

    def open_generation(verify: Verify, generation: int | None) -> Engine:
        return open_engine(index.parent, index.name, verify=verify, cache=cache, generation=generation)

    return open_generation
