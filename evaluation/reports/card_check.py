"""Compare a run card with what it says was asked and written: an index archive, and the results beside the card.

So a reader who has the archive that was carried to a machine, and the card that came back, knows that the figures are
of these records, whatever the index is called there and however often it was imported.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.run_card import (
    RunCard,
    differences,
    identity_fingerprint,
    index_identity,
)
from shrag.evaluation.reports.result_folder import file_digests
from shrag.indexing.maintenance.transfer import archived_manifest
from shrag.indexing.storage.manifest import IndexManifest, manifest_digest
from shrag.messages.text import Text


def check_card(card: RunCard, archive: Path, carried_in: Path | None = None) -> Text:
    """Return the sentence that says which index of the card is the one in ``archive``.

    ``carried_in`` is the file that has the archive in it, such as a bundle, which the sentence then names.

    Raises:
        ResultsMismatch: None is; the message names the first difference. Or the card was changed.
        CorpusError, IndexDamaged, IndexMismatch: The archive is damaged, or of another version of SHRAG.
    """
    if identity_fingerprint(card.identity) != card.fingerprint:
        raise ResultsMismatch(
            Text("The run card was changed after it was written: its fingerprint is not that of its contents.")
        )
    archived, manifest = archived_manifest(archive)
    for name, made in card.generations.items():
        # An import gives a generation the next number of that machine, and changes nothing else of its manifest.
        if manifest_digest(msgspec.structs.replace(manifest, generation=made.generation)) == made.manifest:
            return Text(
                "They agree: the index {name} of the run card is the index {archived} in {archive}, with {records:,} "
                "records and the same bytes in each of {files} files.",
                name=name,
                archived=archived,
                archive=carried_in or archive,
                records=manifest.records,
                files=len(manifest.files),
            )
    raise ResultsMismatch(
        Text(
            "They do not agree: no index of the run card is the index {archived} in {archive} ({why}).",
            archived=archived,
            archive=carried_in or archive,
            why=_why(card, archived, manifest),
        )
    )


def check_result_files(card: RunCard, folder: Path) -> Text:
    """Return the sentence that says that the results in ``folder`` are those that the card has the checksums of.

    Raises:
        ResultsMismatch: A file is missing, changed, or more than the card names; or the run was not complete.
    """
    found = file_digests(folder)
    others = sorted(name for name in {*found, *card.files} if found.get(name) != card.files.get(name))
    if others or not card.files:
        raise ResultsMismatch(
            Text(
                "The results in {folder} are not those of their run card ({name} is missing, new or changed): "
                "carry the whole folder, or run the experiment again.",
                folder=folder,
                name=others[0] if others else "every file",
            )
        )
    return Text("The {files} files in {folder} are those of the run card.", files=len(found), folder=folder)


def _why(card: RunCard, archived: str, manifest: IndexManifest) -> str:
    """Return the first difference from the index of the same name, or the only one."""
    if not card.generations:
        return Text("the card does not say which build was asked")
    identities = card.identity.indexes
    if archived not in identities and len(identities) > 1:
        return Text("it has {names}", names=", ".join(identities))
    stored = identities.get(archived) or next(iter(identities.values()))
    differing = differences(stored, index_identity(manifest))
    return differing[0] if differing else Text("another build of the same records and settings")
