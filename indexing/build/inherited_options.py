"""What a user chose for an index besides its corpus, inherited by the next build until something else is chosen."""

from __future__ import annotations

from pathlib import Path

from shrag.indexing.analysis.user_dictionary import EMPTY_DICTIONARY, UserDictionary, load_dictionary
from shrag.indexing.analysis.user_dictionary import FILE as DICTIONARY
from shrag.indexing.errors import IndexDamaged, IndexMismatch, IndexMissing
from shrag.indexing.glossary.corrections import FILE as CORRECTIONS
from shrag.indexing.glossary.corrections import stored_corrections
from shrag.indexing.storage.generations import check_file, current_generation
from shrag.indexing.storage.vector_card import NO_ENCODER


def inherited_dictionary(index: Path) -> UserDictionary:
    """Return the words that the current generation of ``index`` was made with, none where there is none.

    Raises:
        IndexDamaged: There are words but they cannot be trusted; to build without them would silently lose them.
    """
    folder = _folder_with(index, DICTIONARY, "--dictionary FILE, or build without them by --no-dictionary")
    return load_dictionary(folder) if folder else EMPTY_DICTIONARY


def inherited_corrections(index: Path) -> bytes:
    """Return the glossary corrections of the current generation; raises as :func:`inherited_dictionary`."""
    folder = _folder_with(index, CORRECTIONS, "--glossary FILE, an empty one to build without them")
    return stored_corrections(folder) if folder else b""


def inherited_encoder(index: Path) -> str:
    """Return the encoder that the current generation of ``index`` has its vectors from, ``none`` without."""
    try:
        vectors = current_generation(index)[1].vectors
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return NO_ENCODER
    return vectors.encoder if vectors else NO_ENCODER


def _folder_with(index: Path, file: str, recovery_hint: str) -> Path | None:
    """Return the current generation's folder where it has ``file`` with the checksum it was published with."""
    try:
        folder, manifest = current_generation(index)
        if file not in manifest.files:
            return None
        check_file(folder, manifest, file)
    except (IndexDamaged, IndexMismatch) as error:
        if any(index.glob(f"*/{file}")):
            raise IndexDamaged(
                f"The {file} that {index.name} was made with cannot be read from it ({error}): give it again with "
                f"{recovery_hint}."
            ) from None
        return None
    except IndexMissing:
        return None
    return folder
