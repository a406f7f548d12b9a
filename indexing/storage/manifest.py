"""Manifest of an index: encode, decode and check it."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import msgspec

from shrag.corpora.store.file_checksum import FileChecksum
from shrag.corpora.store.manifest import CorpusManifest
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged, IndexMismatch
from shrag.indexing.storage.vector_card import VectorCard
from shrag.messages.text import Text

FORMAT_VERSION = 6
"""Increased when the stored files, or the terms of a text, change."""


class IndexManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of one generation of an index: its sources, its settings and its files.

    Attributes:
        format_version: :data:`FORMAT_VERSION` of the SHRAG that built it.
        source: The corpus's own manifest, with its account of every line read.
        records: The number of records of the corpus that it holds.
        rejected: The number of records that it lacks because they cannot be analyzed.
        utilization: The share of the build's time during which each stage worked; for information only.
        files: Size and checksum of every file, by its path in the generation's folder.
        versions: The versions of the components that built it; for information only.
        vectors: Its vectors, None if it has none.
        build_seconds: The time of a complete build, from which `shrag plan` knows the machine's speed; 0 for a resumed
            build and for an update.
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
    build_seconds: float = 0.0


def encode_manifest(manifest: IndexManifest) -> bytes:
    """Return the manifest as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def manifest_digest(manifest: IndexManifest) -> str:
    """Return the SHA-256 of the encoded manifest, which identifies a generation."""
    return hashlib.sha256(encode_manifest(manifest)).hexdigest()


def decode_manifest(data: bytes, path: Path) -> IndexManifest:
    """Decode a manifest; raises :class:`IndexMismatch` for another format, :class:`IndexDamaged` for invalid data."""
    index = path.parent.parent.name
    again = Text("build it again with `shrag index {name}`", name=index)
    try:
        header = msgspec.json.decode(data, type=_AnyFormat)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise IndexDamaged(
            Text("{path} is not an index manifest ({error}): {advice}.", path=path, error=error, advice=again)
        ) from None
    if header.format_version != FORMAT_VERSION:
        raise IndexMismatch(
            Text(
                "Index {name} was built by SHRAG {built_version} in format {built_format}, this is SHRAG "
                "{this_version} and reads format {this_format}: {advice}.",
                name=index,
                built_version=header.versions.get("shrag", Text("of an unknown version")),
                built_format=header.format_version,
                this_version=version("shrag"),
                this_format=FORMAT_VERSION,
                advice=again,
            )
        )
    try:
        manifest = msgspec.json.decode(data, type=IndexManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise IndexDamaged(
            Text("{path} is not a complete manifest ({error}): {advice}.", path=path, error=error, advice=again)
        ) from None
    for name in manifest.files:
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts or "\0" in name:
            raise IndexDamaged(
                Text(
                    "{path} names the file {name!r}, which is outside the index: {advice}.",
                    path=path,
                    name=name,
                    advice=again,
                )
            )
    return manifest


class _AnyFormat(msgspec.Struct, frozen=True):
    """The fields of manifests of all formats."""

    format_version: int
    versions: dict[str, str] = {}
