"""Updating an index: what the corpus added, changed and deleted since is written; nothing else is analysed again."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from shrag.corpora.addition import Report
from shrag.corpora.durable import FolderBusy, sole_writer, telling_full_disk
from shrag.corpora.manifest import CorpusManifest
from shrag.corpora.names import check_name
from shrag.corpora.records import Record
from shrag.corpora.store import open_corpus
from shrag.indexing.analysed import analyse_record
from shrag.indexing.analysis import Analyzer
from shrag.indexing.changes import Changes, IndexedDigests
from shrag.indexing.errors import IndexingError
from shrag.indexing.generations import KEPT_GENERATIONS, check_files, current_generation, next_generation, start_build
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.lexical import FOLDER
from shrag.indexing.lexical_reader import LexicalReader
from shrag.indexing.lexical_writer import LexicalWriter
from shrag.indexing.manifest import IndexManifest
from shrag.indexing.opening import check_analyzer
from shrag.indexing.sealing import seal_and_publish
from shrag.indexing.wordbook import FILE as WORDBOOK
from shrag.indexing.wordbook import WordBook, write_wordbook

_BATCH = 10_000
_LOCK = "write.lock"


def update_index(
    corpora: Path,
    indexes: Path,
    name: str,
    *,
    keep: int = KEPT_GENERATIONS,
    report: Report = lambda stage, done: None,
) -> tuple[IndexManifest, Changes | None]:
    """Publish a generation of ``name`` that holds its corpus as it is now, made from the current generation.

    Returns its manifest and what changed; where the index holds the corpus as it is already, the current manifest and
    None. The new generation finds, ranks and scores as one built from nothing does: statistics are of the records that
    are there, and ties are broken by docid. A killed update is done again from its start.

    Raises :class:`~shrag.indexing.errors.IndexMissing` where there is nothing to update, ``IndexDamaged`` where it is
    not whole, ``IndexMismatch`` where another analyser made it: then only building it again helps.
    """
    if keep < 1:
        raise ValueError(f"At least one generation must be kept, got {keep}.")
    source, records = open_corpus(corpora, name)
    index = indexes / check_name(name)
    try:
        with telling_full_disk(index), sole_writer(index):
            folder, manifest = current_generation(index)
            check_files(folder, manifest)
            with closing(WordBook(folder / WORDBOOK)) as book:
                analyzer = KoreanEnglishAnalyzer(book)
                check_analyzer(name, manifest, analyzer)
                if manifest.source.fingerprint == source.fingerprint:
                    return manifest, None
                build = start_build(index, next_generation(index))
                try:
                    changes = _change_lucene(folder, build, manifest, source, records, analyzer, report)
                    write_wordbook(build / WORDBOOK, (dict(book.words()) | dict(analyzer.korean_words())).items())
                    report("sealing", source.records)
                    return _publish(index, build, manifest, source, keep), changes
                finally:
                    shutil.rmtree(build, ignore_errors=True)
    except FolderBusy as busy:
        raise IndexingError(str(busy)) from None


def _publish(index: Path, build: Path, old: IndexManifest, source: CorpusManifest, keep: int) -> IndexManifest:
    return seal_and_publish(
        index,
        build,
        generation=next_generation(index),
        source=source,
        analyzer=old.analyzer,
        bm25=old.bm25,
        records=source.records,
        keep=keep,
    )


def _change_lucene(
    old: Path,
    build: Path,
    manifest: IndexManifest,
    source: CorpusManifest,
    records: Iterable[Record],
    analyzer: Analyzer,
    report: Report,
) -> Changes:
    """Write into ``build`` the Lucene index of ``old`` with the corpus's changes made."""
    digests = build / "digests"
    _link_files(old / FOLDER, build / FOLDER)
    counts: Counter[str] = Counter()
    reader = LexicalReader(old / FOLDER, manifest.bm25)
    try:
        indexed = IndexedDigests(digests, (found.record for found in reader.documents(range(reader.count()))))
    finally:
        reader.close()
    with indexed, LexicalWriter(build / FOLDER, manifest.bm25) as writer:
        for done, record in enumerate(records, 1):
            change = indexed.take(record)
            counts[change] += 1
            if change == "changed":
                writer.delete(record.docid)
            if change != "unchanged":
                writer.add(analyse_record(record, analyzer))
            if done % _BATCH == 0:
                report("records compared", done)
        for docid in indexed.left():
            writer.delete(docid)
            counts["deleted"] += 1
        report("merging", source.records)
        written = writer.commit({"corpus": source.fingerprint, "records": str(source.records)})
    digests.unlink()
    _own_files(build / FOLDER)
    if written != source.records:
        raise IndexingError(
            f"The corpus says {source.records} records, and the updated index would hold {written}: "
            f"build it from nothing with `shrag index {source.name} --force`."
        )
    return Changes(counts["added"], counts["changed"], counts["deleted"], counts["unchanged"])


def _link_files(old: Path, new: Path) -> None:
    """Give the files a second name where the file system can, else a copy: Lucene writes each of its files once."""
    new.mkdir()
    for path in sorted(old.iterdir()):
        if path.name == _LOCK:  # the one that is opened for writing
            continue
        try:
            os.link(path, new / path.name)
        except OSError:
            shutil.copyfile(path, new / path.name)


def _own_files(folder: Path) -> None:
    """Copy what is still shared: damage to a file of one generation must not be damage to another."""
    for path in sorted(folder.iterdir()):
        if path.stat().st_nlink > 1:
            copy = path.with_name(f"{path.name}.copy")
            shutil.copyfile(path, copy)
            copy.replace(path)
