"""F5: an index taken through random operations, held after each to a model that is a few dicts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.incremental import update_index
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMissing
from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.indexing.query import Term
from shrag.indexing.storage.generations import generation_folder, list_generations
from shrag.indexing.storage.manifest import IndexManifest

pytestmark = pytest.mark.slow

Contents = dict[str, str]
"""docid → text."""

KILLED = (
    "import sys, os; from pathlib import Path; from shrag.indexing.build.builder import BuildOptions, build_index\n"
    "home = Path(sys.argv[1]); stage = sys.argv[2]\n"
    "build_index(home / 'corpora', home / 'indexes', 'm', force=True, options=BuildOptions(\n"
    "            report=lambda what, done: os.kill(os.getpid(), 9) if what == stage else None))"
)


@dataclass
class Generation:
    """What one generation holds, as far as the model knows."""

    contents: Contents
    damaged: bool = False


@dataclass
class Model:
    """What should be on the disk."""

    wanted: Contents = field(default_factory=dict)
    corpus: Contents = field(default_factory=dict)
    generations: dict[int, Generation] = field(default_factory=dict)
    current: int = 0

    def publish(self, number: int, opened: int) -> None:
        """Make a generation of the corpus current, and forget those that two leave no place for and nobody has open."""
        assert number == max(self.generations, default=0) + 1
        self.generations[number] = Generation(dict(self.corpus))
        others = sorted(self.generations, key=lambda each: (each == number, each == self.current, each))
        for each in others[:-2]:
            if each != opened:
                del self.generations[each]
        self.current = number

    @property
    def whole(self) -> bool:
        """Whether the current generation is there and not damaged."""
        return self.current in self.generations and not self.generations[self.current].damaged


class Machine:
    """The operations, each on the disk and on the model."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.chance, self.model = home, random.Random(seed), Model()
        self.indexes = home / "indexes"
        self.open: tuple[OpenIndex, Contents] | None = None
        self.serial = 0
        self.done: dict[str, int] = {}

    def step(self, heavy: bool) -> None:
        """Do one random operation, then compare."""
        light = [self.add, self.add, self.change, self.delete, self.store, self.swap, self.damage, self.verify]
        weights = [4, 4, 3, 3, 4, 2, 1, 1]
        slow = [self.build, self.update, self.roll_back] + ([self.kill] if heavy else [])
        operation = self.chance.choices(light + slow, weights + [4, 4, 2] + ([1] if heavy else []))[0]
        operation()
        self.done[operation.__name__] = self.done.get(operation.__name__, 0) + 1
        self.compare()

    def add(self) -> None:
        self.serial += 1
        self.model.wanted[f"d#{self.serial}"] = f"only{self.serial} shared 그래핀"

    def change(self) -> None:
        if self.model.wanted:
            docid = self.chance.choice(list(self.model.wanted))
            self.model.wanted[docid] += f" more{self.chance.randrange(9)}"

    def delete(self) -> None:
        if self.model.wanted:
            del self.model.wanted[self.chance.choice(list(self.model.wanted))]

    def store(self) -> None:
        if not self.model.wanted:
            self.add()
        path = self.home / "records.jsonl"
        lines = (json.dumps({"docid": docid, "title": "", "text": text}) for docid, text in self.model.wanted.items())
        path.write_text("\n".join(lines), encoding="utf-8")
        add_corpus(self.home / "corpora", "m", "miracl", [path], replace=True)
        self.model.corpus = dict(self.model.wanted)

    def build(self) -> None:
        if not self.model.corpus:
            return
        manifest, new = build_index(self.home / "corpora", self.indexes, "m")
        # The order of records is part of a corpus's fingerprint.
        current = self.model.generations[self.model.current].contents if self.model.whole else {}
        assert new == (list(self.model.corpus.items()) != list(current.items()))
        self._published(manifest, new)

    def update(self) -> None:
        if not self.model.corpus:
            return
        if not self.model.whole:
            with pytest.raises((IndexDamaged, IndexMissing)):
                update_index(self.home / "corpora", self.indexes, "m")
            return
        before = self.model.generations[self.model.current].contents
        manifest, changes = update_index(self.home / "corpora", self.indexes, "m")
        if changes is not None:
            assert changes.added == len(self.model.corpus.keys() - before.keys())
            assert changes.deleted == len(before.keys() - self.model.corpus.keys())
            both = before.keys() & self.model.corpus.keys()
            assert changes.changed == sum(before[docid] != self.model.corpus[docid] for docid in both)
        self._published(manifest, changes is not None)

    def kill(self) -> None:
        if not self.model.corpus:
            return
        stage = self.chance.choice(["records indexed", "checksums"])
        killed = subprocess.run([sys.executable, "-c", KILLED, str(self.home), stage], check=False)
        if stage == "records indexed" and killed.returncode == 0:
            # A build killed while it was sealed had read them all: this one went on from there, to its end.
            self.model.publish(max(self.model.generations, default=0) + 1, self._opened)
        else:
            assert killed.returncode == -9

    def swap(self) -> None:
        """Do what a server does that takes up the current generation."""
        if self.model.whole:
            opened = open_index(self.indexes, "m", first_question="")
            assert opened.manifest.generation == self.model.current
            self.close()
            self.open = (opened, self.model.generations[self.model.current].contents)

    def damage(self) -> None:
        if not self.model.whole:
            return
        folder = generation_folder(self.indexes / "m", self.model.current)
        path = self.chance.choice([path for path in sorted(folder.rglob("*")) if path.is_file()])
        if path.name == "MANIFEST.sha256" or not path.stat().st_size:
            return
        data = bytearray(path.read_bytes())
        data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        # A new file in the place of the old: whoever has the old one open has it unharmed.
        path.unlink()
        path.write_bytes(bytes(data))
        self.model.generations[self.model.current].damaged = True

    def verify(self) -> None:
        for number, generation in self.model.generations.items():
            assert bool(verify_index(self.indexes, "m", number).problems) == generation.damaged

    def roll_back(self) -> None:
        whole = [n for n, kept in self.model.generations.items() if n < self.model.current and not kept.damaged]
        later = [n for n, kept in self.model.generations.items() if n > self.model.current and not kept.damaged]
        if not whole and later:
            assert roll_back(self.indexes, "m", to=later[-1]).generation == later[-1]
            self.model.current = later[-1]
        elif not whole:
            with pytest.raises(IndexingError):
                roll_back(self.indexes, "m")
        else:
            assert roll_back(self.indexes, "m").generation == whole[-1]
            self.model.current = whole[-1]

    def compare(self) -> None:
        """Expect the disk and what is open to be as the model has it."""
        assert list_generations(self.indexes / "m") == sorted(self.model.generations)
        if self.open is not None:
            self._expect(*self.open)
        if self.model.whole:
            opened = open_index(self.indexes, "m", first_question="")
            self._expect(opened, self.model.generations[self.model.current].contents)
            opened.close()
        else:
            with pytest.raises((IndexDamaged, IndexMissing)):
                open_index(self.indexes, "m", first_question="")

    def close(self) -> None:
        """Close what is open."""
        if self.open is not None:
            self.open[0].close()
            self.open = None

    @property
    def _opened(self) -> int:
        return self.open[0].manifest.generation if self.open is not None else 0

    def _published(self, manifest: IndexManifest, new: bool) -> None:
        if new:
            self.model.publish(manifest.generation, self._opened)
        assert manifest.generation == self.model.current

    def _expect(self, opened: OpenIndex, contents: Contents) -> None:
        docids = [f"d#{number}" for number in range(self.serial + 1)]
        found = opened.store.fetch(docids)
        assert {record.record.docid: record.record.text for record in found if record is not None} == contents
        (shared,) = opened.searcher.search([Term("share")], 1_000)
        assert {hit.docid for hit in shared} == contents.keys()


def _run(home: Path, seed: int, steps: int, heavy: bool) -> Machine:
    print(f"seed {seed}")
    machine = Machine(home, seed)
    (home / "indexes" / "m").mkdir(parents=True)
    try:
        for _ in range(steps):
            machine.step(heavy)
    finally:
        machine.close()
    print(machine.done)
    return machine


def test_an_index_is_what_the_model_says_after_every_operation(tmp_path: Path) -> None:
    machine = _run(tmp_path, seed=11, steps=50, heavy=False)
    assert {"build", "update", "roll_back", "damage", "swap", "verify"} <= machine.done.keys()


@pytest.mark.soak
def test_an_index_is_what_the_model_says_after_two_thousand_operations(tmp_path: Path) -> None:
    for run in range(10):
        _run(tmp_path / str(run), random.SystemRandom().randrange(2**32), 200, heavy=True)
