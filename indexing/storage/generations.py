"""The folder of an index: its numbered generations, and the file CURRENT that names the current one.

indexes/NAME/CURRENT            "gen-000007 SHA-256-of-its-manifest", replaced by one rename
indexes/NAME/gen-000007/        published, never written again
indexes/NAME/build-000008/      workspace of a build
indexes/NAME/old-gen-000005/    a folder being removed
indexes/NAME/.verified          when each file was last verified, by its inode and times
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

from shrag.corpora.files import sole_user, sync_file, write_atomically
from shrag.corpora.near_names import did_you_mean
from shrag.indexing.errors import IndexDamaged, IndexMissing
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, file_damage, find_damage
from shrag.indexing.storage.manifest import IndexManifest, decode_manifest, encode_manifest, manifest_digest
from shrag.indexing.storage.verified_files import file_states, read_verified, remember_verified
from shrag.messages.text import Text

CURRENT_FILE = "CURRENT"
KEPT_GENERATIONS = 2
_CURRENT = re.compile(r"gen-(\d{6}) ([0-9a-f]{64})\n")
_GENERATION = re.compile(r"gen-(\d{6})")


def list_generations(index: Path) -> list[int]:
    """Return the numbers of all generations, ascending."""
    matches = (_GENERATION.fullmatch(path.name) for path in index.glob("gen-*"))
    return sorted(int(match.group(1)) for match in matches if match)


def generation_folder(index: Path, number: int) -> Path:
    """Return the folder of a generation, which need not exist."""
    return index / f"gen-{number:06d}"


def next_generation(index: Path) -> int:
    """Return the number after the highest one, from 1; it is unused even after a rollback."""
    return max(list_generations(index), default=0) + 1


def publish(index: Path, build: Path, manifest: IndexManifest) -> None:
    """Write the manifest of ``build`` and make it the current generation.

    The files are flushed to the disk before the manifest is written, the manifest before the folder is renamed, and the
    folder before ``CURRENT`` names it. So after a crash at any point, either the old generation or the complete new one
    is current.
    """
    for name in manifest.files:
        sync_file(build / name)
    for folder in {(build / name).parent for name in manifest.files}:
        sync_file(folder)
    data = encode_manifest(manifest)
    digest = hashlib.sha256(data).hexdigest()
    write_atomically(build / MANIFEST_CHECKSUM_FILE, f"{digest}  {MANIFEST_FILE}\n".encode())
    write_atomically(build / MANIFEST_FILE, data)
    build.rename(generation_folder(index, manifest.generation))
    sync_file(build.parent)
    set_current(index, manifest.generation)


def set_current(index: Path, number: int) -> IndexManifest:
    """Make a generation the current one by one rename; return its manifest.

    Its files are not verified. Raises as :func:`read_generation`.
    """
    manifest = read_generation(index, number)
    data = (generation_folder(index, number) / MANIFEST_FILE).read_bytes()
    sync_file(index)
    line = f"{generation_folder(index, number).name} {hashlib.sha256(data).hexdigest()}\n"
    write_atomically(index / CURRENT_FILE, line.encode())
    return manifest


def prune_generations(index: Path, current: int, before: int | None, keep: int = KEPT_GENERATIONS) -> None:
    """Delete all generations but ``keep``: the current one, the one that was current ``before``, then the newest.

    A generation that is open is not deleted, since some of its files are opened only when they are needed. A later call
    deletes it.
    """
    others = sorted(list_generations(index), key=lambda number: (number == current, number == before, number))
    for number in others[: max(len(others) - keep, 0)]:
        with sole_user(generation_folder(index, number)) as alone:
            if alone:
                remove_folder(generation_folder(index, number))
    remove_leftovers(index)


def remove_folder(folder: Path) -> None:
    """Delete a folder of an index.

    The folder is renamed first. So a deletion that is interrupted, or that the disk refuses, leaves nothing that looks
    like a generation or a build.
    """
    aside = folder.with_name(f"old-{folder.name}")
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def remove_leftovers(index: Path) -> None:
    """Delete the remains of folders whose removal was interrupted."""
    for old in index.glob("old-*"):
        shutil.rmtree(old, ignore_errors=True)


def current_generation(index: Path) -> tuple[Path, IndexManifest]:
    """Return the current generation's folder and manifest.

    Raises:
        IndexMissing: There is no generation.
        IndexDamaged: ``CURRENT``, the folder or the manifest is missing or damaged.
        IndexMismatch: The manifest has another format.
    """
    number, digest = read_current(index)
    return generation_folder(index, number), _read_manifest(index, number, digest, index / CURRENT_FILE)


def read_generation(index: Path, number: int) -> IndexManifest:
    """Return the manifest of any generation; raises as :func:`current_generation`."""
    folder = generation_folder(index, number)
    if not folder.is_dir():
        existing = ", ".join(map(str, list_generations(index))) or Text("none")
        raise IndexMissing(
            Text(
                "Index {name} has no generation {number}: use one of {existing}.",
                name=index.name,
                number=number,
                existing=existing,
            )
        )
    path = folder / MANIFEST_CHECKSUM_FILE
    try:
        digest, _, name = path.read_bytes().decode("ascii", "replace").removesuffix("\n").partition("  ")
    except OSError as error:
        with suppress(OSError):  # a generation of an older format has no such file: its manifest raises IndexMismatch
            decode_manifest((folder / MANIFEST_FILE).read_bytes(), folder / MANIFEST_FILE)
        raise IndexDamaged(
            Text(
                "{path} cannot be read ({strerror}): {recovery_hint}.",
                path=path,
                strerror=error.strerror,
                recovery_hint=recovery_hint(index),
            )
        ) from None
    if name != MANIFEST_FILE:
        raise IndexDamaged(
            Text(
                "{path} is not the checksum of a manifest: {recovery_hint}.",
                path=path,
                recovery_hint=recovery_hint(index),
            )
        )
    return _read_manifest(index, number, digest, path)


def check_files(folder: Path, manifest: IndexManifest, *, contents: bool = True) -> None:
    """Verify all files; raise :class:`IndexDamaged` for the first that differs.

    If their contents are read, this is remembered for :func:`check_changed_files`.
    """
    states = file_states(folder, manifest.files)
    _check(folder, manifest, contents)
    if contents:
        remember_verified(folder.parent, manifest_digest(manifest), states)


def check_changed_files(folder: Path, manifest: IndexManifest) -> bool:
    """Verify all files, but read only those that have changed since they were last verified.

    Returns:
        Whether there were files that were not read.

    Raises:
        IndexDamaged: A file differs.
    """
    digest, states = manifest_digest(manifest), file_states(folder, manifest.files)
    verified = read_verified(folder.parent, digest)
    unchanged = {name for name, state in states.items() if verified.get(name) == state}
    _check(folder, manifest, manifest.files.keys() - unchanged)
    if len(unchanged) < len(states):
        remember_verified(folder.parent, digest, states)
    return bool(unchanged)


def _check(folder: Path, manifest: IndexManifest, contents: bool | Set[str]) -> None:
    for damage in find_damage(folder, manifest.files, contents=contents):
        raise _damaged(damage.message, folder)


def check_file(folder: Path, manifest: IndexManifest, name: str) -> None:
    """Verify one file; raises :class:`IndexDamaged` if it differs or is not in the manifest."""
    message = file_damage(folder / name, manifest.files.get(name))
    if message:
        raise _damaged(message, folder)


def _damaged(damage: str, folder: Path) -> IndexDamaged:
    return IndexDamaged(Text("{damage}: {recovery_hint}.", damage=damage, recovery_hint=recovery_hint(folder.parent)))


def recovery_hint(index: Path) -> str:
    """Return what a user can do about a damaged generation, as part of a sentence."""
    if len(list_generations(index)) < 2:
        return Text("build it again with `shrag index {name}`", name=index.name)
    return Text(
        "build it again with `shrag index {name}`, or use another generation with `shrag index rollback {name}`",
        name=index.name,
    )


def read_current(index: Path) -> tuple[int, str]:
    """Return the current generation's number and its manifest's SHA-256; raises as :func:`current_generation`."""
    pointer = index / CURRENT_FILE
    try:
        line = pointer.read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        if list_generations(index):
            raise IndexDamaged(
                Text("{pointer} is missing: {recovery_hint}.", pointer=pointer, recovery_hint=recovery_hint(index))
            ) from None
        others = sorted(path.parent.name for path in index.parent.glob(f"*/{CURRENT_FILE}"))
        known = Text(" (existing indexes: {names})", names=", ".join(others)) if others else ""
        raise IndexMissing(
            Text(
                "There is no index {name!r} under {parent}{known}: build it with `shrag index {name}`.{hint}",
                name=index.name,
                parent=index.parent.absolute(),
                known=known,
                hint=did_you_mean(index.name, others),
            )
        ) from None
    except OSError as error:
        raise IndexDamaged(
            Text(
                "{pointer} cannot be read ({strerror}): {recovery_hint}.",
                pointer=pointer,
                strerror=error.strerror,
                recovery_hint=recovery_hint(index),
            )
        ) from None
    match = _CURRENT.fullmatch(line)
    if not match:
        raise IndexDamaged(
            Text(
                "{pointer} does not name a generation: {recovery_hint}.",
                pointer=pointer,
                recovery_hint=recovery_hint(index),
            )
        )
    return int(match.group(1)), match.group(2)


def current_number(index: Path) -> int | None:
    """Return the current generation's number, None if there is none."""
    try:
        return read_current(index)[0]
    except (IndexMissing, IndexDamaged):
        return None


def _read_manifest(index: Path, number: int, digest: str, pointer: Path) -> IndexManifest:
    path = generation_folder(index, number) / MANIFEST_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise IndexDamaged(
            Text(
                "{path} is missing, though {pointer} names it: {recovery_hint}.",
                path=path,
                pointer=pointer,
                recovery_hint=recovery_hint(index),
            )
        ) from None
    except OSError as error:
        raise IndexDamaged(
            Text(
                "{path} cannot be read ({strerror}): {recovery_hint}.",
                path=path,
                strerror=error.strerror,
                recovery_hint=recovery_hint(index),
            )
        ) from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise IndexDamaged(
            Text(
                "{path} is not the manifest whose digest is in {pointer}: {recovery_hint}.",
                path=path,
                pointer=pointer,
                recovery_hint=recovery_hint(index),
            )
        )
    manifest = decode_manifest(data, path)
    if manifest.generation != number:
        raise IndexDamaged(
            Text(
                "{path} is of generation {generation}, not {number}: {recovery_hint}.",
                path=path,
                generation=manifest.generation,
                number=number,
                recovery_hint=recovery_hint(index),
            )
        )
    return manifest
