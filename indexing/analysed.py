"""A record together with its terms, sentence by sentence: analysed once, when it is indexed, and never again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from shrag.corpora.records import Record
from shrag.corpora.sentences import split_sentences
from shrag.indexing.analysis import Analyzer


@dataclass(frozen=True, slots=True)
class AnalysedRecord:
    """``sentence_terms`` has one list for each sentence :func:`split_sentences` finds in the record's text."""

    record: Record
    title_terms: list[str]
    sentence_terms: list[list[str]]

    @property
    def contents_terms(self) -> list[str]:
        """The terms of title and text, as the contents field has them."""
        return [*self.title_terms, *chain.from_iterable(self.sentence_terms)]


def analyse_record(record: Record, analyzer: Analyzer) -> AnalysedRecord:
    """Analyse a record's title and each sentence of its text."""
    sentences = [record.text[span.start : span.end] for span in split_sentences(record.text)]
    title_terms, *sentence_terms = analyzer.terms([record.title, *sentences])
    return AnalysedRecord(record, title_terms, sentence_terms)
