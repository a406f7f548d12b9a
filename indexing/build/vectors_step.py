"""Build step of the vectors: encode every document, or copy its vector from the current generation.

Only the vectors of a model are reused: LSA is fit on all documents anew, so all of its vectors change.
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
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.storage.generations import check_files, current_generation
from shrag.indexing.storage.vector_card import FOLDER, VectorCard
from shrag.indexing.vectors.encoders import make_encoder
from shrag.indexing.vectors.store import Float16Vectors, ReusableRows, StoredDocuments, open_vectors, write_vectors
from shrag.models.encoder import Encoder
from shrag.models.reranker import Passage


def reuse_rows(vectors: Float16Vectors, reader: LuceneSearcher) -> ReusableRows:
    """Return the vectors of one generation for passages whose title and text are those of its records."""

    def rows(passages: Sequence[Passage]) -> dict[int, NDArray[np.float16]]:
        numbers = reader.numbers([passage.docid for passage in passages])
        stored_at = [(position, number) for position, number in enumerate(numbers) if number is not None]
        stored = reader.documents([number for _, number in stored_at])
        return {
            position: vectors[number]
            for (position, number), found in zip(stored_at, stored, strict=True)
            if (found.record.title, found.record.text) == (passages[position].title, passages[position].text)
        }

    return rows


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
    """Create the encoder and write the vectors of ``documents``; an interrupted call is resumed.

    Args:
        build: The folder that will be published.
        stage: The folder of working files.
        choice: As for :func:`~shrag.indexing.vectors.encoders.make_encoder`, like the arguments up to ``report``.
        documents: The documents of the Lucene index.
        source: Identifies the documents and their terms.
        weights: The folder of models' weights.
        index: The index's folder, whose current generation may have vectors to reuse.
    """
    folder = build / FOLDER
    encoder = make_encoder(choice, folder, stage, documents, analyzer, source, weights, report)
    with reusable_vectors(index, encoder) as known:
        rows = write_vectors(folder, stage, documents, encoder, source, report, reusable=known)
    return VectorCard(choice, encoder.settings, encoder.digest, encoder.dimension, rows)


@contextmanager
def reusable_vectors(index: Path | None, encoder: Encoder) -> Iterator[ReusableRows | None]:
    """Yield the current generation's vectors of the same encoder, None if there are none or they are damaged."""
    found = _find(index, encoder) if index is not None and encoder.is_model else None
    if found is None:
        yield None
        return
    vectors, reader = found
    with closing(reader):
        yield reuse_rows(vectors, reader)


def _find(index: Path, encoder: Encoder) -> tuple[Float16Vectors, LuceneSearcher] | None:
    try:
        folder, manifest = current_generation(index)
        card = manifest.vectors
        if card is None or (card.settings, card.digest) != (encoder.settings, encoder.digest):
            return None
        check_files(folder, manifest)
        return open_vectors(folder / FOLDER, card), LuceneSearcher(folder / LUCENE, manifest.bm25)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
