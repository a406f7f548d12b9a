"""Compare a run card with an archive of the index that was asked, and with the result files beside the card.

An archive may be carried to another machine, and the run card comes back from there. The comparison tells a reader of
both whether the figures are about these records. The name of the index there, and the number of its imports, make no
difference.
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
    """Return a sentence that says which index of the card is the one in ``archive``.

    If the archive is in another file, such as a bundle, ``carried_in`` is that file, and the sentence names it.

    Raises:
        ResultsMismatch: The card was changed; or none of its indexes is the one in ``archive``, and the message has the
            first difference.
        CorpusError, IndexDamaged, IndexMismatch: The archive is damaged, or of another version of SHRAG.
    """
    if identity_fingerprint(card.identity) != card.fingerprint:
        raise ResultsMismatch(
            Text("The run card was changed after it was written: its fingerprint is not that of its contents.")
        )
    archived, manifest = archived_manifest(archive)
    for name, made in card.generations.items():
        # An import changes only the number of the generation in the manifest: it is the next one of that machine.
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
    """Return a sentence that says that the files in ``folder`` have the checksums of the card.

    Raises:
        ResultsMismatch: A file is missing or changed, the card does not have it, or the run was not complete.
    """
    found = file_digests(folder)
    others = sorted(name for name in {*found, *card.files} if found.get(name) != card.files.get(name))
    if others or not card.files:
        raise ResultsMismatch(
            Text(
                "The results in {folder} are not those of their run card ({name} is missing, new or changed): copy "
                "the whole folder, or run the experiment again.",
                folder=folder,
                name=others[0] if others else Text("every file"),
            )
        )
    return Text("The {files} files in {folder} are those of the run card.", files=len(found), folder=folder)


def _why(card: RunCard, archived: str, manifest: IndexManifest) -> str:
    """Return the first difference from the card's index of the same name, or from its only index."""
    if not card.generations:
        return Text("the card does not say which index was searched")
    identities = card.identity.indexes
    if archived not in identities and len(identities) > 1:
        return Text("it has {names}", names=", ".join(identities))
    stored = identities.get(archived) or next(iter(identities.values()))
    differing = differences(stored, index_identity(manifest))
    return differing[0] if differing else Text("another build of the same records and settings")
