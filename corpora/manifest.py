"""What a stored corpus says of itself: where it came from, and that every line read is accounted for."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.corpora.durable import replace_durably
from shrag.corpora.errors import CorpusError

FORMAT_VERSION = 1
MANIFEST_FILE = "manifest.json"


class Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of one source file's lines: ``lines = records + rejected + duplicates + blank``."""

    path: str
    sha256: str
    bytes: int
    lines: int
    records: int
    rejected: int
    duplicates: int
    blank: int


class CorpusManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``fingerprint`` is the SHA-256 over the records in order; ``records_file`` and ``rejects_file`` lie beside it."""

    format_version: int
    name: str
    format: str
    fingerprint: str
    records: int
    complete: int
    languages: dict[str, int]
    records_file: str
    rejects_file: str
    sources: tuple[Account, ...]
    shrag_version: str


def write_manifest(folder: Path, manifest: CorpusManifest) -> None:
    """Make ``manifest`` the folder's: from this rename on, the corpus is the one it describes."""
    replace_durably(folder / MANIFEST_FILE, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def read_manifest(folder: Path) -> CorpusManifest:
    """Return the folder's manifest; raises :class:`CorpusError` where there is none or it is not one."""
    path = folder / MANIFEST_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CorpusError(
            f"There is no corpus {folder.name!r} ({path} is missing): add it with "
            f"`shrag corpus add {folder.name} --format FORMAT PATH...`."
        ) from None
    try:
        manifest = msgspec.json.decode(data, type=CorpusManifest)
    except msgspec.MsgspecError as error:
        raise CorpusError(f"{path} is not a corpus manifest ({error}): add the corpus again.") from None
    if manifest.format_version != FORMAT_VERSION:
        raise CorpusError(
            f"{path} has format {manifest.format_version}, this SHRAG reads {FORMAT_VERSION}: add the corpus again."
        )
    return manifest
