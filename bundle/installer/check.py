"""Check a bundle before anything in it is used: it must be whole, undamaged, and made for this machine."""

from __future__ import annotations

import platform
import zipfile
from pathlib import Path

from shrag.bundle.installer.manifest import FORMAT, MANIFEST, BundleManifest, decode_manifest, running_python
from shrag.corpora.errors import CorpusError
from shrag.corpora.store.archive import OpenedArchive, open_archive
from shrag.corpora.store.file_checksum import FileChecksum
from shrag.corpora.store.volumes import find_volumes
from shrag.messages.text import Text

_LARGEST_RATIO = 200
_LARGEST_SMALL_WHEEL = 2**26
"""A wheel that unpacks to at most this many bytes may have any compression ratio."""


def check_bundle(path: Path) -> BundleManifest:
    """Read all of a bundle, compare every file with its SHA-256, and return the manifest.

    Raises:
        CorpusError: The bundle cannot be read, is damaged or incomplete, or has other files than its manifest names.
    """
    with open_archive(path, "bundle") as archive:
        manifest = read_manifest(path, archive)
        archive.compare_rest()
    return manifest


def describe_bundle(path: Path, manifest: BundleManifest) -> Text:
    """Return a sentence that describes a bundle. :func:`check_bundle` must have found it whole."""
    size = sum(each.stat().st_size for each in find_volumes(path))
    return Text(
        "{path}: SHRAG {version} ({profile}), {count} files, {size:,.1f} MiB, all as when it was made",
        path=path,
        version=manifest.version,
        profile=manifest.profile,
        count=len(manifest.files),
        size=size / 2**20,
    )


def read_manifest(path: Path, archive: OpenedArchive) -> BundleManifest:
    """Read the manifest, the first file of an archive that was just opened, and compare it with the archive's header.

    Raises:
        CorpusError: The first file is not a manifest, or it names other files than the archive has.
    """
    name, chunks = next(archive.members, ("", iter(())))
    try:
        if name != MANIFEST:
            raise ValueError(f"{name!r} stands in its place")  # noqa: TRY301  (one message for all)
        manifest = decode_manifest(b"".join(chunks))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorpusError(
            Text(
                "{path} has no {manifest} that can be read ({error}): copy it again.",
                path=path,
                manifest=MANIFEST,
                error=error,
            )
        ) from None
    if manifest.format != FORMAT:
        raise CorpusError(
            Text(
                "{path} has bundle format {found}, this installer reads {known}: use the installer beside it.",
                path=path,
                found=manifest.format,
                known=FORMAT,
            )
        )
    carried = {each: file for each, file in archive.header.files.items() if each != MANIFEST}
    wrong = next((each for each, file in carried.items() if manifest.files.get(each) != file), None)
    missing = next((each for each in manifest.files if each not in carried), None) if not manifest.base else None
    if wrong or missing:
        raise CorpusError(
            Text(
                "{path} and the manifest in it do not agree on {name!r}: copy it again.",
                path=path,
                name=wrong or missing,
            )
        )
    return manifest


def check_machine(path: Path, manifest: BundleManifest) -> None:
    """Raise :class:`CorpusError` unless this Python, processor and C library can run the bundle's packages."""
    if running_python() not in manifest.pythons:
        raise CorpusError(
            Text(
                "{path} has packages for Python {known}, and this is {found}: run the installer with one of those.",
                path=path,
                known=", ".join(manifest.pythons),
                found=running_python(),
            )
        )
    if platform.machine() != manifest.machine:
        raise CorpusError(
            Text(
                "{path} was made for {known} processors, and this is {found}: make a bundle on such a machine.",
                path=path,
                known=manifest.machine,
                found=platform.machine(),
            )
        )
    name, found = platform.libc_ver()
    if name != "glibc" or _version(found) < _version(manifest.glibc):
        raise CorpusError(
            Text(
                "{path} needs glibc {known} or newer, and this system has {found}: install it on a newer system.",
                path=path,
                known=manifest.glibc,
                found=f"{name} {found}".strip() or Text("none"),
            )
        )


def check_wheel(name: str, path: Path, file: FileChecksum) -> None:
    """Raise :class:`CorpusError` if a file is not a wheel, or unpacks to far more bytes than it has."""
    try:
        with zipfile.ZipFile(path) as wheel:
            unpacked = sum(member.file_size for member in wheel.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise CorpusError(
            Text("{name} is not a wheel ({error}): make the bundle again.", name=name, error=error)
        ) from None
    if unpacked > max(_LARGEST_SMALL_WHEEL, _LARGEST_RATIO * file.bytes):
        raise CorpusError(
            Text(
                "{name} has {bytes:,} bytes and would unpack to {unpacked:,}: it is refused.",
                name=name,
                bytes=file.bytes,
                unpacked=unpacked,
            )
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
