"""AnalyzedRecord, its packed form, RecordStore protocol."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.models.reranker import Passage


class AnalysedRecord:
    """``sentence_terms`` has one list for each sentence :func:`split_sentences` finds in the record's text.

    A record that was stored has its terms as text until they are asked for: many searches show it and never do.
    """

    __slots__ = ("_sentences", "_terms", "_title", "record")

    def __init__(self, record: Record, title_terms: list[str], sentence_terms: list[list[str]]) -> None:
        self.record = record
        self._terms: tuple[list[str], list[list[str]]] | None = title_terms, sentence_terms
        self._title, self._sentences = "", list[str]()

    @classmethod
    def stored(cls, record: Record, title: str, sentences: list[str]) -> AnalysedRecord:
        """Return the same of terms with spaces between them."""
        analysed = cls(record, [], [])
        analysed._terms, analysed._title, analysed._sentences = None, title, sentences
        return analysed

    @property
    def title_terms(self) -> list[str]:
        """The terms of the title, in its order."""
        return self._split()[0]

    @property
    def sentence_terms(self) -> list[list[str]]:
        """The terms of each sentence, in its order."""
        return self._split()[1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnalysedRecord) and (self.record, self._split()) == (other.record, other._split())

    def __hash__(self) -> int:
        return hash(self.record)

    def __repr__(self) -> str:
        return f"AnalysedRecord({self.record!r}, {self.title_terms!r}, {self.sentence_terms!r})"

    def _split(self) -> tuple[list[str], list[list[str]]]:
        if self._terms is None:
            self._terms = self._title.split(), [sentence.split() for sentence in self._sentences]
        return self._terms

    @property
    def contents_terms(self) -> list[str]:
        """The terms of title and text, as the contents field has them."""
        return [*self.title_terms, *chain.from_iterable(self.sentence_terms)]


class PackedRecord(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """An analysed record as Lucene is given it: the terms of both fields joined by spaces, and what is stored."""

    docid: str
    title: str
    contents: str
    stored: bytes


class _Stored(msgspec.Struct, frozen=True):
    """What is stored of a record, as JSON. Terms hold no spaces, and a few long strings are read faster than many."""

    record: Record
    title: str
    sentences: list[str]


_DECODER = msgspec.json.Decoder(_Stored)


def analyse_record(
    record: Record, analyzer: Analyzer, before_part: Callable[[], None] = lambda: None
) -> AnalysedRecord:
    """Analyse a record's title and each sentence of its text, calling ``before_part`` before each of them."""
    parts: list[list[str]] = []
    for start, end in [(-1, -1), *split_sentences(record.text)]:
        before_part()
        parts += analyzer.terms([record.title if start < 0 else record.text[start:end]])
    return AnalysedRecord(record, parts[0], parts[1:])


def pack(analysed: AnalysedRecord) -> PackedRecord:
    """Return the record as Lucene is given it."""
    title = " ".join(analysed.title_terms)
    sentences = [" ".join(terms) for terms in analysed.sentence_terms]
    return PackedRecord(
        analysed.record.docid,
        title,
        " ".join([title, *sentences]),
        msgspec.json.encode(_Stored(analysed.record, title, sentences)),
    )


def unpack_stored(stored: bytes) -> AnalysedRecord:
    """Return the record as it was before :func:`pack`."""
    found = _DECODER.decode(stored)
    return AnalysedRecord.stored(found.record, found.title, found.sentences)


def as_passage(analysed: AnalysedRecord) -> Passage:
    """Return what encoders and re-rankers read of a record."""
    record = analysed.record
    return Passage(record.title, record.text, analysed.title_terms, analysed.sentence_terms, record.docid)
