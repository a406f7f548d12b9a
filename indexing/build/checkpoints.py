"""Workspace of a build: its plan, disk space, and checkpoints of finished steps, so that a killed build resumes.

indexes/NAME/build-000008/PLAN.json         inputs of the build; only a build with the same plan resumes it
indexes/NAME/build-000008/stage/            checkpoints of finished steps, and their working files
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

from shrag.corpora.files import DiskFull, sync_file, write_atomically
from shrag.indexing.bm25 import Bm25

_PLAN_FILE = "PLAN.json"
_Stored = TypeVar("_Stored", bound=msgspec.Struct)

# Shares of the corpus's decompressed bytes, the largest of four corpora: Lucene's files, which are there twice during a
# merge, and the tokens of new words, whose number is limited.
_LUCENE_SHARE = 2.4
_WORDS_SHARE = 2.8
_MOST_WORDS_BYTES = 400 << 20
_LEAST = 1 << 20
_MARGIN = 1.3


class BuildPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that determines the content of an index: a build resumes another one if their plans are equal.

    ``encoder`` has the encoder's settings, empty for none; ``corrections`` the SHA-256 of the glossary corrections.
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
    """The folder of one build."""

    folder: Path
    plan: BuildPlan

    @property
    def index(self) -> Path:
        """The folder that will be published."""
        return self.folder / "index"

    @property
    def stage(self) -> Path:
        """The folder of checkpoints and working files."""
        return self.folder / "stage"

    @property
    def generation(self) -> int:
        """The number of the new generation."""
        return int(self.folder.name.removeprefix("build-"))


class BuildStep(NamedTuple):
    """One step of a build.

    Attributes:
        name: Its name, for the checkpoint.
        outputs: The files and folders that only this step writes, as names in the index's folder.
        run: Does it; called again after an interruption, it resumes or starts over.
    """

    name: str
    outputs: tuple[str, ...]
    run: Callable[[], None]


class _Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Digests of the inputs and outputs of a finished step."""

    input: str
    output: str


def find_workspace(index: Path, plan: BuildPlan, notify: Callable[[str], None]) -> BuildWorkspace | None:
    """Return the workspace of an interrupted build with the same plan, None if there is none; remove the others.

    ``notify`` is called with a sentence about a workspace that is removed.
    """
    found: BuildWorkspace | None = None
    for folder in sorted(index.glob("build-[0-9]*"), reverse=True):
        earlier = _read(folder / _PLAN_FILE, BuildPlan)
        if earlier == plan and found is None:
            found = BuildWorkspace(folder, plan)
            continue
        if earlier is not None and found is None:
            changed = ", ".join(
                name for name in plan.__struct_fields__ if getattr(earlier, name) != getattr(plan, name)
            )
            notify(f"An interrupted build was removed, since its plan differs in: {changed}.")
        shutil.rmtree(folder)
    return found


def drop_workspaces(index: Path) -> None:
    """Remove the workspaces of all interrupted builds."""
    for folder in index.glob("build-[0-9]*"):
        shutil.rmtree(folder)


def start_workspace(index: Path, plan: BuildPlan, generation: int) -> BuildWorkspace:
    """Create the workspace of a new build."""
    build = BuildWorkspace(index / f"build-{generation:06d}", plan)
    build.folder.mkdir()
    build.stage.mkdir()
    build.index.mkdir()
    write_atomically(build.folder / _PLAN_FILE, msgspec.json.encode(plan))
    sync_file(index)
    return build


def required_bytes(corpus: int) -> int:
    """Return the most bytes that a build takes, estimated from the corpus's decompressed bytes."""
    return int(corpus * _LUCENE_SHARE) + min(int(corpus * _WORDS_SHARE), _MOST_WORDS_BYTES) + _LEAST


def check_disk_space(index: Path, need: int) -> None:
    """Raise :class:`DiskFull` if less than 1.3 times ``need`` bytes are free."""
    if shutil.disk_usage(index).free < need * _MARGIN:
        raise disk_full(index, need)


def disk_full(index: Path, need: int) -> DiskFull:
    """Return an error that says how much is free and how much the build takes."""
    free = shutil.disk_usage(index).free
    return DiskFull(
        f"The disk is full: building index {index.name} takes about {int(need * _MARGIN):,} bytes and {free:,} are "
        f"free under {index}: free some space and run again."
    )


def run_steps(build: BuildWorkspace, steps: Sequence[BuildStep]) -> None:
    """Run the steps that are not finished, in order, with a checkpoint after each.

    A checkpoint is valid while the inputs of its step (the plan, the outputs of the steps before) and the names and
    sizes of its outputs are the same. Checksums of the bytes are computed at the end of a build.
    """
    digest = hashlib.sha256(msgspec.json.encode(build.plan)).hexdigest()
    for step in steps:
        checkpoint = build.stage / f"{step.name}.done"
        if _read(checkpoint, _Checkpoint) != _Checkpoint(digest, _listing(build.index, step.outputs)):
            checkpoint.unlink(missing_ok=True)
            step.run()
            write_atomically(checkpoint, msgspec.json.encode(_Checkpoint(digest, _listing(build.index, step.outputs))))
        digest = hashlib.sha256((digest + _listing(build.index, step.outputs)).encode()).hexdigest()


def _listing(folder: Path, names: Sequence[str]) -> str:
    """Return a digest of the names and sizes of all files in ``names``."""
    tops = [folder / name for name in names]
    files = sorted({file for top in tops for file in (top, *top.rglob("*")) if file.is_file()})
    lines = "".join(f"{file.relative_to(folder)} {file.stat().st_size}\n" for file in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def _read(path: Path, kind: type[_Stored]) -> _Stored | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
