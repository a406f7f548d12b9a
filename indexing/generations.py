"""An index's folder: numbered generations, and one small file that says which of them is current.

indexes/NAME/CURRENT            "gen-000007 SHA-256-of-its-manifest", replaced by one rename
indexes/NAME/gen-000007/        sealed, never written again
indexes/NAME/build-000008/      private to the builder, opened by nobody
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from shrag.corpora.durable import replace_durably, sync_file
from shrag.indexing.errors import IndexDamaged, IndexMissing
from shrag.indexing.manifest import MANIFEST_FILE, IndexManifest, decode_manifest, encode_manifest

CURRENT_FILE = "CURRENT"
_CURRENT = re.compile(r"(gen-\d{6}) ([0-9a-f]{64})\n")
_KEPT_GENERATIONS = 2


def next_generation(index: Path) -> int:
    """Return the number after the highest there is, from 1."""
    numbers = [int(path.name.removeprefix("gen-")) for path in index.glob("gen-[0-9]*")]
    return max(numbers, default=0) + 1


def publish(index: Path, build: Path, manifest: IndexManifest) -> Path:
    """Seal ``build`` with its manifest and make it the current generation; return its folder.

    Every file is on the disk before the manifest is, the manifest before the folder gets its name, the name before
    ``CURRENT`` points to it: whenever this ends, the old generation is current or the new one is, whole.
    """
    for name in manifest.files:
        sync_file(build / name)
    for folder in {(build / name).parent for name in manifest.files}:
        sync_file(folder)
    data = encode_manifest(manifest)
    replace_durably(build / MANIFEST_FILE, data)
    final = index / f"gen-{manifest.generation:06d}"
    build.rename(final)
    sync_file(build.parent)
    make_current(index, manifest.generation)
    return final


def make_current(index: Path, generation: int) -> IndexManifest:
    """Point ``CURRENT`` to a whole generation, by one rename; return its manifest."""
    path = index / f"gen-{generation:06d}" / MANIFEST_FILE
    data = path.read_bytes()
    manifest = decode_manifest(data, path)
    sync_file(index)
    replace_durably(index / CURRENT_FILE, f"{path.parent.name} {hashlib.sha256(data).hexdigest()}\n".encode())
    return manifest


def drop_old(index: Path, current: Path) -> None:
    """Remove all but the current generation and the one before it. A server that has one open keeps reading it."""
    generations = sorted(index.glob("gen-[0-9]*"))
    for folder in generations[: max(generations.index(current) - _KEPT_GENERATIONS + 1, 0)]:
        shutil.rmtree(folder)


def current_generation(index: Path) -> tuple[Path, IndexManifest]:
    """Return the current generation's folder and manifest.

    Raises :class:`IndexMissing` where nothing was published yet, :class:`IndexDamaged` where ``CURRENT``, the folder or
    the manifest is not as it was published.
    """
    pointer = index / CURRENT_FILE
    try:
        line = pointer.read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        others = sorted(path.parent.name for path in index.parent.glob(f"*/{CURRENT_FILE}"))
        there = f" (there is {', '.join(others)})" if others else ""
        raise IndexMissing(
            f"There is no index {index.name!r} under {index.parent}{there}: build it with `shrag index {index.name}`."
        ) from None
    match = _CURRENT.fullmatch(line)
    if not match:
        raise IndexDamaged(f"{pointer} does not name a generation: build the index again.")
    folder = index / match.group(1)
    path = folder / MANIFEST_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise IndexDamaged(f"{path} is missing, though {pointer} names it: build the index again.") from None
    if hashlib.sha256(data).hexdigest() != match.group(2):
        raise IndexDamaged(f"{path} has changed since it was published: build the index again.")
    return folder, decode_manifest(data, path)
