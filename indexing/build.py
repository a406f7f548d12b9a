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
from shrag.indexing.glossary import FILE as GLOSSARY
from shrag.indexing.glossary_phase import build_glossary, stored_corrections
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.lexical import FOLDER
from shrag.indexing.lexical_writer import LexicalWriter
from shrag.indexing.manifest import FORMAT_VERSION, IndexManifest, check_files, part_versions, seal_files
from shrag.indexing.question_words import QUESTION_WORDS
from shrag.indexing.wordbook import FILE as WORDBOOK
from shrag.indexing.wordbook import write_wordbook

_REPORT_EVERY = 500


def build_index(
    corpora: Path,
    indexes: Path,
    name: str,
    *,
    bm25: Bm25 | None = None,
    corrections: bytes | None = None,
    force: bool = False,
    report: Report = lambda stage, done: None,
) -> tuple[IndexManifest, bool]:
    """Index the corpus ``name`` and publish the result as the index ``name``'s next generation.

    Returns the current manifest and whether it is new: where the current index is whole and was made of the same
    records, by the same analyser, with the same parameters, there is nothing to build unless ``force`` asks for it.
    Until the new generation is whole the old one stays current. ``corrections`` are the user's to the glossary
    (:func:`~shrag.indexing.glossary_corrections.read_corrections`); None keeps those of the current index.
    """
    source, records = open_corpus(corpora, name)
    index = indexes / check_name(name)
    parameters = bm25 or Bm25()
    analyzer = KoreanEnglishAnalyzer()
    try:
        with telling_full_disk(index), sole_writer(index):
            if corrections is None:
                corrections = _corrections(index)
            current = None if force else _up_to_date(index, source, analyzer, parameters, corrections)
            if current is not None:
                return current, False
            generation = next_generation(index)
            build = start_build(index, generation)
            try:
                indexed = _write_lucene(build, source, records, analyzer, parameters, report)
                analyzer.terms(QUESTION_WORDS)
                write_wordbook(build / WORDBOOK, analyzer.korean_words())
                report("mining the glossary", indexed)
                build_glossary(build, open_corpus(corpora, name)[1], analyzer, corrections)
                manifest = _manifest(build, generation, source, analyzer, parameters, indexed)
                report("sealing", indexed)
                drop_old(index, publish(index, build, manifest))
            finally:
                shutil.rmtree(build, ignore_errors=True)
            return manifest, True
    except FolderBusy as busy:
        raise IndexingError(str(busy)) from None


def _corrections(index: Path) -> bytes:
    try:
        folder, _ = current_generation(index)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return b""
    return stored_corrections(folder)


def _up_to_date(
    index: Path, source: CorpusManifest, analyzer: Analyzer, parameters: Bm25, corrections: bytes
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
        and GLOSSARY in manifest.files
        and stored_corrections(folder) == corrections
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


def _manifest(
    build: Path, generation: int, source: CorpusManifest, analyzer: Analyzer, parameters: Bm25, indexed: int
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
    )
