"""Commands that replace a corpus, build or update an index while a system call fails, and the state that they leave."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.manifest import MANIFEST_FILE, read_manifest, read_previous
from shrag.corpora.store.open_corpus import check_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.incremental import update_index
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.storage.generations import check_files, current_generation
from tests.support.injected_faults import Fault, Points, has_happened, injecting, read_points, tracing
from tests.support.killed_build import ROOT

NAME = "c"
RECORDS = 12
SECONDS = 180.0
"""A command that takes longer hangs; the machine may be busy."""

Kind = Literal["replace", "build", "update"]

ARGUMENTS: dict[Kind, tuple[str, ...]] = {
    "replace": ("corpus", "replace", NAME, "--yes", "--format", "scienceon"),
    "build": ("index", NAME, "--workers", "1"),
    "update": ("index", NAME, "--update", "--workers", "1"),
}

# The command itself, with a general vocabulary of a few words: its analysis takes most of a small build's time.
_SCRIPT = (
    "from shrag.indexing.glossary import vocabulary, vocabulary_selection\n"
    "words = vocabulary.read_vocabulary()[::2000]; vocabulary_selection.read_vocabulary = lambda: words\n"
    "from shrag.cli.main import main; main()"
)

_SUSPECT = re.compile(r"Traceback|unexpected|report it|report the|Exception|SIG[A-Z]+ |core dump|hs_err")


class Run(NamedTuple):
    """A command that ended: its status, None where it had to be killed, and what it printed on stderr."""

    status: int | None
    said: str


class Outcome(NamedTuple):
    """A case: its fault, whether it happened, what became of the command, and what is wrong."""

    kind: Kind
    fault: Fault
    happened: bool
    state: str
    problems: tuple[str, ...]
    said: str

    def __str__(self) -> str:
        hit = "" if self.happened else " (did not happen)"
        return f"{self.kind:<7}{self.state:<10} {self.fault}{hit}" + "".join(f"\n  {each}" for each in self.problems)


class FaultedCommands:
    """Homes before a command, and the points of a run of it without a fault.

    Args:
        folder: An empty folder of its own.
        strace: The path of strace.
        records: A file of records in the format ``scienceon``, at least 14.
        encoder: The encoder of the index.
    """

    def __init__(self, folder: Path, strace: str, records: Path, encoder: str = "lsa") -> None:
        self._folder, self._strace = folder, strace
        lines = records.read_text(encoding="utf-8").splitlines()[: RECORDS + 2]
        base = folder / "base"
        base.mkdir()
        changed = json.loads(lines[1]) | {"title": "그래핀 차폐재의 새 제목"}
        old, new = lines[:RECORDS], [json.dumps(changed, ensure_ascii=False), *lines[2:]]
        for name, content in (("old", old), ("new", new)):
            (base / f"{name}.jsonl").write_text("\n".join(content) + "\n", encoding="utf-8")
        self.fingerprints = []
        for name in ("new", "old"):
            add_corpus(base / "corpora", NAME, "scienceon", [base / f"{name}.jsonl"], replace=True)
            self.fingerprints.append(read_manifest(base / "corpora" / NAME).fingerprint)
        build_index(base / "corpora", base / "indexes", NAME, encoder=encoder)
        shutil.copytree(base, folder / "base-replace")
        add_corpus(base / "corpora", NAME, "scienceon", [base / "new.jsonl"], replace=True)
        shutil.copytree(base, folder / "base-build")
        shutil.copytree(base, folder / "base-update")
        self._points: dict[Kind, Points] = {}

    def points(self, kind: Kind) -> Points:
        """Return the points of the command."""
        if kind not in self._points:
            home, trace = self._new_home(kind), self._folder / "trace"
            run = self._run(tracing(self._strace, trace), kind, home)
            assert run.status == 0, run.said
            self._points[kind] = read_points(trace, home)
            shutil.rmtree(home)
        return self._points[kind]

    def run(self, kind: Kind, call: str, pattern: str, error: str) -> Run | None:
        """Run the command while every such call on the home's file fails; None where there is no such call."""
        home = self._new_home(kind)
        current = read_manifest(home / "corpora" / NAME).records_file  # beside it lies the version before
        (path,) = (each for each in home.glob(pattern) if each.name == current) if "*" in pattern else [home / pattern]
        run, happened = self._faulted(kind, Fault(call, str(path.relative_to(home)), error, "1+"), home)
        shutil.rmtree(home)
        return run if happened else None

    def case(self, kind: Kind, fault: Fault) -> Outcome:
        """Run the command with the fault, then without one, and examine what it leaves each time."""
        home = self._new_home(kind)
        run, happened = self._faulted(kind, fault, home)
        state, problems = self._examine(kind, home)
        problems += list(_problems_of(run))
        if run.status == 0 and state != "new":
            problems.append(f"it ended with 0 and left the {state} state")
        if not happened and run.status != 0:
            problems.append(f"no call failed, and it ended with {run.status}")
        problems += self._recover(kind, home)
        if problems:
            problems.append(f"status {run.status}: {run.said.strip()}")
        shutil.rmtree(home)
        return Outcome(kind, fault, happened, f"{state} {run.status}", tuple(problems), run.said)

    def _new_home(self, kind: Kind) -> Path:
        home = self._folder / "home"
        shutil.copytree(self._folder / f"base-{kind}", home)
        return home

    def _faulted(self, kind: Kind, fault: Fault, home: Path) -> tuple[Run, bool]:
        """Run the command with the fault; return also whether it happened."""
        trace = self._folder / "trace"
        trace.unlink(missing_ok=True)
        run = self._run(injecting(self._strace, fault, home, trace), kind, home)
        return run, has_happened(trace)

    def _run(self, prefix: Sequence[str], kind: Kind, home: Path) -> Run:
        sources = [str(home / "new.jsonl")] if kind == "replace" else []
        command = [*prefix, sys.executable, "-c", _SCRIPT, *ARGUMENTS[kind], *sources]
        environment = {**os.environ, "SHRAG_HOME": str(home), "PYTHONPATH": str(ROOT)}
        with (self._folder / "said").open("w+") as said:
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )
            status: int | None = None
            try:
                status = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
            said.seek(0)
            return Run(status, said.read())

    def _examine(self, kind: Kind, home: Path) -> tuple[str, list[str]]:
        """Return whether the state is the old or the new one, and what is wrong with it."""
        try:
            check_corpus(home / "corpora", NAME)
            fingerprint = read_manifest(home / "corpora" / NAME).fingerprint
            folder, manifest = current_generation(home / "indexes" / NAME)
            if kind == "replace":
                check_files(folder, manifest)
                return _state(fingerprint, self.fingerprints), []
            problems = [] if fingerprint == self.fingerprints[0] else ["the corpus has changed"]
            if manifest.generation == 1:
                check_files(folder, manifest)
                return "old", problems
            if manifest.vectors is None:
                problems.append("the vectors are lost")
            problems += [damage.message for damage in verify_index(home / "indexes", NAME).problems]
            return _state(manifest.source.fingerprint, self.fingerprints), problems
        except Exception as error:
            return "damaged", [f"damaged state: {error!r}"]

    def _recover(self, kind: Kind, home: Path) -> list[str]:
        """Run the command's function without a fault; return what is wrong then."""
        corpora, indexes = home / "corpora", home / "indexes"
        recover: dict[Kind, Callable[[], object]] = {
            "replace": lambda: add_corpus(corpora, NAME, "scienceon", [home / "new.jsonl"], replace=True),
            "build": lambda: build_index(corpora, indexes, NAME),
            "update": lambda: update_index(corpora, indexes, NAME),
        }
        try:
            recover[kind]()
        except Exception as error:
            return [f"the next run fails: {error!r}"]
        state, problems = self._examine(kind, home)
        if state != "new":
            problems.append(f"the next run leaves the {state} state")
        left = sorted(path.name for path in (indexes / NAME).iterdir() if path.name != ".verified")
        # A build that found the disk full between its two last renames is built again, under the next number.
        current = current_generation(indexes / NAME)[0].name
        expected = sorted({".lock", "CURRENT", "gen-000001", current})
        if left != expected:
            problems.append(f"left in the index: {left}")
        manifest = read_manifest(corpora / NAME)
        left = sorted(path.name for path in (corpora / NAME).iterdir())
        versions = [manifest, *filter(None, [read_previous(corpora / NAME)])]
        files = {name for each in versions for name in (each.records_file, each.rejects_file)}
        if left != sorted([".lock", MANIFEST_FILE, *files]):
            problems.append(f"left in the corpus: {left}")
        return problems


def _problems_of(run: Run) -> list[str]:
    if run.status is None:
        return [f"it did not end within {SECONDS:.0f} s"]
    messages = [line for line in run.said.splitlines() if line.startswith(("shrag: ", "Error: "))]
    problems = []
    if run.status and len(messages) != 1:
        problems.append(f"it ended with {len(messages)} messages")
    if run.status not in range(2, 7) and run.status != 0:
        problems.append(f"it ended with status {run.status}")
    if found := _SUSPECT.search(run.said):
        problems.append(f"it said {found.group()!r}")
    return problems


def _state(fingerprint: str, known: Sequence[str]) -> str:
    return ("new", "old")[known.index(fingerprint)] if fingerprint in known else "unknown"
