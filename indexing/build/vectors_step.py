"""Encode documents, reusing known vectors.

Only a model's: what it makes of a document depends on the document alone, where LSA is fit on all of them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.errors import IndexDamaged, IndexMismatch, IndexMissing
from shrag.indexing.lexical.schema import FOLDER as LUCENE
from shrag.indexing.lexical.searcher import LexicalReader
from shrag.indexing.storage.generations import check_file, current_generation
from shrag.indexing.storage.vector_card import FILE, FOLDER, VectorCard
from shrag.indexing.vectors.encoders import make_encoder
from shrag.indexing.vectors.store import Float16Vectors, StoredDocuments, open_vectors, write_vectors
from shrag.models.encoder import Encoder
from shrag.models.reranker import Passage


class KnownVectors:
    """Implements :class:`~shrag.indexing.vectors.store.ReusableRows` over one generation's vectors and records."""

    def __init__(self, vectors: Float16Vectors, reader: LexicalReader) -> None:
        self._vectors = vectors
        self._reader = reader

    def rows(self, passages: Sequence[Passage]) -> dict[int, NDArray[np.float16]]:
        """See :class:`~shrag.indexing.vectors.store.ReusableRows`; title and text of a passage must be the same."""
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


def _find(index: Path, encoder: Encoder) -> tuple[Float16Vectors, LexicalReader] | None:
    try:
        folder, manifest = current_generation(index)
        card = manifest.vectors
        if card is None or (card.settings, card.digest) != (encoder.settings, encoder.digest):
            return None
        check_file(folder, manifest, f"{FOLDER}/{FILE}")
        return open_vectors(folder / FOLDER, card), LexicalReader(folder / LUCENE, manifest.bm25)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None


def build_vectors(
    build: Path,
    stage: Path,
    choice: str,
    documents: StoredDocuments,
    analyzer: Analyzer,
    source: str,
    weights: Path,
    report: Callable[[str, int], None] = lambda what, done: None,
    index: Path | None = None,
) -> VectorCard:
    """Make the encoder of that ``choice`` and write the vectors of ``documents`` below ``build``; return what they are.

    ``source`` identifies the documents and their terms. Called again after it was killed, it goes on from the shards
    that are whole; called again after it ended, it checks them and changes nothing. ``stage`` holds its notes, which
    are no part of the index; ``weights`` is where those of models lie. Rows that the current generation of ``index``
    has of the same documents by the same model are copied.
    """
    folder = build / FOLDER
    encoder = make_encoder(choice, folder, stage, documents, analyzer, source, weights, report)
    with known_vectors(index, encoder) as known:
        rows = write_vectors(folder, stage, documents, encoder, source, report, reusable=known)
    return VectorCard(choice, encoder.settings, encoder.digest, encoder.dimension, rows)
