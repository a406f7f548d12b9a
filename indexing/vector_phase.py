"""The phase of a build that makes vectors: an encoder for the index, then a row for every document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shrag.indexing.analysis import Analyzer
from shrag.indexing.encoders import make_encoder
from shrag.indexing.known_vectors import known_vectors
from shrag.indexing.vector_card import FOLDER, VectorCard
from shrag.indexing.vectors import StoredDocuments, write_vectors


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
        rows = write_vectors(folder, stage, documents, encoder, source, report, known=known)
    return VectorCard(choice, encoder.settings, encoder.digest, encoder.dimension, rows)
