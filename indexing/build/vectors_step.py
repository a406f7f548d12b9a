"""Build steps of the vectors and of their FAISS index.

Every document is encoded, or its vector is copied from the current generation if its title and text are the same. Only
the vectors of a model are copied: LSA is fit anew on all documents, so all of its vectors change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from shrag.corpora.files import write_atomically
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.errors import IndexDamaged, IndexMismatch, IndexMissing
from shrag.indexing.lexical.schema import FOLDER as LUCENE
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.storage.generations import check_files, current_generation
from shrag.indexing.storage.vector_card import FAISS_CARD_FILE, FAISS_FILE, FOLDER, VectorCard, load_vector_card
from shrag.indexing.vectors.encoders import make_encoder
from shrag.indexing.vectors.faiss_index import build_index, has_faiss, write_index
from shrag.indexing.vectors.store import (
    Float16Vectors,
    ReusableRows,
    StoredDocuments,
    encode_documents,
    open_vectors,
    write_vectors,
)
from shrag.messages.text import Text
from shrag.models.encoder import EncoderIdentity
from shrag.models.reranker import Passage


def reuse_rows(vectors: Float16Vectors, reader: LuceneSearcher) -> ReusableRows:
    """Return a function that finds one generation's vectors for passages whose title and text are unchanged."""

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
        choice: As for :func:`~shrag.indexing.vectors.encoders.make_encoder`, like ``analyzer`` and ``report``.
        documents: The documents of the Lucene index.
        source: Identifies the documents and their terms.
        weights: The folder of models' weights.
        index: The index's folder, whose current generation may have vectors to reuse.
    """
    folder = build / FOLDER
    encoder = make_encoder(choice, folder, stage, documents, analyzer, source, weights, report)
    with reusable_vectors(index if encoder.is_model else None, encoder) as known:
        encode = encode_documents(documents, encoder, report, known)
        rows = write_vectors(folder, stage, documents.count(), encoder, source, encode, report)
    return VectorCard(choice, encoder.settings, encoder.digest, encoder.dimension, rows)


def build_faiss(build: Path, stage: Path, notify: Callable[[str], None] = lambda sentence: None) -> None:
    """Build the FAISS index of the vectors in ``build``, if FAISS is installed, and write it and its card.

    Args:
        build: The folder that will be published.
        stage: The folder of working files, with the card of the vectors.
        notify: Called with a sentence if FAISS is not installed.
    """
    path, card_file = build / FOLDER / FAISS_FILE, stage / FAISS_CARD_FILE
    for file in (path, card_file):
        file.unlink(missing_ok=True)
    card = load_vector_card(stage)
    if card is None or not card.rows or not card.dimension:
        return
    if not has_faiss():
        notify(
            Text(
                "No FAISS index of the vectors, which are searched without it: FAISS is not installed "
                "(`pip install 'shrag[cpu]'`, or shrag[gpu])."
            )
        )
        return
    index, faiss_card = build_index(open_vectors(build / FOLDER, card))
    write_index(index, path)
    write_atomically(card_file, msgspec.json.encode(faiss_card))


@contextmanager
def reusable_vectors(index: Path | None, encoder: EncoderIdentity) -> Iterator[ReusableRows | None]:
    """Yield the current generation's vectors of the same encoder, None if there are none or they are damaged."""
    found = _find(index, encoder) if index is not None else None
    if found is None:
        yield None
        return
    vectors, reader = found
    with closing(reader):
        yield reuse_rows(vectors, reader)


def _find(index: Path, encoder: EncoderIdentity) -> tuple[Float16Vectors, LuceneSearcher] | None:
    try:
        folder, manifest = current_generation(index)
        card = manifest.vectors
        if card is None or (card.settings, card.digest) != (encoder.settings, encoder.digest):
            return None
        check_files(folder, manifest)
        return open_vectors(folder / FOLDER, card), LuceneSearcher(folder / LUCENE, manifest.bm25)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
