"""IndexManifest: read, write, check."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import msgspec

from shrag.corpora.store.manifest import CorpusManifest
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged, IndexMismatch
from shrag.indexing.storage.checksums import FileChecksum
from shrag.indexing.storage.vector_card import VectorCard

FORMAT_VERSION = 3
"""Raised whenever what is stored, or how its terms are cut, changes."""


class IndexManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one generation of an index was made of and by what.

    Attributes:
        format_version: :data:`FORMAT_VERSION` of the SHRAG that built it.
        generation: Its number.
        created: When, in UTC.
        source: The corpus's own manifest, with its account of every line read.
        analyzer: The analyzer's fingerprint.
        bm25: The parameters it is scored with.
        records: How many records of the corpus it holds.
        rejected: How many it does not, because they cannot be analyzed.
        utilization: The share of the build's time that each stage was at work; for information only.
        files: Size and checksum of every file, by its path in the generation's folder.
        versions: The versions of the parts that built it; for information only.
        vectors: Its vectors, None where it has none.
    """

    format_version: int
    generation: int
    created: str
    source: CorpusManifest
    analyzer: str
    bm25: Bm25
    records: int
    rejected: int
    utilization: dict[str, float]
    files: dict[str, FileChecksum]
    versions: dict[str, str]
    vectors: VectorCard | None = None


def encode_manifest(manifest: IndexManifest) -> bytes:
    """Return the manifest as it is written: indented JSON, one key order."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def manifest_digest(manifest: IndexManifest) -> str:
    """Return the SHA-256 of the manifest as it is written: it names one generation of one index and no other."""
    return hashlib.sha256(encode_manifest(manifest)).hexdigest()


def decode_manifest(data: bytes, path: Path) -> IndexManifest:
    """Read a manifest; raises :class:`IndexMismatch` for another format and :class:`IndexDamaged` for none."""
    index = path.parent.parent.name
    again = f"build it again with `shrag index {index}`"
    try:
        header = msgspec.json.decode(data, type=_AnyFormat)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise IndexDamaged(f"{path} is not an index manifest ({error}): {again}.") from None
    if header.format_version != FORMAT_VERSION:
        raise IndexMismatch(
            f"Index {index} was built by SHRAG {header.versions.get('shrag', 'of an unknown version')} in format "
            f"{header.format_version}, this is SHRAG {version('shrag')} and reads format {FORMAT_VERSION}: {again}."
        )
    try:
        manifest = msgspec.json.decode(data, type=IndexManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise IndexDamaged(f"{path} is not a whole manifest ({error}): {again}.") from None
    for name in manifest.files:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\0" in name:
            raise IndexDamaged(f"{path} names the file {name!r}, which lies outside the index: {again}.")
    return manifest


class _AnyFormat(msgspec.Struct):
    """What a manifest of any format has, from the first one on."""

    format_version: int
    versions: dict[str, str] = {}
