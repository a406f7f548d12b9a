"""Workspace of a build: its plan, the check of the disk space, and a checkpoint for each finished step.

A killed build resumes after its last checkpoint.

indexes/NAME/build-000008/PLAN.json         inputs of the build; only a build with the same plan resumes it
indexes/NAME/build-000008/stage/            checkpoints of finished steps, and their working files
indexes/NAME/build-000008/index/            becomes gen-000008 by one rename
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from shrag.corpora.files import PROCESS_ERRORS, DiskFull, sync_file, write_atomically
from shrag.corpora.store.file_checksum import FileChecksum, compute_checksum
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.storage.generations import remove_folder, remove_leftovers
from shrag.messages.text import Text

_PLAN_FILE = "PLAN.json"
_Stored = TypeVar("_Stored", bound=msgspec.Struct)

# Disk space as a multiple of the corpus's decompressed bytes, each the largest of four corpora. Lucene's files exist
# twice during a merge. The number of new words is limited, so the space for their tokens is too.
_LUCENE_SHARE = 2.4
_WORDS_SHARE = 2.8
_MOST_WORDS_BYTES = 400 << 20
_LEAST = 1 << 20
_MARGIN = 1.3


class BuildPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that determines the content of an index. A build resumes another one if their plans are equal.

    ``encoder`` has the encoder's settings, or is empty for no vectors. ``corrections`` has the SHA-256 of the glossary
    corrections.
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
        name: The name of the step and of its checkpoint.
        outputs: The files and folders that only this step writes, as paths in the build's folder.
        run: Executes the step. If it is called again after an interruption, it resumes or starts over.
    """

    name: str
    outputs: tuple[str, ...]
    run: Callable[[], None]


class _Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest of a finished step's inputs, and the checksum of each file that it wrote."""

    input: str
    outputs: dict[str, FileChecksum]


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
        if earlier is None:
            notify(Text("An interrupted build was removed, since its plan cannot be read."))
        elif found is None:
            changed = ", ".join(
                name for name in plan.__struct_fields__ if getattr(earlier, name) != getattr(plan, name)
            )
            notify(Text("An interrupted build was removed, since its plan differs in: {changed}.", changed=changed))
        remove_folder(folder)
    return found


def drop_workspaces(index: Path) -> None:
    """Remove the workspaces of all interrupted builds, and complete interrupted removals of folders."""
    for folder in index.glob("build-[0-9]*"):
        remove_folder(folder)
    remove_leftovers(index)


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
    """Estimate the most bytes of disk space that a build takes, from the corpus's decompressed bytes."""
    return int(corpus * _LUCENE_SHARE) + min(int(corpus * _WORDS_SHARE), _MOST_WORDS_BYTES) + _LEAST


def check_disk_space(index: Path, need: int) -> None:
    """Raise :class:`DiskFull` if less than 1.3 times ``need`` bytes are free."""
    if shutil.disk_usage(index).free < need * _MARGIN:
        raise disk_full(index, need)


def disk_full(index: Path, need: int) -> DiskFull:
    """Return an error that says how much space is free and how much the build takes."""
    free = shutil.disk_usage(index).free
    return DiskFull(
        Text(
            "The disk is full: building index {name} takes about {needed:,} bytes and {free:,} are free under "
            "{folder}: free some space and run again.",
            name=index.name,
            needed=int(need * _MARGIN),
            free=free,
            folder=index,
        )
    )


def run_steps(build: BuildWorkspace, steps: Sequence[BuildStep]) -> dict[str, FileChecksum]:
    """Run the steps that are not finished, in order, with a checkpoint after each.

    A step counts as finished if its inputs and every byte of its outputs match its checkpoint. Its inputs are the plan
    and the outputs of the earlier steps. The bytes are compared because the files of an interrupted build may have been
    damaged since.

    Returns:
        The checksum of each file that a step wrote, by its path in the build's folder.
    """
    digest = hashlib.sha256(msgspec.json.encode(build.plan)).hexdigest()
    checksums: dict[str, FileChecksum] = {}
    for step in steps:
        path = build.stage / f"{step.name}.done"
        checkpoint = _read(path, _Checkpoint)
        if checkpoint is None or checkpoint != _Checkpoint(digest, _checksums(build.folder, step.outputs)):
            path.unlink(missing_ok=True)
            step.run()
            checkpoint = _Checkpoint(digest, _checksums(build.folder, step.outputs))
            write_atomically(path, msgspec.json.encode(checkpoint))
        checksums |= checkpoint.outputs
        digest = hashlib.sha256(msgspec.json.encode(checkpoint, order="sorted")).hexdigest()
    return checksums


def check_files_written(index: Path, written: Mapping[str, FileChecksum], found: Mapping[str, FileChecksum]) -> None:
    """Raise :class:`IndexDamaged` if a file in the folder ``index`` has changed since a step wrote it.

    Args:
        index: The folder that will be published.
        written: The checksums of :func:`run_steps`.
        found: The checksum of every file now, by its path in ``index``.
    """
    for path, checksum in written.items():
        name = path.removeprefix("index/")
        if name != path and found.get(name) != checksum:
            raise IndexDamaged(Text("{path} has changed since it was written.", path=index / name))


def _checksums(folder: Path, names: Sequence[str]) -> dict[str, FileChecksum]:
    tops = [folder / name for name in names]
    files = sorted({file for top in tops for file in (top, *top.rglob("*")) if file.is_file()})
    return {str(file.relative_to(folder)): compute_checksum(file) for file in files}


def _read(path: Path, kind: type[_Stored]) -> _Stored | None:
    """Read a stored object, None if it is missing or damaged; raises ``OSError`` for :data:`PROCESS_ERRORS`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    except OSError as error:
        if error.errno in PROCESS_ERRORS:
            raise
        return None
