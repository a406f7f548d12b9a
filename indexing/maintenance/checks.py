"""The checks of ``shrag index verify``, including Lucene's CheckIndex."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shrag.corpora.ingest.reading import ProgressCallback
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analyzed_record import analyze_record
from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.jvm import first_use, java_class, java_errors, lucene_class
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.maintenance import golden_queries as golden
from shrag.indexing.storage.checksums import FileDamage, find_damage, open_readonly
from shrag.indexing.storage.manifest import IndexManifest
from shrag.indexing.storage.vector_card import FAISS_FILE
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.vectors.faiss_index import has_faiss, read_index
from shrag.indexing.vectors.store import open_vectors
from shrag.messages.text import Text, message_of

_FAILURE_WORDS = ("FAILED", "ERROR", "WARNING", "Exception")
_BATCH = 10_000
_ROUNDING = 0.02  # rounding error of a score with 8-bit codes


def check_lucene(folder: Path, *, checksums_only: bool = False) -> list[str]:
    """Return the errors that ``CheckIndex`` finds in ``folder`` of the Lucene index; none if it is intact.

    ``CheckIndex`` compares terms, postings, stored fields and doc values, and verifies the checksum at the end of each
    of Lucene's files. With ``checksums_only`` it verifies only the checksums. Nothing is written, not even a lock.
    """
    doing = f"checking {folder}"
    try:
        with java_errors(doing):
            with first_use:
                unlocked = lucene_class("store.NoLockFactory").INSTANCE
                directory = lucene_class("store.FSDirectory").open(
                    java_class("java.nio.file.Paths").get(str(folder)), unlocked
                )
                output = java_class("java.io.ByteArrayOutputStream")()
                written = java_class("java.io.PrintStream")(output)
                checker = lucene_class("index.CheckIndex")(directory, directory.obtainLock("check"))
            try:
                checker.setChecksumsOnly(checksums_only)
                checker.setInfoStream(written, False)
                status = checker.checkIndex()
            finally:
                checker.close()
                directory.close()
            if status.clean:
                return []
            lines = [line.strip() for line in str(output.toString("UTF-8")).splitlines()]
    except (IndexingError, OSError) as error:
        return [message_of(error)]
    return [line for line in lines if any(word in line for word in _FAILURE_WORDS)] or [
        Text("CheckIndex finds it not clean")
    ]


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """The result of a check: its name, how many items were examined, and the problems."""

    name: str
    examined: int
    problems: tuple[FileDamage, ...]


@dataclass(frozen=True, slots=True)
class IndexContents:
    """A generation (one build of an index) that is open for the checks of its content.

    ``report`` is called with what is being done and how many items are done. The checks raise :class:`IndexingError`,
    ``msgspec.MsgspecError`` or ``OSError`` if the content cannot be read.
    """

    folder: Path
    manifest: IndexManifest
    reader: LuceneSearcher
    analyzer: Analyzer
    report: ProgressCallback

    def problem(self, file: str, message: str) -> FileDamage:
        """Return a problem with a file of the generation."""
        return FileDamage(f"{self.folder.name}/{file}", message)


def check_checksums(folder: Path, manifest: IndexManifest) -> IndexCheck:
    """Verify size and SHA-256 of every file, and find additional files."""
    damages = find_damage(folder, manifest.files)
    problems = tuple(FileDamage(f"{folder.name}/{damage.file}", damage.message) for damage in damages)
    return IndexCheck("checksums", len(manifest.files), problems)


def check_postings(folder: Path) -> IndexCheck:
    """Run :func:`check_lucene` on the generation in ``folder``."""
    problems = tuple(FileDamage(f"{folder.name}/{FOLDER}", message) for message in check_lucene(folder / FOLDER))
    return IndexCheck("CheckIndex", 1, problems)


def check_databases(folder: Path) -> IndexCheck:
    """Run SQLite's integrity check on every ``*.sqlite`` file of the generation in ``folder``."""
    paths = sorted(folder.rglob("*.sqlite"))
    found = [(path, message) for path in paths for message in _database_problems(path)]
    problems = tuple(FileDamage(f"{folder.name}/{path.relative_to(folder)}", message) for path, message in found)
    return IndexCheck("databases", len(paths), problems)


def check_faiss(folder: Path, manifest: IndexManifest) -> IndexCheck:
    """Check that the FAISS index fits the vectors, and that each vector of a sample finds itself.

    Nothing is examined if there is no FAISS index, or if FAISS is not installed.
    """
    card = manifest.vectors
    if card is None or card.faiss is None or not has_faiss():
        return IndexCheck("FAISS", 0, ())
    rows = golden.sample(card.rows)
    name = f"{folder.name}/{VECTORS}/{FAISS_FILE}"
    try:
        index = read_index(folder / VECTORS / FAISS_FILE, (card.rows, card.dimension))
        queries = open_vectors(folder / VECTORS, card)[rows].astype(np.float32)
    except IndexingError as error:
        return IndexCheck("FAISS", len(rows), (FileDamage(name, message_of(error)),))
    scores, _ = index.search(queries, 1)
    lengths = (queries**2).sum(axis=1)
    wrong = [row for row, score, length in zip(rows, scores[:, 0], lengths, strict=True) if score < length - _ROUNDING]
    problems = (FileDamage(name, Text("vector {row} is not found by itself", row=row)) for row in wrong)
    return IndexCheck("FAISS", len(rows), tuple(problems))


def check_counts(contents: IndexContents) -> IndexCheck:
    """Read every stored record; check that there are as many as in the manifest, each under its own docid."""
    reader = contents.reader
    problems: list[Text] = []
    counts = {
        "manifest": contents.manifest.records,
        "documents": reader.count(),
        "identifiers": reader.distinct_docids(),
    }
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{what} {count}" for what, count in counts.items())
        problems.append(Text("counts differ: {counts}", counts=listed))
    for start in range(0, reader.count(), _BATCH):
        numbers = range(start, min(start + _BATCH, reader.count()))
        for docid, stored in zip(reader.docids(numbers), reader.documents(numbers), strict=True):
            if stored.record.docid != docid:
                problems.append(Text("the record {own} is found as {docid}", own=stored.record.docid, docid=docid))
        contents.report("records read back", numbers.stop)
    return IndexCheck("records", reader.count(), tuple(contents.problem(FOLDER, message) for message in problems))


def check_golden_queries(contents: IndexContents) -> IndexCheck:
    """Repeat the golden queries, and compare their hits with those that the build stored."""
    answers = golden.verify_golden_queries(contents.folder / golden.FILE, contents.reader)
    problems = tuple(
        contents.problem(FOLDER, Text("“{question}” {difference}", question=question, difference=wrong))
        for question, wrong in answers
        if wrong
    )
    return IndexCheck("golden queries", len(answers), problems)


def check_analysis(contents: IndexContents) -> IndexCheck:
    """Analyze a sample of the records again and compare their terms."""
    numbers = golden.sample(contents.reader.count())
    stored = list(contents.reader.documents(numbers))
    others = [found.record.docid for found in stored if analyze_record(found.record, contents.analyzer) != found]
    problems = (
        contents.problem(FOLDER, Text("{docid} has other terms than this process gives it", docid=docid))
        for docid in others
    )
    return IndexCheck("analysis", len(numbers), tuple(problems))


def _database_problems(path: Path) -> list[str]:
    try:
        with closing(open_readonly(path)) as database:
            rows = [str(row[0]) for row in database.execute("PRAGMA integrity_check")]
    except sqlite3.Error as error:
        return [str(error)]
    return [row for row in rows if row != "ok"]
