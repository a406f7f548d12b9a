"""Steps after the records: rejects, token store, golden queries, glossary."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shrag.corpora.ingest.add import Report
from shrag.corpora.records import Record
from shrag.corpora.store.manifest import CorpusManifest
from shrag.corpora.store.parquet import read_parquet
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.token_store import TokenStore, write_token_store
from shrag.indexing.analysis.user_dictionary import UserDictionary
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.checkpoints import BuildPlan, HalfBuilt, Phase
from shrag.indexing.build.records_step import NOTES, BuildNotes
from shrag.indexing.build.resources import Busy
from shrag.indexing.errors import TooManyRejected
from shrag.indexing.glossary.corrections import FILE as CORRECTIONS
from shrag.indexing.glossary.corrections import apply_corrections, parse_corrections
from shrag.indexing.glossary.mining import mine_glossary
from shrag.indexing.glossary.store import FILE, write_glossary
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LexicalReader
from shrag.indexing.maintenance import golden_queries as golden
from shrag.indexing.storage.manifest import FORMAT_VERSION
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.storage.vector_card import NO_ENCODER, encoder_settings, keep_card

REJECTS = "rejects.jsonl"
"""The records of the corpus that are not in the index, one JSON object on a line: docid and reason."""

_NAMED = 3


def write_rejects(build: HalfBuilt, most: int) -> None:
    """Write the rejects; raise :class:`TooManyRejected` where there are more than ``most``."""
    with BuildNotes(build.stage / NOTES) as notes:
        rejects = notes.rejects()
    if len(rejects) > most:
        first = "; ".join(f"{reject.docid} ({reject.reason})" for reject in rejects[:_NAMED])
        raise TooManyRejected(
            f"{len(rejects):,} records cannot be analysed, {most:,} may: {first}"
            f"{' …' if len(rejects) > _NAMED else ''}. To publish the index without them, run again with "
            f"`--max-rejected {len(rejects)}`."
        )
    lines = (msgspec.json.encode({"docid": reject.docid, "reason": reject.reason}) for reject in rejects)
    (build.index / REJECTS).write_bytes(b"".join(line + b"\n" for line in lines))


def count_rejects(build: HalfBuilt) -> int:
    """Return how many records were left out."""
    return (build.index / REJECTS).read_bytes().count(b"\n")


def rejected_docids(build: HalfBuilt) -> frozenset[str]:
    """Return the identifiers of the records left out."""
    with (build.index / REJECTS).open("rb") as lines:
        return frozenset(msgspec.json.decode(line)["docid"] for line in lines)


def write_words(build: HalfBuilt) -> None:
    """Write the word book."""
    with BuildNotes(build.stage / NOTES) as notes:
        write_token_store(build.index / TOKEN_STORE, notes.words())


_SCRATCH = "glossary.scratch"


def build_glossary(build: Path, stage: Path, records: Iterable[Record], analyzer: Analyzer, corrections: bytes) -> int:
    """Write the glossary of ``records`` into the folder ``build``, and the user's ``corrections`` where there are any.

    Returns how many pairs it has. What an interrupted call left is written over; notes lie in ``stage`` meanwhile.
    """
    entries = mine_glossary(records, analyzer, stage / _SCRATCH)
    corrected = apply_corrections(entries, parse_corrections(corrections), analyzer)
    for name in (FILE, CORRECTIONS):
        (build / name).unlink(missing_ok=True)
    if corrections:
        (build / CORRECTIONS).write_bytes(corrections)
    return write_glossary(build / FILE, corrected)


def stored_corrections(folder: Path) -> bytes:
    """Return the corrections an index was built with; empty where it has none."""
    path = folder / CORRECTIONS
    return path.read_bytes() if path.is_file() else b""


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
        """Return the encoder's settings; raises as :func:`~shrag.indexing.storage.vector_card.encoder_settings` does."""
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
            Phase("words", (TOKEN_STORE,), self._timed("word book", lambda: write_words(self.build))),
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
        with closing(TokenStore(self.build.index / TOKEN_STORE)) as book:
            analyzer = KoreanEnglishAnalyzer(book, self.choices.words)
            # A record that no worker survived is not read here either.
            rejected = rejected_docids(self.build)
            records = (record for record in read_parquet(self.records) if record.docid not in rejected)
            build_glossary(self.build.index, self.build.stage, records, analyzer, self.choices.corrections)

    def _write_vectors(self) -> None:
        from shrag.indexing.build.vectors_step import build_vectors

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
