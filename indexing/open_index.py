"""Open a published index.

Files that changed since they were last verified are verified before the index is opened, the others in the background.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from shrag.corpora.files import FolderHold, check_name
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer, analyzer_fingerprint
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import load_dictionary
from shrag.indexing.analyzed_record import RecordStore
from shrag.indexing.distributed.opening import files_there, open_distributed
from shrag.indexing.distributed.searcher import DistributedSearcher
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.glossary.store import Glossary
from shrag.indexing.lexical.calibration import FILE as CALIBRATION
from shrag.indexing.lexical.calibration import ConfidenceCalibration, read_calibration
from shrag.indexing.lexical.jvm import start_java
from shrag.indexing.lexical.packed_question import RecordScorer
from shrag.indexing.lexical.pyserini_searcher import PyseriniSearcher
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.record_filter import RecordFilter
from shrag.indexing.search_engine import LUCENE, AuthorSearch, EngineChoice, SearchEngine, SpellingSearch
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import (
    check_changed_files,
    check_files,
    current_generation,
    generation_folder,
    read_current,
    read_generation,
)
from shrag.indexing.storage.manifest import IndexManifest
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.storage.vector_card import VectorCard, check_vector_card, weights_folder
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.messages.text import Text, message_of

_RETRY_SECONDS = 1.0
# Verification in the background starts after this many seconds, so that the first answers come first. A command that
# answers one question ends before that.
_READING_DELAY = 10.0

ChecksumState = Literal["verified", "checking", "damaged"]
"""The result of verifying the checksums so far."""


class ChecksumVerifier:
    """Verifies the checksums of a generation's files. Thread-safe.

    ``manifest`` names the files. ``state`` is the result so far; it is ``verified`` too if the generation was removed
    while its files were read.
    """

    def __init__(self, folder: Path, manifest: IndexManifest, verify: Verify | None) -> None:
        """Verify now what ``verify`` says, and the rest in a thread.

        With None nothing is verified, because the caller has done it.

        Raises:
            IndexDamaged: Damage was found now. :meth:`raise_if_damaged` reports damage that is found later.
        """
        self.manifest = manifest
        self.state: ChecksumState = "verified"
        self._problem: Exception | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        if verify == "changed":
            if check_changed_files(folder, manifest):
                self._start(folder, manifest, _READING_DELAY)
        elif verify is not None:
            check_files(folder, manifest, contents=verify == "full")
            if verify == "quick":
                self.state = "checking"
                self._start(folder, manifest, 0.0)

    def raise_if_damaged(self) -> None:
        """Raise :class:`IndexDamaged` if damage was found."""
        if self._problem is not None:
            raise IndexDamaged(message_of(self._problem))

    def report(self, error: Exception) -> None:
        """Record damage that was found by reading the index."""
        self._problem = self._problem or error
        self.state = "damaged"

    def wait(self, seconds: float | None = None) -> ChecksumState:
        """Wait until the verification ends, at most ``seconds`` (None: no limit), and return the state."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.state

    def close(self) -> None:
        """Ignore damage found after this call, when the generation may have been removed."""
        self._closed.set()

    def _start(self, folder: Path, manifest: IndexManifest, delay: float) -> None:
        check = (folder, manifest, delay)
        self._thread = threading.Thread(target=self._check, args=check, name="checksums", daemon=True)
        self._thread.start()

    def _check(self, folder: Path, manifest: IndexManifest, delay: float) -> None:
        if self._closed.wait(delay):
            return
        try:
            while not self._checked(folder, manifest) and not self._closed.wait(_RETRY_SECONDS):
                pass
        except Exception as error:
            # A generation that was removed is not damaged: its open files stay readable.
            if folder.exists() and not self._closed.is_set():
                self.report(error)
        if self.state == "checking":
            self.state = "verified"

    def _checked(self, folder: Path, manifest: IndexManifest) -> bool:
        """Return whether all files could be read; raise :class:`IndexDamaged` for the first that differs."""
        try:
            check_files(folder, manifest)
        except OSError:
            return False  # no file descriptor is free: try again later
        return True


class Closable(Protocol):
    """An object with resources to release."""

    def close(self) -> None:
        """Release the resources."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An open generation of an index.

    Attributes:
        name: The index.
        manifest: The generation's manifest.
        analyzer: The analyzer with which it was built.
        searcher: Lexical search.
        store: The stored records.
        checksums: The verification of its files.
        files: The objects that :meth:`close` closes.
        dense: Vector search; None if the index was built without an encoder.
        glossary: The bilingual glossary; None only if a test made the index without one.
        calibration: Turns evidence into a confidence; None if the index has too few records to learn it from.
        scorer: Scores stored records for a question; None if the engine cannot.
        authors: Finds the records of an author; None if the engine cannot.
        spelling: Finds terms that are spelled alike; None if the engine cannot.
    """

    name: str
    manifest: IndexManifest
    analyzer: Analyzer
    searcher: SearchEngine
    store: RecordStore
    checksums: ChecksumVerifier
    files: tuple[Closable, ...]
    dense: VectorIndex | None = None
    glossary: Glossary | None = None
    calibration: ConfidenceCalibration | None = None
    scorer: RecordScorer | None = None
    authors: AuthorSearch | None = None
    spelling: SpellingSearch | None = None

    def filtered(self, searcher: SearchEngine, record_filter: RecordFilter) -> OpenIndex:
        """Return the index for searches with a filter.

        Args:
            searcher: Lexical search that finds only records that pass the filter.
            record_filter: The filter, which is applied to vector search too.
        """
        dense = self.dense.filtered(record_filter) if self.dense is not None else None
        return replace(self, searcher=searcher, dense=dense)

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()


def check_index(indexes: Path, name: str) -> IndexManifest:
    """Verify the files, the analyzer and the vectors of an index without opening it, and return its manifest.

    It raises the errors of :func:`open_index`.
    """
    folder, manifest = current_generation(indexes / check_name(name))
    read_generation(folder.parent, manifest.generation)  # verifies the manifest by the checksum beside it
    _check_vectors(name, manifest)
    check_files(folder, manifest)
    check_analyzer(name, manifest, analyzer_fingerprint(load_dictionary(folder)))
    return manifest


def open_index(
    indexes: Path,
    name: str,
    first_question: str | None = None,
    verify: Verify = "changed",
    generation: int | None = None,
    engine: EngineChoice = LUCENE,
) -> OpenIndex:
    """Open a generation of an index.

    Args:
        indexes: The folder of all indexes.
        name: The index.
        first_question: The question of a command. It is analyzed in the background, which loads Kiwi (the Korean
            tokenizer) only if the token store lacks one of its words. With None, for a server, Kiwi is loaded in the
            background.
        verify: The files whose checksums are verified before the index is opened. The others are verified in the
            background.
        generation: The generation, None for the current one.
        engine: The engine of lexical search. A process can use only one of the two engines that run Lucene.

    Raises:
        IndexMissing: There is no such index.
        DependencyMissing: The engine is not installed.
        CorpusError: ``name`` is not a valid name.
        IndexDamaged: A file is missing or does not match its checksum, or Lucene's files belong to another generation.
        IndexMismatch: The index was built with another format, analyzer or type of encoder.
    """
    index = indexes / check_name(name)
    if generation is not None:
        folder, manifest = generation_folder(index, generation), read_generation(index, generation)
        return _open_generation(name, folder, manifest, first_question, verify, engine)
    while True:
        folder, manifest = current_generation(index)
        try:
            return _open_generation(name, folder, manifest, first_question, verify, engine, is_published=True)
        except (IndexingError, OSError, sqlite3.DatabaseError):
            # A build may have removed this generation meanwhile: open the one that is current now.
            if read_current(index)[0] == manifest.generation:
                raise


def open_generation(folder: Path, manifest: IndexManifest, verify: Verify | None = "changed") -> OpenIndex:
    """Open the given generation, current or not, without loading Kiwi; raise the errors of :func:`open_index`.

    With None for ``verify`` its files are not verified, because the caller has done it.
    """
    return _open_generation(folder.parent.name, folder, manifest, "", verify)


def _open_generation(
    name: str,
    folder: Path,
    manifest: IndexManifest,
    first_question: str | None,
    verify: Verify | None,
    engine: EngineChoice = LUCENE,
    *,
    is_published: bool = False,
) -> OpenIndex:
    there = files_there(folder, manifest) if engine.is_distributed else manifest
    with ExitStack() as opened:  # closes what is open if a later step fails
        checksums = opened.enter_context(closing(ChecksumVerifier(folder, there, verify)))
        token_store = opened.enter_context(closing(TokenStore(folder / TOKEN_STORE)))
        analyzer = KoreanEnglishAnalyzer(token_store, load_dictionary(folder))
        check_analyzer(name, manifest, analyzer.fingerprint)
        _check_vectors(name, manifest)
        threading.Thread(target=_warm_up, args=(analyzer, first_question), name="warm-up", daemon=True).start()
        searcher = opened.enter_context(
            closing(_open_searcher(engine, name, folder, manifest, is_published=is_published))
        )
        vectors = manifest.vectors
        dense = _dense(name, folder, vectors, analyzer, searcher) if vectors else None
        glossary = opened.enter_context(closing(Glossary(folder / GLOSSARY)))
        # The hold says to `shrag index remove` and to builds that the generation is in use.
        hold = opened.enter_context(closing(FolderHold(folder)))
        calibration = read_calibration(folder / CALIBRATION)
        opened.pop_all()
    embedded = searcher if isinstance(searcher, LuceneSearcher) else None
    return OpenIndex(
        name,
        manifest,
        analyzer,
        searcher,
        searcher,
        checksums,
        (searcher, token_store, glossary, checksums, hold),
        dense,
        glossary,
        calibration,
        scorer=embedded,
        authors=embedded,
        spelling=embedded,
    )


_Searcher = LuceneSearcher | PyseriniSearcher | DistributedSearcher


def _open_searcher(
    engine: EngineChoice, name: str, folder: Path, manifest: IndexManifest, *, is_published: bool
) -> _Searcher:
    if engine.is_distributed:
        return open_distributed(engine, folder.parent, manifest, is_published=is_published)
    if engine.name == "lucene":
        start_java()
    kind = PyseriniSearcher if engine.name == "pyserini" else LuceneSearcher
    searcher = kind(folder / FOLDER, manifest.bm25)
    data = searcher.commit_data()
    if data.get("corpus") != manifest.source.fingerprint or data.get("records") != str(manifest.records):
        searcher.close()
        raise IndexDamaged(
            Text(
                "The Lucene files of index {name} have the commit data {data}, which do not fit its manifest: "
                "build it again with `shrag index {name} --force`.",
                name=name,
                data=data,
            )
        )
    return searcher


def _dense(name: str, folder: Path, card: VectorCard, analyzer: Analyzer, searcher: _Searcher) -> VectorIndex:
    rows = searcher if isinstance(searcher, DistributedSearcher) else None
    return VectorIndex(name, card, folder / VECTORS, analyzer, searcher, weights_folder(folder.parent.parent), rows)


def uncached_analyzer(folder: Path) -> Analyzer:
    """Return the analyzer of the index in ``folder`` without cached tokens, to analyze its records again."""
    return KoreanEnglishAnalyzer(dictionary=load_dictionary(folder))


def open_glossary(indexes: Path, name: str) -> tuple[Glossary, Analyzer]:
    """Open the glossary and the analyzer of an index without Java; the caller closes the glossary.

    It raises the errors of :func:`open_index`.
    """
    folder, manifest = current_generation(indexes / check_name(name))
    check_changed_files(folder, manifest)
    analyzer = KoreanEnglishAnalyzer(TokenStore(folder / TOKEN_STORE), load_dictionary(folder))
    check_analyzer(name, manifest, analyzer.fingerprint)
    return Glossary(folder / GLOSSARY), analyzer


def _warm_up(analyzer: KoreanEnglishAnalyzer, first_question: str | None) -> None:
    # An error is ignored here, because the first use of the analyzer raises it again.
    with suppress(Exception):
        if first_question is None:
            analyzer.prepare()
        else:
            analyzer.terms([first_question])


def check_analyzer(name: str, manifest: IndexManifest, fingerprint: str) -> None:
    """Raise :class:`IndexMismatch`, naming the differences, if the index was built by another analyzer."""
    if manifest.analyzer == fingerprint:
        return
    index_parts, process_parts = manifest.analyzer.split("; "), fingerprint.split("; ")
    of_index = "; ".join(part for part in index_parts if part not in process_parts)
    of_process = "; ".join(part for part in process_parts if part not in index_parts)
    raise IndexMismatch(
        Text(
            "Index {name} was analyzed by [{of_index}], this process has [{of_process}]: build it again with "
            "`shrag index {name}`.",
            name=name,
            of_index=of_index,
            of_process=of_process,
        )
    )


def _check_vectors(name: str, manifest: IndexManifest) -> None:
    if manifest.vectors is not None:
        check_vector_card(name, manifest.vectors)
        if manifest.vectors.rows != manifest.records:
            raise IndexDamaged(
                Text(
                    "The manifest of index {name} has {rows} vectors for {records} records: build it again "
                    "with `shrag index {name} --force`.",
                    name=name,
                    rows=manifest.vectors.rows,
                    records=manifest.records,
                )
            )
