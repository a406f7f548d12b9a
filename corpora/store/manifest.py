"""The manifest of a stored corpus: its sources, its counts, and the check that all lines read are accounted for."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.corpora.errors import CorpusError, UnaccountedLines
from shrag.corpora.files import write_atomically
from shrag.corpora.near_names import did_you_mean
from shrag.messages.text import Text

FORMAT_VERSION = 3
"""The version of the stored files of a corpus; it increases when their format changes."""

MANIFEST_FILE = "manifest.json"


class SourceAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source file and the numbers of its lines (or other items) by outcome, which add up to ``lines``.

    A duplicate is identical to a record that is kept. A superseded line has the identifier of a kept record with other
    content. ``repairs`` counts by kind the repairs of :mod:`shrag.corpora.text.repairs` in the records that were read,
    and the years that could not be read.
    """

    path: str
    format: str
    sha256: str
    bytes: int
    lines: int
    records: int
    rejected: int
    duplicates: int
    superseded: int
    blank: int
    repairs: dict[str, int] = {}


class CorpusManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a stored corpus.

    Attributes:
        format_version: The :data:`FORMAT_VERSION` of the SHRAG that wrote the corpus.
        fingerprint: The SHA-256 over the records' digests in order.
        complete: The number of records that may support an answer.
        linked: The number of records that are of the same paper as an earlier record.
        languages: Language → number of records.
        rejects_file: The name of the file of rejected and superseded lines.
        created: The time of the addition in UTC.
    """

    format_version: int
    name: str
    format: str
    fingerprint: str
    records: int
    complete: int
    linked: int
    languages: dict[str, int]
    records_file: str
    rejects_file: str
    sources: tuple[SourceAccount, ...]
    created: str
    shrag_version: str


def check_accounts(manifest: CorpusManifest) -> None:
    """Raise :class:`UnaccountedLines` if the counts of lines or records do not add up."""
    for account in manifest.sources:
        parts = (account.records, account.rejected, account.duplicates, account.superseded, account.blank)
        if min(parts) < 0 or sum(parts) != account.lines:
            raise UnaccountedLines(
                Text(
                    "Of the {lines} lines of {path}, only {accounted} have an outcome: nothing was stored; this is "
                    "an error of SHRAG, please report it.",
                    lines=account.lines,
                    path=account.path,
                    accounted=sum(parts),
                )
            )
    read = sum(account.records for account in manifest.sources)
    if not read == manifest.records == sum(manifest.languages.values()):
        raise UnaccountedLines(
            Text(
                "The sources of {name} have {read} records, the corpus has {records}: nothing was stored; this "
                "is an error of SHRAG, report it.",
                name=manifest.name,
                read=read,
                records=manifest.records,
            )
        )


class _ManifestFile(CorpusManifest, frozen=True, forbid_unknown_fields=True):
    """The manifests of the current and the previous version, in one file so that one rename changes both."""

    previous: CorpusManifest | None = None


def write_manifest(folder: Path, manifest: CorpusManifest, previous: CorpusManifest | None = None) -> None:
    """Publish a corpus by writing its manifest; raises :class:`UnaccountedLines` if the counts do not add up.

    ``previous`` is the manifest of the previous version, which :func:`~shrag.corpora.store.versions.undo_change`
    restores.
    """
    check_accounts(manifest)
    write_atomically(folder / MANIFEST_FILE, encode_manifest(manifest, previous))


def encode_manifest(manifest: CorpusManifest, previous: CorpusManifest | None = None) -> bytes:
    """Return the content of the manifest file."""
    stored = _ManifestFile(**msgspec.structs.asdict(manifest), previous=previous)
    return msgspec.json.format(msgspec.json.encode(stored), indent=2) + b"\n"


def read_manifest(folder: Path) -> CorpusManifest:
    """Read the manifest in ``folder``; raises :class:`CorpusError` if it is missing, damaged or of another version."""
    stored = msgspec.structs.asdict(_read_file(folder))
    del stored["previous"]
    return CorpusManifest(**stored)


def read_previous(folder: Path) -> CorpusManifest | None:
    """Return the manifest of the previous version, or None if there is none; raises as :func:`read_manifest`."""
    return _read_file(folder).previous


def _read_file(folder: Path) -> _ManifestFile:
    path = folder / MANIFEST_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        others = (each.parent.name for each in folder.parent.glob(f"*/{MANIFEST_FILE}"))
        raise CorpusError(
            Text(
                "There is no corpus {name!r} ({path} is missing): add it with `shrag corpus add {name} PATH...`.{hint}",
                name=folder.name,
                path=path.absolute(),
                hint=did_you_mean(folder.name, others),
            )
        ) from None
    try:
        found = msgspec.json.decode(data, type=_AnyVersion).format_version
        if found == FORMAT_VERSION:
            return msgspec.json.decode(data, type=_ManifestFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorpusError(
            Text(
                "{path} is not a corpus manifest ({error}): read its sources again with `shrag corpus replace`.",
                path=path,
                error=error,
            )
        ) from None
    raise CorpusError(
        Text(
            "{path} has corpus format {found}, this SHRAG reads {format_version}: read its sources again with "
            "`shrag corpus replace`.",
            path=path,
            found=found,
            format_version=FORMAT_VERSION,
        )
    )


class _AnyVersion(msgspec.Struct, frozen=True):
    format_version: int
