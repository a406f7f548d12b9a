"""Verify citations: check whether the records that a sentence cites support it.

A sentence is supported if the cited records have its numbers, names and quotations, and share enough words with it.
Translations by the index's glossary count as shared words. A supported sentence is not always true: it may negate what
it copied. Sentences that are not supported are marked, whoever wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.analyzer import fold
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.serving.answering.number_words import has_number_word
from shrag.serving.events import Answer, Citation, Section, Sentence, SentenceIssue
from shrag.serving.retrieval.query_terms import matched_share, text_terms

LEAST_SHARED = 0.3
"""Least share of a sentence's words, by idf, that the cited records have, if they are in its language.

Sentences that reach it, of 300 in each language (``python -m bench.quality.citation_threshold``):

- with their own record: all;
- with a random record of the demonstration: 0 in 1,000 Korean and 3 in 1,000 English ones;
- with a random one of 4,219 ScienceON records: 40 and 13 in 1,000.

The rest of the scale leaves room for paraphrase.
"""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-./&+][A-Za-z0-9]+)*")
_NOT_WORD = re.compile(r"[^0-9a-z\u3131-\u318e\uac00-\ud7a3\u4e00-\u9fff]+")
_QUOTED = re.compile('“([^“”]{8,})”|"([^"]{8,})"|「([^「」]{8,})」|『([^『』]{8,})』|‘([^‘’]{8,})’')


@dataclass(frozen=True)
class _Cited:
    """The records that one sentence cites, taken together."""

    records: Sequence[AnalyzedRecord]

    @cached_property
    def text(self) -> str:
        return fold(
            "\n".join(
                part
                for each in self.records
                for part in (
                    each.record.title,
                    each.record.text,
                    each.record.journal,
                    str(each.record.year or ""),
                    " ".join(each.record.authors),
                    " ".join(each.record.keywords),
                )
            )
        )

    @cached_property
    def compact(self) -> str:
        """Letters and digits only: COVID-19, COVID 19 and covid19 are equal."""
        return _NOT_WORD.sub("", self.text.lower())

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(_numbers(self.text))

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(chain.from_iterable(each.contents_terms for each in self.records))

    def has(self, text: str) -> bool:
        """Return whether the records contain ``text``, ignoring letter case, spaces and punctuation."""
        return _NOT_WORD.sub("", text.lower()) in self.compact

    def speaks(self, language: str) -> bool:
        """Return whether one of the records has text or a title in that language."""
        return any(language in (each.record.language, detect_language(each.record.title)) for each in self.records)


def find_issue(sentence: Sentence, evidence: Sequence[AnalyzedRecord], index: OpenIndex) -> SentenceIssue:
    """Return why ``evidence``, numbered from 1, does not support a sentence; empty if it does."""
    if not sentence.citations:
        return "no_citation"
    if any(not 1 <= number <= len(evidence) for number in sentence.citations):
        return "no_such_record"
    return _first_issue(sentence.text, _Cited([evidence[number - 1] for number in sentence.citations]), index)


def _first_issue(written: str, cited: _Cited, index: OpenIndex) -> SentenceIssue:
    text = fold(written)
    if not all(_has_number(number, cited) for number in _numbers(text)):
        return "number"
    if not all(cited.has(name) for name in _names(text, english=cited.speaks("en"))):
        return "name"
    # Quotations are found before folding, which turns ‘ and ’ into apostrophes.
    if not all(cited.has(fold(next(filter(None, quoted.groups())))) for quoted in _QUOTED.finditer(written)):
        return "quote"
    words = text_terms(written, index) if cited.speaks(detect_language(written)) else []
    return "unrelated" if words and matched_share(words, cited.terms) < LEAST_SHARED else ""


def _numbers(text: str) -> list[str]:
    """Return the numbers of a text without separators of thousands: 1,200 and 1200 are equal."""
    return [_THOUSANDS.sub("", number) for number in _NUMBER.findall(text)]


def _has_number(number: str, cited: _Cited) -> bool:
    return number in cited.numbers or has_number_word(number, cited.text)


def _names(text: str, *, english: bool) -> list[str]:
    """Return the names in Latin letters: acronyms and words with a digit, which every language writes alike.

    With ``english``, they include capitalized words inside a sentence, and in a Korean sentence Latin words of more
    than two letters. Korean records write such names in Hangul.
    """
    korean = detect_language(text) == "ko"
    found: list[str] = []
    for match in _LATIN.finditer(text):
        word = match.group()
        marked = sum(letter.isupper() for letter in word) > 1 or any(letter.isdigit() for letter in word)
        inside = text[: match.start()].rstrip(" \"'“‘(") != ""
        if marked or (english and ((korean and len(word) > 2) or (inside and word[0].isupper()))):
            found.append(word)
    return found


def verify_quotes(answer: Answer, evidence: Sequence[Record]) -> Answer:
    """Return an extractive answer with each sentence marked as supported or not by ``evidence``, numbered from 1.

    A sentence is supported if each record that it cites contains it verbatim, in the title or the text.
    """
    return replace(
        answer,
        sections=tuple(
            replace(section, sentences=tuple(_verify_quote(sentence, evidence) for sentence in section.sentences))
            for section in answer.sections
        ),
    )


def verify_support(sentence: Sentence, evidence: Sequence[AnalyzedRecord], index: OpenIndex) -> Sentence:
    """Return a model's sentence marked as supported or not, without citations of records that do not exist."""
    issue = find_issue(sentence, evidence, index)
    existing = tuple(number for number in sentence.citations if 1 <= number <= len(evidence))
    return replace(sentence, citations=existing, supported=not issue, issue=issue)


def make_citations(sections: Sequence[Section], records: Sequence[Record]) -> tuple[Citation, ...]:
    """Return the citations in ``sections`` and their sentences, by number; ``records`` are numbered from 1."""
    by_sentences = {number for section in sections for each in section.sentences for number in each.citations}
    cited = sorted(by_sentences | {section.source.number for section in sections if section.source is not None})
    return tuple(cite(number, records[number - 1]) for number in cited)


def cite(number: int, record: Record) -> Citation:
    """Return the citation of ``record`` under ``number``."""
    return Citation(number, record.docid, record.title, record.page)


def number_in_order(answer: Answer) -> Answer:
    """Return an extractive answer whose citations are numbered from 1, in the order of its sections."""
    numbers: dict[int, int] = {}
    for section in answer.sections:
        if section.source is not None:
            numbers.setdefault(section.source.number, len(numbers) + 1)
    sections = [
        replace(
            section,
            source=section.source and replace(section.source, number=numbers[section.source.number]),
            sentences=tuple(
                replace(each, citations=tuple(numbers[number] for number in each.citations))
                for each in section.sentences
            ),
        )
        for section in answer.sections
    ]
    cited = {each.number: each for each in answer.citations}
    citations = tuple(replace(cited[old], number=new) for old, new in numbers.items())
    return replace(answer, sections=tuple(sections), citations=citations)


def citation_precision(answer: Answer) -> float | None:
    """Return the share of citations whose sentences are supported, None without a citation.

    It measures answers of a language model, since sentences quoted from a record are always in it. The citation of a
    record that does not exist counts as unsupported.
    """
    supported = total = 0
    for section in answer.sections:
        for sentence in section.sentences:
            cited = len(sentence.citations) or sentence.issue == "no_such_record"
            total += cited
            supported += cited * sentence.supported
    return supported / total if total else None


def _verify_quote(sentence: Sentence, evidence: Sequence[Record]) -> Sentence:
    issue: SentenceIssue = ""
    for number in sentence.citations:
        if not 1 <= number <= len(evidence):
            issue = "no_such_record"
        elif sentence.text not in evidence[number - 1].text and sentence.text not in evidence[number - 1].title:
            issue = issue or "quote"
    return replace(sentence, supported=not issue, issue=issue)
