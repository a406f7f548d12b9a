"""Index folder: numbered generations and the CURRENT pointer.

indexes/NAME/CURRENT            "gen-000007 SHA-256-of-its-manifest", replaced by one rename
indexes/NAME/gen-000007/        sealed, never written again
indexes/NAME/build-000008/      private to the builder, opened by nobody
indexes/NAME/old-000005/        a generation being removed
"""

from __future__ import annotations

import hashlib
import re
import shutil
from contextlib import suppress
from pathlib import Path

from shrag.corpora.files import sync_file, write_atomically
from shrag.indexing.errors import IndexDamaged, IndexMissing
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, find_damage, find_file_damage
from shrag.indexing.storage.manifest import IndexManifest, decode_manifest, encode_manifest

CURRENT_FILE = "CURRENT"
KEPT_GENERATIONS = 2
_CURRENT = re.compile(r"gen-(\d{6}) ([0-9a-f]{64})\n")
_GENERATION = re.compile(r"gen-(\d{6})")


def list_generations(index: Path) -> list[int]:
    """Return the numbers of the generations there are, the oldest first."""
    matches = (_GENERATION.fullmatch(path.name) for path in index.glob("gen-*"))
    return sorted(int(match.group(1)) for match in matches if match)


def generation_folder(index: Path, number: int) -> Path:
    """Return where a generation lies, or would."""
    return index / f"gen-{number:06d}"


def next_generation(index: Path) -> int:
    """Return the number after the highest there is, from 1: after a step back, too, no number comes twice."""
    return max(list_generations(index), default=0) + 1


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
    digest = hashlib.sha256(data).hexdigest()
    write_atomically(build / MANIFEST_CHECKSUM_FILE, f"{digest}  {MANIFEST_FILE}\n".encode())
    write_atomically(build / MANIFEST_FILE, data)
    final = generation_folder(index, manifest.generation)
    build.rename(final)
    sync_file(build.parent)
    set_current(index, manifest.generation)
    return final


def set_current(index: Path, number: int) -> IndexManifest:
    """Make a generation the current one, by one rename; return its manifest.

    Raises as :func:`read_generation` does. Whoever asks has checked the generation's files.
    """
    manifest = read_generation(index, number)
    data = (generation_folder(index, number) / MANIFEST_FILE).read_bytes()
    sync_file(index)
    line = f"{generation_folder(index, number).name} {hashlib.sha256(data).hexdigest()}\n"
    write_atomically(index / CURRENT_FILE, line.encode())
    return manifest


def prune_generations(index: Path, current: int, before: int | None, keep: int = KEPT_GENERATIONS) -> None:
    """Remove all generations but ``keep``: the current one, the one that was current ``before`` it, then the newest.

    After a step back, ``before`` is not the newest but the one that was thought better of. A process that has a removed
    generation open keeps reading it: the system frees a file when the last one who has it open lets go.
    """
    others = sorted(list_generations(index), key=lambda number: (number == current, number == before, number))
    for number in others[: max(len(others) - keep, 0)]:
        # One rename, so that a removal cut short leaves nothing that looks like a generation.
        generation_folder(index, number).rename(index / f"old-{number:06d}")
    for going in index.glob("old-*"):
        shutil.rmtree(going)


def current_generation(index: Path) -> tuple[Path, IndexManifest]:
    """Return the current generation's folder and manifest.

    Raises :class:`IndexMissing` where nothing was published yet, :class:`IndexDamaged` where ``CURRENT``, the folder or
    the manifest is not as it was published, ``IndexMismatch`` where the manifest is of another format.
    """
    number, digest = read_current(index)
    return generation_folder(index, number), _read_manifest(index, number, digest, index / CURRENT_FILE)


def read_generation(index: Path, number: int) -> IndexManifest:
    """Return the manifest of any generation; raises as :func:`current_generation` does."""
    folder = generation_folder(index, number)
    if not folder.is_dir():
        there = ", ".join(map(str, list_generations(index))) or "none"
        raise IndexMissing(f"Index {index.name} has no generation {number}: there is {there}.")
    path = folder / MANIFEST_CHECKSUM_FILE
    try:
        digest, _, sealed = path.read_bytes().decode("ascii", "replace").removesuffix("\n").partition("  ")
    except OSError as error:
        with suppress(OSError):  # an older format has no such seal, and is to be named as that
            decode_manifest((folder / MANIFEST_FILE).read_bytes(), folder / MANIFEST_FILE)
        raise IndexDamaged(f"{path} cannot be read ({error.strerror}): {recovery_hint(index)}.") from None
    if sealed != MANIFEST_FILE:
        raise IndexDamaged(f"{path} is not the seal of a manifest: {recovery_hint(index)}.")
    return _read_manifest(index, number, digest, path)


def check_files(folder: Path, manifest: IndexManifest, *, contents: bool = True) -> None:
    """Compare every file with its seal; raises :class:`IndexDamaged` naming the first that differs."""
    for damage in find_damage(folder, manifest.files, contents=contents):
        raise IndexDamaged(f"{damage.message}: {recovery_hint(folder.parent)}.")


def check_file(folder: Path, manifest: IndexManifest, name: str) -> None:
    """Compare one file with its seal; raises :class:`IndexDamaged` where it was not sealed or differs."""
    seal = manifest.files.get(name)
    says = find_file_damage(folder, name, seal) if seal else f"{folder / name} is not part of the index"
    if says:
        raise IndexDamaged(f"{says}: {recovery_hint(folder.parent)}.")


def recovery_hint(index: Path) -> str:
    """Return what can be done about a damaged generation."""
    again = f"build it again with `shrag index {index.name}`"
    if len(list_generations(index)) < 2:
        return again
    return f"{again}, or use another generation with `shrag index rollback {index.name}`"


def read_current(index: Path) -> tuple[int, str]:
    """Return the number of the current generation and its manifest's SHA-256; raises as the above."""
    pointer = index / CURRENT_FILE
    try:
        line = pointer.read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        if list_generations(index):
            raise IndexDamaged(f"{pointer} is missing: {recovery_hint(index)}.") from None
        others = sorted(path.parent.name for path in index.parent.glob(f"*/{CURRENT_FILE}"))
        there = f" (there is {', '.join(others)})" if others else ""
        raise IndexMissing(
            f"There is no index {index.name!r} under {index.parent}{there}: build it with `shrag index {index.name}`."
        ) from None
    except OSError as error:
        raise IndexDamaged(f"{pointer} cannot be read ({error.strerror}): {recovery_hint(index)}.") from None
    match = _CURRENT.fullmatch(line)
    if not match:
        raise IndexDamaged(f"{pointer} does not name a generation: {recovery_hint(index)}.")
    return int(match.group(1)), match.group(2)


def current_number(index: Path) -> int | None:
    """Return the number ``CURRENT`` names, None where it names none."""
    try:
        return read_current(index)[0]
    except (IndexMissing, IndexDamaged):
        return None


def _read_manifest(index: Path, number: int, digest: str, pointer: Path) -> IndexManifest:
    path = generation_folder(index, number) / MANIFEST_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise IndexDamaged(f"{path} is missing, though {pointer} names it: {recovery_hint(index)}.") from None
    except OSError as error:
        raise IndexDamaged(f"{path} cannot be read ({error.strerror}): {recovery_hint(index)}.") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise IndexDamaged(f"{path} is not the manifest whose digest is in {pointer}: {recovery_hint(index)}.")
    manifest = decode_manifest(data, path)
    if manifest.generation != number:
        raise IndexDamaged(f"{path} is of generation {manifest.generation}, not {number}: {recovery_hint(index)}.")
    return manifest
