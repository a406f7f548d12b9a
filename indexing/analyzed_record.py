"""AnalyzedRecord, its packed form, RecordStore protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Protocol

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.models.reranker import Passage


class AnalyzedRecord(msgspec.Struct, frozen=True, dict=True):
    """A record as it is stored: the terms of its title and of each sentence of its text, with spaces between them.

    ``sentences`` has one string for each sentence that :func:`split_sentences` finds in the record's text. Terms hold
    no spaces, a few long strings are read faster than many short ones, and many searches never look at the terms.
    """

    record: Record
    title: str
    sentences: tuple[str, ...]

    @cached_property
    def title_terms(self) -> list[str]:
        """The terms of the title, in its order."""
        return self.title.split()

    @cached_property
    def sentence_terms(self) -> list[list[str]]:
        """The terms of each sentence, in its order."""
        return [sentence.split() for sentence in self.sentences]

    @property
    def contents_terms(self) -> list[str]:
        """The terms of title and text, as the contents field has them."""
        return [*self.title_terms, *chain.from_iterable(self.sentence_terms)]


class PackedRecord(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """An analysed record as Lucene gets it: the terms of both fields, and :class:`AnalyzedRecord` as JSON."""

    docid: str
    title: str
    contents: str
    stored: bytes


def analyze_record(
    record: Record, analyzer: Analyzer, before_part: Callable[[], None] = lambda: None
) -> AnalyzedRecord:
    """Analyse a record's title and each sentence of its text, calling ``before_part`` before each of them."""
    before_part()
    (title,) = analyzer.terms([record.title])
    sentences: list[str] = []
    for start, end in split_sentences(record.text):
        before_part()
        (terms,) = analyzer.terms([record.text[start:end]])
        sentences.append(" ".join(terms))
    return AnalyzedRecord(record, " ".join(title), tuple(sentences))


def pack_record(analysed: AnalyzedRecord) -> PackedRecord:
    """Return the record as Lucene gets it."""
    contents = " ".join([analysed.title, *analysed.sentences])
    return PackedRecord(analysed.record.docid, analysed.title, contents, msgspec.json.encode(analysed))


decode_record: Callable[[bytes], AnalyzedRecord] = msgspec.json.Decoder(AnalyzedRecord).decode
"""Return the record whose :class:`PackedRecord` has these bytes stored."""


def to_passage(analysed: AnalyzedRecord) -> Passage:
    """Return what encoders and re-rankers read of a record."""
    record = analysed.record
    return Passage(record.title, record.text, analysed.title_terms, analysed.sentence_terms, record.docid)


class RecordStore(Protocol):
    """Gives back the records that were indexed, with their terms. Safe to share between threads."""

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """Return the record of each docid, None where the index has none."""

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """Return at most ``most`` different records from all over the index, the same each time."""
