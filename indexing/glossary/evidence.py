"""Collect translation evidence from records, in bounded memory.

Counts of parentheticals are flushed to a temporary SQLite file; of bilingual records a sample is kept that does not
depend on the records' order; rare words are dropped from large counters.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from shrag.corpora.ingest.ledger import ScratchDatabase
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.bilingual_fields import BilingualPair, pair_keywords, split_title
from shrag.indexing.glossary.parentheticals import AcronymExpansion, TermMention, find_mentions
from shrag.indexing.glossary.store import phrase_terms

SAMPLED_RECORDS = 20_000
"""Bilingual records to align; their terms and the alignment take about 600 MB."""

_FLUSH_SIZE = 50_000
_MAX_COUNTED_WORDS = 400_000
_ENGLISH_WORD = re.compile("[A-Za-z][a-z]{2,29}")
_KOREAN_WORD = re.compile("[\uac00-\ud7a3]{2,12}")


class TermContext(NamedTuple):
    """Korean words before a bracket, the English text in it, and the number of records with both.

    With ``exact`` the words are the whole term; else words before the term may be among them.
    """

    words: tuple[str, ...]
    english: str
    exact: bool
    records: int


class EvidenceCollector(ScratchDatabase):
    """Collects evidence: call :meth:`add` for every record, then read the results."""

    def __init__(self, analyzer: Analyzer, scratch: Path) -> None:
        super().__init__(
            scratch,
            "contexts (terms TEXT, words TEXT, english TEXT, exact INTEGER, count INTEGER, "
            "PRIMARY KEY (terms, words, english, exact)) WITHOUT ROWID",
            "expansions (acronym TEXT, phrase TEXT, count INTEGER, PRIMARY KEY (acronym, phrase)) WITHOUT ROWID",
        )
        self._analyzer = analyzer
        self._contexts: Counter[tuple[str, str, str, bool]] = Counter()
        self._expansions: Counter[tuple[str, str]] = Counter()
        self._sample: list[tuple[int, str, str, str]] = []
        self.keywords: Counter[BilingualPair] = Counter()
        self.english_words: Counter[str] = Counter()
        self.korean_words: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Add one record's evidence."""
        both = f"{record.title}\n{record.text}"
        for mention in set(find_mentions(both)):
            self._count(mention)
        if len(self._contexts) + len(self._expansions) >= _FLUSH_SIZE:
            self._flush()
        self.keywords.update(set(pair_keywords(record.text, getattr(record, "keywords", ()))))
        _prune(self.keywords)
        self.english_words.update(set(_ENGLISH_WORD.findall(both)))
        self.korean_words.update(set(_KOREAN_WORD.findall(both)))
        _prune(self.english_words)
        _prune(self.korean_words)
        self._sample_record(record)

    def contexts(self) -> Iterator[tuple[tuple[str, ...], list[TermContext]]]:
        """Yield the terms of each English phrase with all its contexts, sorted."""
        self._flush()
        rows = self._database.execute("SELECT terms, words, english, exact, count FROM contexts ORDER BY 1, 2, 3, 4")
        for terms, group in groupby(rows, key=lambda row: str(row[0])):
            yield (
                tuple(terms.split()),
                [
                    TermContext(tuple(words.split()), english, bool(exact), count)
                    for _, words, english, exact, count in group
                ],
            )

    def expansions(self) -> dict[str, tuple[str, int]]:
        """Return for each acronym's term its most frequent expansion and the number of records with it."""
        self._flush()
        rows = self._database.execute(
            "SELECT acronym, phrase, count FROM expansions ORDER BY acronym, count DESC, phrase"
        )
        best: dict[str, tuple[str, int]] = {}
        for acronym, phrase, count in rows:
            best.setdefault(acronym, (phrase, count))
        return best

    def bilingual_texts(self) -> Iterator[BilingualPair]:
        """Yield the sampled bilingual titles and records as pairs of texts."""
        for _, _, korean, english in sorted(self._sample):
            yield BilingualPair(korean, english)

    def _count(self, mention: TermMention | AcronymExpansion) -> None:
        if isinstance(mention, AcronymExpansion):
            acronym = " ".join(phrase_terms(self._analyzer, mention.acronym))
            if acronym:
                self._expansions[acronym, mention.phrase.lower()] += 1
            return
        terms = " ".join(phrase_terms(self._analyzer, mention.english))
        if terms:
            self._contexts[terms, " ".join(mention.korean), mention.english, mention.exact] += 1

    def _flush(self) -> None:
        self._database.executemany(
            "INSERT INTO contexts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            ((*key, count) for key, count in self._contexts.items()),
        )
        self._database.executemany(
            "INSERT INTO expansions VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            ((*key, count) for key, count in self._expansions.items()),
        )
        self._contexts.clear()
        self._expansions.clear()

    def _sample_record(self, record: Record) -> None:
        texts = split_title(record.title) or _bilingual_record(record)
        if texts is None:
            return
        # The records with the smallest hashes: the sample does not depend on the records' order.
        digest = int.from_bytes(hashlib.blake2b(record.docid.encode(), digest_size=8).digest())
        entry = (-digest, record.docid, texts.korean, texts.english)
        if len(self._sample) < SAMPLED_RECORDS:
            heapq.heappush(self._sample, entry)
        elif entry > self._sample[0]:
            heapq.heapreplace(self._sample, entry)


def _bilingual_record(record: Record) -> BilingualPair | None:
    """Return title and text, Korean first, where one is Korean and the other English."""
    title = detect_language(record.title)
    if title == "und" or (title == record.language and len(record.text) > len(record.title)):
        return None
    text = detect_language(record.text)
    if title == "ko" and text == "en":
        return BilingualPair(record.title, record.text)
    return BilingualPair(record.text, record.title) if title == "en" and text == "ko" else None


_Key = TypeVar("_Key")


def _prune(counter: Counter[_Key]) -> None:
    """Drop the keys with a count of 1 from a counter that is too large."""
    if len(counter) > _MAX_COUNTED_WORDS:
        for key in [key for key, count in counter.items() if count == 1]:
            del counter[key]
