"""Building an index: a stored corpus in, one sealed and published generation out."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from shrag.corpora.addition import Report
from shrag.corpora.durable import FolderBusy, sole_writer, telling_full_disk
from shrag.corpora.manifest import CorpusManifest
from shrag.corpora.names import check_name
from shrag.corpora.records import Record
from shrag.corpora.store import open_corpus
from shrag.indexing.analysed import analyse_record
from shrag.indexing.analysis import Analyzer
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch, IndexMissing
from shrag.indexing.generations import current_generation, drop_old, next_generation, publish, start_build
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.lexical import FOLDER
from shrag.indexing.lexical_reader import LexicalReader
from shrag.indexing.lexical_writer import LexicalWriter
from shrag.indexing.manifest import FORMAT_VERSION, IndexManifest, check_files, part_versions, seal_files
from shrag.indexing.question_words import QUESTION_WORDS
from shrag.indexing.vector_card import NO_ENCODER, VectorCard, check_encoder_name, encoder_settings
from shrag.indexing.wordbook import FILE as WORDBOOK
from shrag.indexing.wordbook import write_wordbook

_REPORT_EVERY = 500


def build_index(
    corpora: Path,
    indexes: Path,
    name: str,
    *,
    bm25: Bm25 | None = None,
    encoder: str | None = None,
    force: bool = False,
    report: Report = lambda stage, done: None,
) -> tuple[IndexManifest, bool]:
    """Index the corpus ``name`` and publish the result as the index ``name``'s next generation.

    Returns the current manifest and whether it is new: where the current index is whole and was made of the same
    records, by the same analyser, with the same parameters and encoder, there is nothing to build unless ``force`` asks
    for it. ``encoder`` is the kind that makes vectors, ``none`` for an index without; where it is not given, the new
    generation has what the current one has.
    Until the new generation is whole the old one stays current.
    """
    source, records = open_corpus(corpora, name)
    index = indexes / check_name(name)
    parameters = bm25 or Bm25()
    kind = encoder or _current_encoder(index)
    check_encoder_name(kind)
    analyzer = KoreanEnglishAnalyzer()
    try:
        with telling_full_disk(index), sole_writer(index):
            current = None if force else _up_to_date(index, source, analyzer, parameters, kind)
            if current is not None:
                return current, False
            generation = next_generation(index)
            build = start_build(index, generation)
            try:
                indexed = _write_lucene(build, source, records, analyzer, parameters, report)
                analyzer.terms(QUESTION_WORDS)
                write_wordbook(build / WORDBOOK, analyzer.korean_words())
                vectors = _write_vectors(build, kind, source, analyzer, parameters, report)
                manifest = _manifest(build, generation, source, analyzer, parameters, indexed, vectors)
                report("sealing", indexed)
                drop_old(index, publish(index, build, manifest))
            finally:
                shutil.rmtree(build, ignore_errors=True)
            return manifest, True
    except FolderBusy as busy:
        raise IndexingError(str(busy)) from None


def _current_encoder(index: Path) -> str:
    try:
        vectors = current_generation(index)[1].vectors
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return NO_ENCODER
    return vectors.encoder if vectors else NO_ENCODER


def _up_to_date(
    index: Path, source: CorpusManifest, analyzer: Analyzer, parameters: Bm25, encoder: str
) -> IndexManifest | None:
    try:
        folder, manifest = current_generation(index)
        check_files(folder, manifest)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
    same = (
        manifest.source.fingerprint == source.fingerprint
        and manifest.analyzer == analyzer.fingerprint
        and manifest.bm25 == parameters
        and (manifest.vectors.settings if manifest.vectors else "") == encoder_settings(encoder)
    )
    return manifest if same else None


def _write_lucene(
    build: Path,
    source: CorpusManifest,
    records: Iterable[Record],
    analyzer: Analyzer,
    parameters: Bm25,
    report: Report,
) -> int:
    """Write every record; return how many the committed index holds, which is how many the corpus has."""
    with LexicalWriter(build / FOLDER, parameters) as writer:
        done = 0
        for record in records:
            writer.add(analyse_record(record, analyzer))
            done += 1
            if done % _REPORT_EVERY == 0:
                report("records indexed", done)
        report("records indexed", done)
        indexed = writer.commit({"corpus": source.fingerprint, "records": str(done)})
    if not indexed == done == source.records:
        raise IndexingError(
            f"The corpus says {source.records} records, {done} were read and {indexed} are in the index: "
            f"add the corpus {source.name} again."
        )
    return indexed


def _write_vectors(
    build: Path, encoder: str, source: CorpusManifest, analyzer: Analyzer, parameters: Bm25, report: Report
) -> VectorCard | None:
    """Write the vectors, if any are wanted, from the terms that the committed index has."""
    if encoder == NO_ENCODER:
        return None
    from shrag.indexing.vector_phase import build_vectors

    documents = LexicalReader(build / FOLDER, parameters)
    stage = build / "stage"
    try:
        made_of = f"{source.fingerprint}\n{analyzer.fingerprint}"
        return build_vectors(build, stage, encoder, documents, analyzer, made_of, report)
    finally:
        documents.close()
        shutil.rmtree(stage, ignore_errors=True)


def _manifest(
    build: Path,
    generation: int,
    source: CorpusManifest,
    analyzer: Analyzer,
    parameters: Bm25,
    indexed: int,
    vectors: VectorCard | None,
) -> IndexManifest:
    return IndexManifest(
        format_version=FORMAT_VERSION,
        generation=generation,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        analyzer=analyzer.fingerprint,
        bm25=parameters,
        records=indexed,
        files=seal_files(build),
        versions=part_versions(),
        vectors=vectors,
    )
