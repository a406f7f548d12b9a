"""What is made once all records are in Lucene: the same phases for an index built from nothing and for one updated."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from shrag.corpora.addition import Report
from shrag.corpora.manifest import CorpusManifest
from shrag.corpora.parquet import read_parquet
from shrag.indexing import golden
from shrag.indexing.bm25 import Bm25
from shrag.indexing.busy import Busy
from shrag.indexing.glossary import FILE as GLOSSARY
from shrag.indexing.glossary_corrections import FILE as CORRECTIONS
from shrag.indexing.glossary_phase import build_glossary
from shrag.indexing.half_built import BuildPlan, HalfBuilt, Phase
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.lexical import FOLDER
from shrag.indexing.lexical_reader import LexicalReader
from shrag.indexing.manifest import FORMAT_VERSION
from shrag.indexing.note_phases import REJECTS, rejected_docids, write_rejects, write_words
from shrag.indexing.user_dictionary import UserDictionary
from shrag.indexing.vector_card import FOLDER as VECTORS
from shrag.indexing.vector_card import NO_ENCODER, encoder_settings, keep_card
from shrag.indexing.wordbook import FILE as WORDBOOK
from shrag.indexing.wordbook import WordBook


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user chose for an index: ``words`` of their own, ``corrections`` to its glossary, an encoder.

    ``weights`` is the folder where those of encoders lie that are chosen by name.
    """

    words: UserDictionary
    corrections: bytes
    encoder: str
    weights: Path

    def settings(self) -> str:
        """Return the encoder's settings; raises as :func:`~shrag.indexing.vector_card.encoder_settings` does."""
        return encoder_settings(self.encoder, self.weights)


def make_plan(
    source: CorpusManifest, analyzer: str, bm25: Bm25, choices: Choices, versions: dict[str, str]
) -> BuildPlan:
    """Return the plan of an index of ``source`` by the analyser of that fingerprint, with what was chosen."""
    return BuildPlan(
        format_version=FORMAT_VERSION,
        corpus=source.fingerprint,
        records=source.records,
        analyzer=analyzer,
        bm25=bm25,
        encoder=choices.settings(),
        corrections=hashlib.sha256(choices.corrections).hexdigest(),
        versions=versions,
    )


@dataclass(frozen=True, slots=True)
class Derived:
    """A build whose records are in Lucene, the file of these ``records``, what was chosen, and how to go about it."""

    build: HalfBuilt
    records: Path
    choices: Choices
    max_rejected: int
    busy: Busy
    report: Report

    def phases(self) -> tuple[Phase, ...]:
        """Return the phases in order. Another is one function in a file of its own, and one line here."""
        phases = [
            Phase("rejects", (REJECTS,), lambda: write_rejects(self.build, self.max_rejected)),
            Phase("words", (WORDBOOK,), self._timed("word book", lambda: write_words(self.build))),
            Phase("golden", (golden.FILE,), lambda: golden.write_golden(self.build.index, self.build.plan.bm25)),
            Phase("glossary", (GLOSSARY, CORRECTIONS), self._timed("glossary", self._write_glossary)),
        ]
        if self.choices.encoder != NO_ENCODER:
            phases.append(Phase("vectors", (VECTORS,), self._timed("vectors", self._write_vectors)))
        return tuple(phases)

    def _timed(self, stage: str, run: Callable[[], None]) -> Callable[[], None]:
        def timed() -> None:
            self.report(stage, self.build.plan.records)
            with self.busy.at(stage):
                run()

        return timed

    def _write_glossary(self) -> None:
        # With the word book just written: every word of the corpus is in it, so Kiwi is not asked again.
        with closing(WordBook(self.build.index / WORDBOOK)) as book:
            analyzer = KoreanEnglishAnalyzer(book, self.choices.words)
            # A record that no worker survived is not read here either.
            rejected = rejected_docids(self.build)
            records = (record for record in read_parquet(self.records) if record.docid not in rejected)
            build_glossary(self.build.index, self.build.stage, records, analyzer, self.choices.corrections)

    def _write_vectors(self) -> None:
        from shrag.indexing.vector_phase import build_vectors

        analyzer = KoreanEnglishAnalyzer(dictionary=self.choices.words)
        made_of = f"{self.build.plan.corpus}\n{self.build.plan.analyzer}"
        with closing(LexicalReader(self.build.index / FOLDER, self.build.plan.bm25)) as documents:
            card = build_vectors(
                self.build.index,
                self.build.stage,
                self.choices.encoder,
                documents,
                analyzer,
                made_of,
                self.choices.weights,
                self.report,
                self.build.folder.parent,
            )
        keep_card(self.build.stage, card)
