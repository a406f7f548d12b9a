"""What is made once all records are in Lucene: the same phases for an index built from nothing and for one updated."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from shrag.corpora.addition import Report
from shrag.indexing import golden
from shrag.indexing.busy import Busy
from shrag.indexing.half_built import HalfBuilt, Phase
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.lexical import FOLDER
from shrag.indexing.lexical_reader import LexicalReader
from shrag.indexing.note_phases import REJECTS, write_rejects, write_words
from shrag.indexing.user_dictionary import UserDictionary
from shrag.indexing.vector_card import FOLDER as VECTORS
from shrag.indexing.vector_card import NO_ENCODER, keep_card
from shrag.indexing.wordbook import FILE as WORDBOOK


@dataclass(frozen=True, slots=True)
class Derived:
    """What is wanted of an index besides its records: a user's ``words``, the kind of ``encoder``, and how."""

    words: UserDictionary
    encoder: str
    max_rejected: int
    busy: Busy
    report: Report


def derived_phases(build: HalfBuilt, wanted: Derived) -> tuple[Phase, ...]:
    """Return the phases in order. Another is one function in a file of its own, and one line here."""
    phases = [
        Phase("rejects", (REJECTS,), lambda: write_rejects(build, wanted.max_rejected)),
        Phase("words", (WORDBOOK,), _timed(wanted, "word book", lambda: write_words(build))),
        Phase("golden", (golden.FILE,), lambda: golden.write_golden(build.index, build.plan.bm25)),
    ]
    if wanted.encoder != NO_ENCODER:
        phases.append(Phase("vectors", (VECTORS,), _timed(wanted, "vectors", lambda: _write_vectors(build, wanted))))
    return tuple(phases)


def _timed(wanted: Derived, stage: str, run: Callable[[], None]) -> Callable[[], None]:
    def timed() -> None:
        with wanted.busy.at(stage):
            run()

    return timed


def _write_vectors(build: HalfBuilt, wanted: Derived) -> None:
    from shrag.indexing.vector_phase import build_vectors

    analyzer = KoreanEnglishAnalyzer(dictionary=wanted.words)
    with closing(LexicalReader(build.index / FOLDER, build.plan.bm25)) as documents:
        made_of = f"{build.plan.corpus}\n{build.plan.analyzer}"
        card = build_vectors(build.index, build.stage, wanted.encoder, documents, analyzer, made_of, wanted.report)
    keep_card(build.stage, card)
