"""The dictionary an index was made with, for its next build: its words stay until others are given."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from shrag.indexing.errors import IndexDamaged, IndexMismatch, IndexMissing
from shrag.indexing.generations import check_files, current_generation
from shrag.indexing.user_dictionary import FILE, NO_WORDS, UserDictionary, stored_dictionary


def kept_dictionary(index: Path) -> UserDictionary:
    """Return the words the current generation of ``index`` keeps, none where there is none.

    Raises :class:`IndexDamaged` where there are words but they cannot be trusted: to build without them in silence
    would lose them.
    """
    try:
        folder, manifest = current_generation(index)
        if FILE not in manifest.files:
            return NO_WORDS
        check_files(folder, replace(manifest, files={FILE: manifest.files[FILE]}))
    except (IndexDamaged, IndexMismatch) as error:
        if any(index.glob(f"*/{FILE}")):
            raise IndexDamaged(
                f"The words that {index.name} was made with cannot be read from it ({error}): give them again with "
                f"--dictionary FILE, or build without them by --no-dictionary."
            ) from None
        return NO_WORDS
    except IndexMissing:
        return NO_WORDS
    return stored_dictionary(folder)
