"""The vectors that an index has already, for its next generation: a model is too slow to encode twice what is the same.

Only a model's: what it makes of a document depends on the document alone, where LSA is fit on all of them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.errors import IndexDamaged, IndexMismatch, IndexMissing
from shrag.indexing.generations import check_file, current_generation
from shrag.indexing.lexical import FOLDER as LUCENE
from shrag.indexing.lexical_reader import LexicalReader
from shrag.indexing.vector_card import FILE, FOLDER
from shrag.indexing.vectors import HalfVectors, open_vectors
from shrag.models.encoder import Encoder
from shrag.models.reranker import Passage


class KnownVectors:
    """Implements :class:`~shrag.indexing.vectors.KnownRows` over one generation's vectors and records."""

    def __init__(self, vectors: HalfVectors, reader: LexicalReader) -> None:
        self._vectors = vectors
        self._reader = reader

    def rows(self, passages: Sequence[Passage]) -> dict[int, NDArray[np.float16]]:
        """See :class:`~shrag.indexing.vectors.KnownRows`; a passage has a row where title and text are the same."""
        numbers = self._reader.numbers([passage.docid for passage in passages])
        there = [(place, number) for place, number in enumerate(numbers) if number is not None]
        stored = self._reader.documents([number for _, number in there])
        return {
            place: self._vectors[number]
            for (place, number), found in zip(there, stored, strict=True)
            if (found.record.title, found.record.text) == (passages[place].title, passages[place].text)
        }


@contextmanager
def known_vectors(index: Path | None, encoder: Encoder) -> Iterator[KnownVectors | None]:
    """Yield what the current generation of ``index`` has by the same encoder, None where it has nothing to be trusted.

    Its vectors are read through first: a damaged row would be sealed as a good one.
    """
    found = _find(index, encoder) if index is not None and encoder.is_model else None
    if found is None:
        yield None
        return
    vectors, reader = found
    with closing(reader):
        yield KnownVectors(vectors, reader)


def _find(index: Path, encoder: Encoder) -> tuple[HalfVectors, LexicalReader] | None:
    try:
        folder, manifest = current_generation(index)
        card = manifest.vectors
        if card is None or (card.settings, card.digest) != (encoder.settings, encoder.digest):
            return None
        check_file(folder, manifest, f"{FOLDER}/{FILE}")
        return open_vectors(folder / FOLDER, card), LexicalReader(folder / LUCENE, manifest.bm25)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
