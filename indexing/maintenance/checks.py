"""Single checks, Lucene CheckIndex included."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.ingest.reading import ProgressCallback
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analyzed_record import analyze_record
from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.jvm import java, java_errors, lucene
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.maintenance import golden_queries as golden
from shrag.indexing.storage.checksums import find_damage, open_readonly
from shrag.indexing.storage.manifest import IndexManifest

_SAYS = ("FAILED", "ERROR", "WARNING", "Exception")


def check_lucene(folder: Path) -> list[str]:
    """Return what ``CheckIndex`` finds wrong with a Lucene index, one sentence each; nothing where it is sound.

    Terms, postings, stored fields and doc values are walked through and compared with each other, and every file's own
    checksum is computed. Nothing is written, not even a lock: the index is a published one.
    """
    doing = f"checking {folder}"
    try:
        with java_errors(doing):
            unlocked = lucene("store.NoLockFactory").INSTANCE
            directory = lucene("store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder)), unlocked)
            told = java("java.io.ByteArrayOutputStream")()
            checker = lucene("index.CheckIndex")(directory, directory.obtainLock("check"))
            try:
                checker.setInfoStream(java("java.io.PrintStream")(told), False)
                status = checker.checkIndex()
            finally:
                checker.close()
                directory.close()
            if status.clean:
                return []
            lines = [line.strip() for line in str(told.toString("UTF-8")).splitlines()]
    except IndexingError as error:
        return [str(error)]
    return [line for line in lines if any(word in line for word in _SAYS)] or ["CheckIndex finds it not clean"]


_BATCH = 10_000


class CheckFailure(NamedTuple):
    """``file`` is relative to the index's folder; ``message`` is a sentence about it."""

    file: str
    message: str


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """One side of a generation: how many things were looked at, and what is wrong with them."""

    name: str
    examined: int
    problems: tuple[CheckFailure, ...]


@dataclass(frozen=True, slots=True)
class IndexContents:
    """A generation whose files are whole, open to be read through."""

    folder: Path
    manifest: IndexManifest
    reader: LuceneSearcher
    analyzer: Analyzer
    report: ProgressCallback

    def problem(self, file: str, says: str) -> CheckFailure:
        """Return a problem of one file of the generation."""
        return CheckFailure(f"{self.folder.name}/{file}", says)


def check_checksums(folder: Path, manifest: IndexManifest) -> IndexCheck:
    """Compare every file with its size and SHA-256, and look for files that do not belong there."""
    damages = find_damage(folder, manifest.files)
    problems = tuple(CheckFailure(f"{folder.name}/{damage.file}", damage.message) for damage in damages)
    return IndexCheck("checksums", len(manifest.files), problems)


def check_postings(folder: Path) -> IndexCheck:
    """Have Lucene walk through all of its own."""
    problems = tuple(CheckFailure(f"{folder.name}/{FOLDER}", says) for says in check_lucene(folder / FOLDER))
    return IndexCheck("CheckIndex", 1, problems)


def check_databases(folder: Path) -> IndexCheck:
    """Have SQLite walk through its files."""
    paths = sorted(folder.rglob("*.sqlite"))
    found = [(path, says) for path in paths for says in _database_problems(path)]
    problems = tuple(
        CheckFailure(f"{folder.name}/{path.relative_to(folder)}", f"{path}: {says}") for path, says in found
    )
    return IndexCheck("databases", len(paths), problems)


def check_counts(contents: IndexContents) -> IndexCheck:
    """Read every stored record back: there are as many as there should be, each is found by its own identifier."""
    reader = contents.reader
    problems = []
    counts = {
        "manifest": contents.manifest.records,
        "documents": reader.count(),
        "identifiers": reader.distinct_docids(),
    }
    if len(set(counts.values())) > 1:
        problems.append(f"counts differ: {', '.join(f'{what} {count}' for what, count in counts.items())}")
    for start in range(0, reader.count(), _BATCH):
        numbers = range(start, min(start + _BATCH, reader.count()))
        for docid, stored in zip(reader.docids(numbers), reader.documents(numbers), strict=True):
            if stored.record.docid != docid:
                problems.append(f"the record {stored.record.docid} is found as {docid}")
        contents.report("records read back", numbers.stop)
    return IndexCheck("records", reader.count(), tuple(contents.problem(FOLDER, says) for says in problems))


def check_golden_queries(contents: IndexContents) -> IndexCheck:
    """Ask again what was asked when the index was sealed."""
    answers = golden.verify_golden_queries(contents.folder / golden.FILE, contents.reader)
    problems = tuple(contents.problem(FOLDER, f"“{question}” {wrong}") for question, wrong in answers if wrong)
    return IndexCheck("golden queries", len(answers), problems)


def check_analysis(contents: IndexContents) -> IndexCheck:
    """Analyse a sample of the records again: an analyser of the same name should be the same analyser."""
    numbers = golden.sample(contents.reader.count())
    stored = list(contents.reader.documents(numbers))
    others = [found.record.docid for found in stored if analyze_record(found.record, contents.analyzer) != found]
    problems = (contents.problem(FOLDER, f"{docid} has other terms than this process gives it") for docid in others)
    return IndexCheck("analysis", len(numbers), tuple(problems))


def _database_problems(path: Path) -> list[str]:
    try:
        database = open_readonly(path)
        try:
            rows = [str(row[0]) for row in database.execute("PRAGMA integrity_check")]
        finally:
            database.close()
    except sqlite3.Error as error:
        return [str(error)]
    return [row for row in rows if row != "ok"]
