"""AnalyzedRecord, its packed form for Lucene, and the RecordStore protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Protocol

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.filter_fields import write_record_fields
from shrag.models.reranker import Passage


class AnalyzedRecord(msgspec.Struct, frozen=True, dict=True):
    """A stored record, with the terms of its title and of each sentence of its text.

    ``sentences`` are those of :func:`split_sentences`. Terms are joined by spaces, because a few long strings are
    decoded faster than many short ones, and many searches do not use the terms.
    """

    record: Record
    title: str
    sentences: tuple[str, ...]

    @cached_property
    def title_terms(self) -> list[str]:
        """The terms of the title in order."""
        return self.title.split()

    @cached_property
    def sentence_terms(self) -> list[list[str]]:
        """The terms of each sentence in order."""
        return [sentence.split() for sentence in self.sentences]

    @property
    def contents_terms(self) -> list[str]:
        """The terms of title and text."""
        return [*self.title_terms, *chain.from_iterable(self.sentence_terms)]


class PackedRecord(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """An analyzed record for Lucene.

    Attributes:
        docid: Its identifier.
        title: The terms of the title, joined by spaces.
        contents: A line with the terms of the title, and a line for each sentence.
        raw: The record as JSON, on one line.
        fields: The values by which it is filtered and counted (:mod:`shrag.indexing.filter_fields`).
    """

    docid: str
    title: str
    contents: str
    raw: str
    fields: str


def analyze_record(
    record: Record, analyzer: Analyzer, before_part: Callable[[], None] = lambda: None
) -> AnalyzedRecord:
    """Analyze a record's title and each sentence of its text, calling ``before_part`` before each of them."""
    before_part()
    (title,) = analyzer.terms([record.title])
    sentences: list[str] = []
    for start, end in split_sentences(record.text):
        before_part()
        (terms,) = analyzer.terms([record.text[start:end]])
        sentences.append(" ".join(terms))
    return AnalyzedRecord(record, " ".join(title), tuple(sentences))


def pack_record(analyzed: AnalyzedRecord) -> PackedRecord:
    """Pack a record for Lucene."""
    contents = "\n".join([analyzed.title, *analyzed.sentences])
    record = analyzed.record
    raw = msgspec.json.encode(record).decode()
    return PackedRecord(record.docid, analyzed.title, contents, raw, write_record_fields(record))


_decode_raw = msgspec.json.Decoder(Record).decode


def decode_record(stored: bytes) -> AnalyzedRecord:
    """Decode a record from ``raw``, a newline and ``contents`` of a :class:`PackedRecord`, in UTF-8."""
    raw, _, contents = stored.partition(b"\n")
    title, *sentences = contents.decode().split("\n")
    return AnalyzedRecord(_decode_raw(raw), title, tuple(sentences))


def to_passage(analyzed: AnalyzedRecord) -> Passage:
    """Return the passage of a record, for encoders and re-rankers."""
    record = analyzed.record
    return Passage(
        record.title, record.text, analyzed.title_terms, analyzed.sentence_terms, record.docid, record.language
    )


class RecordStore(Protocol):
    """The records of an index with their terms. Thread-safe."""

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """Return the record of each docid, or None if there is none."""

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """Return at most ``most`` different records, evenly spread over the index, the same each time."""
