"""Checkpoints of a build, which may be killed at any moment: its folder, its plan, and marks of finished steps.

indexes/NAME/build-000008/PLAN.json         what is being built from what; only the same plan resumes it
indexes/NAME/build-000008/stage/            marks of finished steps, and their working files
indexes/NAME/build-000008/index/            becomes gen-000008 by one rename
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from shrag.corpora.files import sync_file, write_atomically
from shrag.indexing.bm25 import Bm25

_PLAN_FILE = "PLAN.json"
_Stored = TypeVar("_Stored", bound=msgspec.Struct)


class BuildPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that decides what an index will hold: a build resumes another one where their plans are equal.

    ``encoder`` is the settings of the encoder of its vectors, empty where it will have none; ``corrections`` is the
    SHA-256 of a user's corrections to its glossary.
    """

    format_version: int
    corpus: str
    records: int
    analyzer: str
    bm25: Bm25
    encoder: str
    corrections: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class BuildWorkspace:
    """The folder of one build. ``index`` is what will be published, ``stage`` what is needed only until then."""

    folder: Path
    plan: BuildPlan

    @property
    def index(self) -> Path:
        """The folder that becomes the generation."""
        return self.folder / "index"

    @property
    def stage(self) -> Path:
        """The folder of what is not published."""
        return self.folder / "stage"

    @property
    def generation(self) -> int:
        """The number of the generation it becomes."""
        return int(self.folder.name.removeprefix("build-"))


class BuildStep(NamedTuple):
    """One step of a build. ``run`` may find what an earlier, interrupted run of it left, and resumes that.

    ``outputs`` are the names, in the index's folder, of the files and folders it makes; nothing else touches them.
    """

    name: str
    outputs: tuple[str, ...]
    run: Callable[[], None]


class _Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The mark of a finished step: the digest of all it was made from, and of what it made."""

    input: str
    output: str


def find_workspace(index: Path, plan: BuildPlan, tell: Callable[[str], None]) -> BuildWorkspace | None:
    """Return the folder of an interrupted build with the same plan, if there is one; remove those of other plans.

    ``tell`` is called with a sentence about what is removed.
    """
    found: BuildWorkspace | None = None
    for folder in sorted(index.glob("build-[0-9]*"), reverse=True):
        kept = _read(folder / _PLAN_FILE, BuildPlan)
        if kept == plan and found is None:
            found = BuildWorkspace(folder, plan)
            continue
        if kept is not None and found is None:
            changed = ", ".join(name for name in plan.__struct_fields__ if getattr(kept, name) != getattr(plan, name))
            tell(f"A half-built index was dropped, since its plan differs from today's in: {changed}.")
        shutil.rmtree(folder)
    return found


def drop_workspaces(index: Path) -> None:
    """Remove the folders of all interrupted builds."""
    for folder in index.glob("build-[0-9]*"):
        shutil.rmtree(folder)


def start_workspace(index: Path, plan: BuildPlan, generation: int) -> BuildWorkspace:
    """Make the folder of a new build, its plan first."""
    build = BuildWorkspace(index / f"build-{generation:06d}", plan)
    build.folder.mkdir()
    build.stage.mkdir()
    build.index.mkdir()
    write_atomically(build.folder / _PLAN_FILE, msgspec.json.encode(plan))
    sync_file(index)
    return build


def run_steps(build: BuildWorkspace, steps: Sequence[BuildStep]) -> None:
    """Run the steps that are not finished, in order. Each finished one is marked, so that it is not run again.

    A mark counts while the step's input (the plan and the outputs of all steps before) and the names and sizes of its
    own files are what they were; their bytes get checksums at the end, which are checked when the index is opened.
    """
    digest = hashlib.sha256(msgspec.json.encode(build.plan)).hexdigest()
    for step in steps:
        mark = build.stage / f"{step.name}.done"
        if _read(mark, _Done) != _Done(digest, _listing(build.index, step.outputs)):
            mark.unlink(missing_ok=True)
            step.run()
            write_atomically(mark, msgspec.json.encode(_Done(digest, _listing(build.index, step.outputs))))
        digest = hashlib.sha256((digest + _listing(build.index, step.outputs)).encode()).hexdigest()


def _listing(folder: Path, names: Sequence[str]) -> str:
    """Digest the names and sizes of all files below ``names``."""
    tops = [folder / name for name in names]
    files = sorted({file for top in tops for file in (top, *top.rglob("*")) if file.is_file()})
    lines = "".join(f"{file.relative_to(folder)} {file.stat().st_size}\n" for file in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def _read(path: Path, kind: type[_Stored]) -> _Stored | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
