"""Collect translation evidence from records, in bounded memory.

Several processes count ranges of records (:mod:`shrag.indexing.build.glossary_workers`), and the counts are added up in
order. Counts of parentheticals are flushed to a temporary SQLite file. Only a sample of the bilingual records is kept;
it does not depend on the records' order. Large counters drop rare words.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from shrag.corpora.ingest.ledger import ScratchDatabase
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.bilingual_fields import BilingualPair, pair_keywords, split_title
from shrag.indexing.glossary.parentheticals import AcronymExpansion, find_mentions
from shrag.indexing.glossary.store import phrase_terms

SAMPLED_RECORDS = 20_000
"""Most bilingual records to align. Their terms and the alignment take about 600 MB."""

_FLUSH_SIZE = 50_000
_MAX_COUNTED_WORDS = 400_000
_ENGLISH_WORD = re.compile("[A-Za-z][a-z]{2,29}")
_KOREAN_WORD = re.compile("[\uac00-\ud7a3]{2,12}")


class TermContext(NamedTuple):
    """Korean words before a bracket, the English text in it, and the number of records with both.

    If ``exact``, the words are the whole term. Otherwise they end with the term and may begin with words before it.
    """

    words: tuple[str, ...]
    english: str
    exact: bool
    records: int


class CountedEvidence(NamedTuple):
    """The evidence of some records.

    Attributes:
        contexts: Terms of an English phrase, Korean words, English text, whether exact → records.
        expansions: Term of an acronym, phrase, the acronym as written without a plural's s → records.
        keywords: Korean and English keyword → records.
        english_words: English word → records.
        korean_words: Korean word → records.
        bilingual: A hash of the docid, the docid, the Korean and the English text of each bilingual record.
    """

    contexts: list[tuple[tuple[str, str, str, bool], int]]
    expansions: list[tuple[tuple[str, str, str], int]]
    keywords: list[tuple[BilingualPair, int]]
    english_words: dict[str, int]
    korean_words: dict[str, int]
    bilingual: list[tuple[int, str, str, str]]


def count_evidence(records: Iterable[Record], analyzer: Analyzer) -> CountedEvidence:
    """Collect the evidence of some records."""
    contexts: Counter[tuple[str, str, str, bool]] = Counter()
    expansions: Counter[tuple[str, str, str]] = Counter()
    keywords: Counter[BilingualPair] = Counter()
    english_words, korean_words = Counter[str](), Counter[str]()
    bilingual: list[tuple[int, str, str, str]] = []
    for record in records:
        both = f"{record.title}\n{record.text}"
        for mention in set(find_mentions(both)):
            if isinstance(mention, AcronymExpansion):
                if acronym := " ".join(phrase_terms(analyzer, mention.acronym)):
                    expansions[acronym, mention.phrase.lower(), mention.acronym.removesuffix("s")] += 1
            elif terms := " ".join(phrase_terms(analyzer, mention.english)):
                contexts[terms, " ".join(mention.korean), mention.english, mention.exact] += 1
        keywords.update(set(pair_keywords(record.text, record.keywords)))
        english_words.update(set(_ENGLISH_WORD.findall(both)))
        korean_words.update(set(_KOREAN_WORD.findall(both)))
        if (texts := split_title(record.title) or _bilingual_record(record)) is not None:
            digest = int.from_bytes(hashlib.blake2b(record.docid.encode(), digest_size=8).digest())
            bilingual.append((digest, record.docid, texts.korean, texts.english))
    # Sorted: the order of a set of texts differs from process to process.
    counted = sorted(contexts.items()), sorted(expansions.items()), sorted(keywords.items())
    return CountedEvidence(*counted, english_words, korean_words, bilingual)


_WORD = re.compile("[a-z0-9]+")
_LEAST_EXPANDED = 2
_LEAST_SHARE = 0.6


class EvidenceCollector(ScratchDatabase):
    """Adds up evidence. Call :meth:`add` for the evidence of all records, then read the results."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(
            scratch,
            "contexts (terms TEXT, words TEXT, english TEXT, exact INTEGER, count INTEGER, "
            "PRIMARY KEY (terms, words, english, exact)) WITHOUT ROWID",
            "expansions (acronym TEXT, phrase TEXT, written TEXT, count INTEGER, "
            "PRIMARY KEY (acronym, phrase, written)) WITHOUT ROWID",
        )
        self._contexts: Counter[tuple[str, str, str, bool]] = Counter()
        self._expansions: Counter[tuple[str, str, str]] = Counter()
        self._sample: list[tuple[int, str, str, str]] = []
        self.keywords: Counter[BilingualPair] = Counter()
        self.english_words: Counter[str] = Counter()
        self.korean_words: Counter[str] = Counter()

    def add(self, counted: CountedEvidence) -> None:
        """Add the evidence of further records."""
        self._contexts.update(dict(counted.contexts))
        self._expansions.update(dict(counted.expansions))
        if len(self._contexts) + len(self._expansions) >= _FLUSH_SIZE:
            self._flush()
        self.keywords.update(dict(counted.keywords))
        self.english_words.update(counted.english_words)
        self.korean_words.update(counted.korean_words)
        _prune(self.keywords)
        _prune(self.english_words)
        _prune(self.korean_words)
        # The records with the smallest hashes: the sample does not depend on the records' order.
        for digest, docid, korean, english in counted.bilingual:
            entry = -digest, docid, korean, english
            if len(self._sample) < SAMPLED_RECORDS:
                heapq.heappush(self._sample, entry)
            elif entry > self._sample[0]:
                heapq.heapreplace(self._sample, entry)

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

    def expansions(self) -> dict[str, str]:
        """Return for each acronym's term its most frequent expansion."""
        return {acronym: phrases[0][0] for acronym, phrases in self._phrases_of_acronyms()}

    def acronyms(self, analyzer: Analyzer) -> list[tuple[str, str]]:
        """Return the acronyms that have one usual expansion in the records, as written, and that expansion."""
        usual: list[tuple[str, str]] = []
        for acronym, phrases in self._phrases_of_acronyms():
            spellings: dict[tuple[str, ...], tuple[str, str]] = {}
            counts = Counter[tuple[str, ...]]()
            for phrase, written, count in phrases:
                terms = phrase_terms(analyzer, phrase)
                spellings.setdefault(terms, (written, phrase))
                counts[terms] += count
            terms, count = counts.most_common(1)[0]
            written, phrase = spellings[terms]
            initials = "".join(word[0] for word in _WORD.findall(phrase))
            # The term of IDS, intrusion detection system, is that of ID.
            if count >= max(_LEAST_EXPANDED, _LEAST_SHARE * counts.total()) and initials != f"{acronym}s":
                usual.append((written, phrase))
        return usual

    def _phrases_of_acronyms(self) -> Iterator[tuple[str, list[tuple[str, str, int]]]]:
        """Yield each acronym's term, sorted, with its expansions, the most frequent first.

        Each expansion has the acronym as it is most often written beside it, and its count.
        """
        self._flush()
        rows = self._database.execute("SELECT acronym, phrase, written, count FROM expansions ORDER BY 1, 2, 3")
        for acronym, group in groupby(rows, key=lambda row: str(row[0])):
            phrases: dict[str, Counter[str]] = {}
            for _, phrase, written, count in group:
                phrases.setdefault(phrase, Counter())[written] = count
            found = [(phrase, counts.most_common(1)[0][0], counts.total()) for phrase, counts in phrases.items()]
            yield acronym, sorted(found, key=lambda each: (-each[2], each[0]))

    def bilingual_texts(self) -> Iterator[BilingualPair]:
        """Yield the sampled bilingual titles and records as pairs of texts."""
        for _, _, korean, english in sorted(self._sample):
            yield BilingualPair(korean, english)

    def _flush(self) -> None:
        self._database.executemany(
            "INSERT INTO contexts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            ((*key, count) for key, count in self._contexts.items()),
        )
        self._database.executemany(
            "INSERT INTO expansions VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            ((*key, count) for key, count in self._expansions.items()),
        )
        self._contexts.clear()
        self._expansions.clear()


def _bilingual_record(record: Record) -> BilingualPair | None:
    """Return a record's title and text, Korean first, if one is Korean and the other English; else None."""
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
