"""Open a published index; verify checksums now or in the background."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from shrag.corpora.files import check_name
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
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
    """The check of one generation's files; ``state`` says how far it is. Safe to share between threads."""

    def __init__(self, folder: Path, manifest: IndexManifest, verify: Verify) -> None:
        """Check now what ``verify`` says; raises :class:`IndexDamaged`."""
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
        """Raise :class:`IndexDamaged` where the check has met with damage: no answer is given from then on."""
        if self._problem is not None:
            raise IndexDamaged(str(self._problem))

    def wait(self, seconds: float | None = None) -> ChecksumState:
        """Wait for the check to end, at most ``seconds``, and return how far it is."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.state

    def close(self) -> None:
        """Make nothing of what the check finds from now on: the generation may have been removed."""
        self._closed.set()

    def _check(self, folder: Path, manifest: IndexManifest) -> None:
        state: ChecksumState = "verified"
        try:
            check_files(folder, manifest)
        except IndexDamaged as damage:
            # A generation that a newer one has pushed out is gone, not damaged: what is open stays readable.
            if folder.exists() and not self._closed.is_set():
                self._problem = damage
                state = "damaged"
        finally:
            self.state = state


class Closable(Protocol):
    """Something that holds files open."""

    def close(self) -> None:
        """Let go of them."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """One generation of an index, open. Its parts belong together and to nothing else.

    ``dense`` is None where the index was built without an encoder.
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
        """Let go of the files."""
        for file in self.files:
            file.close()


def check_index(indexes: Path, name: str) -> IndexManifest:
    """Check every byte of ``name`` without opening it; raises as :func:`open_index` does."""
    folder, manifest = current_generation(indexes / check_name(name))
    _check_vectors(name, manifest)
    check_files(folder, manifest)
    check_analyzer(name, manifest, KoreanEnglishAnalyzer(dictionary=load_dictionary(folder)))
    return manifest


def open_index(indexes: Path, name: str, first_question: str | None = None, verify: Verify = "full") -> OpenIndex:
    """Open the current generation of ``name``.

    With a ``first_question``, its words are analysed while Java starts, and Kiwi is loaded only if the index's token
    store lacks one of them. Without, Kiwi is loaded meanwhile: who opens an index to serve will need it.

    With ``verify`` as ``quick`` the files' bytes are checked while the index is used already: ``seals`` says how far
    that is.

    Raises :class:`~shrag.indexing.errors.IndexMissing` where there is none, ``IndexDamaged`` where a file is not as it
    was sealed, ``IndexMismatch`` where it was made by another analyser than this process has.
    """
    index = indexes / check_name(name)
    while True:
        folder, manifest = current_generation(index)
        try:
            return _open_generation(name, folder, manifest, first_question, verify)
        except IndexingError:
            # A builder may have published two generations meanwhile and removed this one: then there is a better one.
            if read_current(index)[0] == manifest.generation:
                raise


def open_generation(folder: Path, manifest: IndexManifest, verify: Verify = "full") -> OpenIndex:
    """Open one generation, current or not, with Kiwi loaded only when it is needed; raises as :func:`open_index`."""
    return _open_generation(folder.parent.name, folder, manifest, "", verify)


def _open_generation(
    name: str, folder: Path, manifest: IndexManifest, first_question: str | None, verify: Verify
) -> OpenIndex:
    seals = ChecksumVerifier(folder, manifest, verify)
    token_store = TokenStore(folder / TOKEN_STORE)
    analyzer = KoreanEnglishAnalyzer(token_store, load_dictionary(folder))
    check_analyzer(name, manifest, analyzer)
    _check_vectors(name, manifest)
    threading.Thread(target=_warm_up, args=(analyzer, first_question), name="warm-up", daemon=True).start()
    start_java()
    reader = LuceneSearcher(folder / FOLDER, manifest.bm25)
    about = reader.about()
    if about.get("corpus") != manifest.source.fingerprint or about.get("records") != str(manifest.records):
        reader.close()
        raise IndexDamaged(
            f"The Lucene files of index {name} hold {about}, its manifest says otherwise: "
            f"build it again with `shrag index {name} --force`."
        )
    vectors = manifest.vectors
    dense = _dense(name, folder, manifest, vectors, analyzer, reader) if vectors else None
    glossary = Glossary(folder / GLOSSARY)
    files = (reader, token_store, glossary, seals)
    return OpenIndex(name, manifest, analyzer, reader, reader, seals, files, dense, glossary)


def _dense(
    name: str, folder: Path, manifest: IndexManifest, card: VectorCard, analyzer: Analyzer, rows: LuceneSearcher
) -> VectorIndex:
    indexes = folder.parent.parent
    seal = manifest.files.get(f"{VECTORS}/{VECTORS_FILE}")
    # Named by the vectors it is derived from, so that it is found again by any index that has them.
    derived = derived_folder(indexes) / f"{seal.sha256}.ivf" if seal else None
    return VectorIndex(name, card, folder / VECTORS, analyzer, rows, weights_folder(indexes), derived)


def uncached_analyzer(folder: Path) -> Analyzer:
    """Return the analyser of the index in ``folder`` without its token store, which repeats what was analysed then."""
    return KoreanEnglishAnalyzer(dictionary=load_dictionary(folder))


def open_glossary(indexes: Path, name: str) -> tuple[Glossary, Analyzer]:
    """Open the glossary of ``name`` and its analyser, without Java; raises as :func:`open_index` does."""
    folder, manifest = current_generation(indexes / check_name(name))
    check_files(folder, manifest)
    analyzer = KoreanEnglishAnalyzer(TokenStore(folder / TOKEN_STORE), load_dictionary(folder))
    check_analyzer(name, manifest, analyzer)
    return Glossary(folder / GLOSSARY), analyzer


def _warm_up(analyzer: KoreanEnglishAnalyzer, first_question: str | None) -> None:
    # What fails here fails again, and is told, where the analyser is needed.
    with suppress(Exception):
        if first_question is None:
            analyzer.prepare()
        else:
            analyzer.terms([first_question])


def check_analyzer(name: str, manifest: IndexManifest, analyzer: Analyzer) -> None:
    """Raise :class:`IndexMismatch`, naming the parts that differ, where another analyser made the index."""
    if manifest.analyzer == analyzer.fingerprint:
        return
    made, have = manifest.analyzer.split("; "), analyzer.fingerprint.split("; ")
    raise IndexMismatch(
        f"Index {name} was analysed by [{'; '.join(part for part in made if part not in have)}], this process has "
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
