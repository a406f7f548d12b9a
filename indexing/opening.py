"""Opening a published index: checked against its manifest first, then searched with the analyser that made it."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shrag.corpora.names import check_name
from shrag.indexing.analysis import Analyzer
from shrag.indexing.engine import RecordStore, SearchEngine
from shrag.indexing.errors import IndexDamaged, IndexMismatch
from shrag.indexing.generations import current_generation
from shrag.indexing.glossary import FILE as GLOSSARY
from shrag.indexing.glossary import Glossary
from shrag.indexing.jvm import start_java
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.lexical import FOLDER
from shrag.indexing.lexical_reader import LexicalReader
from shrag.indexing.manifest import IndexManifest, check_files
from shrag.indexing.wordbook import FILE as WORDBOOK
from shrag.indexing.wordbook import WordBook


class Closable(Protocol):
    """Something that holds files open."""

    def close(self) -> None:
        """Let go of them."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """One generation of an index, open. ``engine``, ``store`` and ``analyzer`` belong together and to nothing else."""

    name: str
    manifest: IndexManifest
    analyzer: Analyzer
    engine: SearchEngine
    store: RecordStore
    files: tuple[Closable, ...]
    glossary: Glossary | None = None

    def close(self) -> None:
        """Let go of the files."""
        for file in self.files:
            file.close()


def check_index(indexes: Path, name: str) -> IndexManifest:
    """Check every byte of ``name`` without opening it; raises as :func:`open_index` does."""
    folder, manifest = current_generation(indexes / check_name(name))
    _check_analyzer(name, manifest, KoreanEnglishAnalyzer())
    check_files(folder, manifest)
    return manifest


def open_index(indexes: Path, name: str, first_question: str | None = None) -> OpenIndex:
    """Open the current generation of ``name``.

    With a ``first_question``, its words are analysed while Java starts, and Kiwi is loaded only if the index's word
    book lacks one of them. Without, Kiwi is loaded meanwhile: who opens an index to serve will need it.

    Raises :class:`~shrag.indexing.errors.IndexMissing` where there is none, ``IndexDamaged`` where a file is not as it
    was sealed, ``IndexMismatch`` where it was made by another analyser than this process has.
    """
    folder, manifest = current_generation(indexes / check_name(name))
    check_files(folder, manifest)
    book = WordBook(folder / WORDBOOK)
    analyzer = KoreanEnglishAnalyzer(book)
    _check_analyzer(name, manifest, analyzer)
    threading.Thread(target=_warm_up, args=(analyzer, first_question), name="warm-up", daemon=True).start()
    start_java()
    reader = LexicalReader(folder / FOLDER, manifest.bm25)
    about = reader.about()
    if about.get("corpus") != manifest.source.fingerprint or about.get("records") != str(manifest.records):
        reader.close()
        raise IndexDamaged(
            f"The Lucene files of index {name} hold {about}, its manifest says otherwise: "
            f"build it again with `shrag index {name} --force`."
        )
    glossary = Glossary(folder / GLOSSARY) if GLOSSARY in manifest.files else None
    files = (reader, book) if glossary is None else (reader, book, glossary)
    return OpenIndex(name, manifest, analyzer, reader, reader, files, glossary)


def open_glossary(indexes: Path, name: str) -> tuple[Glossary, Analyzer]:
    """Open the glossary of ``name`` and its analyser, without Java; raises as :func:`open_index` does."""
    folder, manifest = current_generation(indexes / check_name(name))
    check_files(folder, manifest)
    if GLOSSARY not in manifest.files:
        raise IndexMismatch(f"Index {name} has no glossary: build it again with `shrag index {name}`.")
    analyzer = KoreanEnglishAnalyzer(WordBook(folder / WORDBOOK))
    _check_analyzer(name, manifest, analyzer)
    return Glossary(folder / GLOSSARY), analyzer


def _warm_up(analyzer: KoreanEnglishAnalyzer, first_question: str | None) -> None:
    # What fails here fails again, and is told, where the analyser is needed.
    with suppress(Exception):
        if first_question is None:
            analyzer.prepare()
        else:
            analyzer.terms([first_question])


def _check_analyzer(name: str, manifest: IndexManifest, analyzer: Analyzer) -> None:
    if manifest.analyzer != analyzer.fingerprint:
        raise IndexMismatch(
            f"Index {name} was analysed by [{manifest.analyzer}], this process has [{analyzer.fingerprint}]: "
            f"build it again with `shrag index {name}`."
        )
