"""Open a published index; verify its checksums before, or in the background."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from shrag.corpora.files import check_name
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer, analyzer_fingerprint
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import load_dictionary
from shrag.indexing.analyzed_record import RecordStore
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.glossary.store import Glossary
from shrag.indexing.lexical.jvm import start_java
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.search_engine import SearchEngine
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import check_files, current_generation, read_current
from shrag.indexing.storage.manifest import IndexManifest
from shrag.indexing.storage.vector_card import FILE as VECTORS_FILE
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.storage.vector_card import VectorCard, check_vector_card, derived_folder, weights_folder
from shrag.indexing.vectors.vector_index import VectorIndex

ChecksumState = Literal["verified", "checking", "damaged"]


class ChecksumVerifier:
    """Verifies the checksums of a generation's files; ``state`` is the result so far. Thread-safe."""

    def __init__(self, folder: Path, manifest: IndexManifest, verify: Verify) -> None:
        """Verify, in the background if ``verify`` is ``quick``; raises :class:`IndexDamaged`."""
        self.state: ChecksumState = "verified"
        self._problem: IndexDamaged | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        check_files(folder, manifest, contents=verify == "full")
        if verify == "quick":
            self.state = "checking"
            self._thread = threading.Thread(target=self._check, args=(folder, manifest), name="checksums", daemon=True)
            self._thread.start()

    def raise_if_damaged(self) -> None:
        """Raise :class:`IndexDamaged` if damage was found."""
        if self._problem is not None:
            raise IndexDamaged(str(self._problem))

    def wait(self, seconds: float | None = None) -> ChecksumState:
        """Wait for the end of the verification, at most ``seconds``, and return the state."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.state

    def close(self) -> None:
        """Ignore what is found from now on: the generation may have been removed."""
        self._closed.set()

    def _check(self, folder: Path, manifest: IndexManifest) -> None:
        state: ChecksumState = "verified"
        try:
            check_files(folder, manifest)
        except IndexDamaged as damage:
            # A generation that was removed is not damaged: its open files stay readable.
            if folder.exists() and not self._closed.is_set():
                self._problem = damage
                state = "damaged"
        finally:
            self.state = state


class Closable(Protocol):
    """An object with open files."""

    def close(self) -> None:
        """Close them."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An open generation of an index.

    Attributes:
        searcher: Lexical search.
        checksums: The verification of its files.
        files: What :meth:`close` closes.
        dense: Vector search, None if it was built without an encoder.
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

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()


def check_index(indexes: Path, name: str) -> IndexManifest:
    """Verify ``name`` without opening it, and return its manifest; raises as :func:`open_index`."""
    folder, manifest = current_generation(indexes / check_name(name))
    _check_vectors(name, manifest)
    check_files(folder, manifest)
    check_analyzer(name, manifest, analyzer_fingerprint(load_dictionary(folder)))
    return manifest


def open_index(indexes: Path, name: str, first_question: str | None = None, verify: Verify = "full") -> OpenIndex:
    """Open the current generation of an index.

    Args:
        indexes: The folder of all indexes.
        name: The index.
        first_question: A question to analyze while Java starts; Kiwi is then loaded only for a word that the token
            store does not have. None to load Kiwi, for a server.
        verify: When to verify the checksums.

    Raises:
        IndexMissing: There is no such index.
        IndexDamaged: A file does not have its checksum.
        IndexMismatch: It was built by another format, analyzer or kind of encoder.
    """
    index = indexes / check_name(name)
    while True:
        folder, manifest = current_generation(index)
        try:
            return _open_generation(name, folder, manifest, first_question, verify)
        except IndexingError:
            # A build may have published two generations meanwhile and removed this one: open the new one.
            if read_current(index)[0] == manifest.generation:
                raise


def open_generation(folder: Path, manifest: IndexManifest, verify: Verify = "full") -> OpenIndex:
    """Open any generation, without loading Kiwi; raises as :func:`open_index`."""
    return _open_generation(folder.parent.name, folder, manifest, "", verify)


def _open_generation(
    name: str, folder: Path, manifest: IndexManifest, first_question: str | None, verify: Verify
) -> OpenIndex:
    checksums = ChecksumVerifier(folder, manifest, verify)
    token_store = TokenStore(folder / TOKEN_STORE)
    analyzer = KoreanEnglishAnalyzer(token_store, load_dictionary(folder))
    check_analyzer(name, manifest, analyzer.fingerprint)
    _check_vectors(name, manifest)
    threading.Thread(target=_warm_up, args=(analyzer, first_question), name="warm-up", daemon=True).start()
    start_java()
    reader = LuceneSearcher(folder / FOLDER, manifest.bm25)
    data = reader.commit_data()
    if data.get("corpus") != manifest.source.fingerprint or data.get("records") != str(manifest.records):
        reader.close()
        raise IndexDamaged(
            f"The Lucene files of index {name} have the commit data {data}, which do not fit its manifest: "
            f"build it again with `shrag index {name} --force`."
        )
    vectors = manifest.vectors
    dense = _dense(name, folder, manifest, vectors, analyzer, reader) if vectors else None
    glossary = Glossary(folder / GLOSSARY)
    files = (reader, token_store, glossary, checksums)
    return OpenIndex(name, manifest, analyzer, reader, reader, checksums, files, dense, glossary)


def _dense(
    name: str, folder: Path, manifest: IndexManifest, card: VectorCard, analyzer: Analyzer, rows: LuceneSearcher
) -> VectorIndex:
    indexes = folder.parent.parent
    file = manifest.files.get(f"{VECTORS}/{VECTORS_FILE}")
    # Named by the checksum of the vectors, so that every index with the same vectors finds it.
    derived = derived_folder(indexes) / f"{file.sha256}.ivf" if file else None
    return VectorIndex(name, card, folder / VECTORS, analyzer, rows, weights_folder(indexes), derived)


def uncached_analyzer(folder: Path) -> Analyzer:
    """Return the analyzer of the index in ``folder`` without its token store, to analyze records again."""
    return KoreanEnglishAnalyzer(dictionary=load_dictionary(folder))


def open_glossary(indexes: Path, name: str) -> tuple[Glossary, Analyzer]:
    """Open the glossary of ``name`` and its analyzer, without Java; raises as :func:`open_index`."""
    folder, manifest = current_generation(indexes / check_name(name))
    check_files(folder, manifest)
    analyzer = KoreanEnglishAnalyzer(TokenStore(folder / TOKEN_STORE), load_dictionary(folder))
    check_analyzer(name, manifest, analyzer.fingerprint)
    return Glossary(folder / GLOSSARY), analyzer


def _warm_up(analyzer: KoreanEnglishAnalyzer, first_question: str | None) -> None:
    # An error occurs again, and is reported, when the analyzer is used.
    with suppress(Exception):
        if first_question is None:
            analyzer.prepare()
        else:
            analyzer.terms([first_question])


def check_analyzer(name: str, manifest: IndexManifest, fingerprint: str) -> None:
    """Raise :class:`IndexMismatch`, naming the differences, if the index was built by another analyzer."""
    if manifest.analyzer == fingerprint:
        return
    made, have = manifest.analyzer.split("; "), fingerprint.split("; ")
    raise IndexMismatch(
        f"Index {name} was analyzed by [{'; '.join(part for part in made if part not in have)}], this process has "
        f"[{'; '.join(part for part in have if part not in made)}]: build it again with `shrag index {name}`."
    )


def _check_vectors(name: str, manifest: IndexManifest) -> None:
    if manifest.vectors is not None:
        check_vector_card(name, manifest.vectors)
        if manifest.vectors.rows != manifest.records:
            raise IndexDamaged(
                f"Index {name} says {manifest.vectors.rows} vectors for {manifest.records} records: "
                f"build it again with `shrag index {name} --force`."
            )
