"""Collect the words of a corpus that are, or may have, transliterations: English words, names, Korean nouns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.spelling.model import has_loanword_syllable, loanword_log_odds

_MAX_COUNTED = 400_000
_MAX_WORDS = 200_000
"""Most words of each kind, the most frequent ones."""
_MIN_PHRASE_COUNT = 2
_MIN_LOG_ODDS = 1.0
"""Least log-odds of a Korean noun that is kept as a possible loanword."""
_ENGLISH = re.compile("[A-Za-z][a-z]{2,23}")
_NAME = re.compile(r"(?=\b([A-Z][a-z]{1,14} [A-Z][a-z]{1,14})\b)")
_HYPHENATED = re.compile(r"\b[A-Za-z][a-z]{1,14}-[a-z]{2,14}\b")
_KOREAN = re.compile("[\uac00-\ud7a3]{2,12}")


class SpelledWord(NamedTuple):
    """A word or name of the corpus.

    Attributes:
        text: As written, in lower case.
        letters: The same without space or hyphen.
        terms: Its index terms, separated by spaces.
        frequency: The number of records with a word, or of occurrences of a name or a word with a hyphen.
    """

    text: str
    letters: str
    terms: str
    frequency: int


class SpellingCounts(NamedTuple):
    """The counts of some records' words: English ones, names and words with a hyphen, Korean ones."""

    english: dict[str, int]
    phrases: dict[str, int]
    korean: dict[str, int]


def count_spellings(records: Iterable[Record]) -> SpellingCounts:
    """Count the words of records."""
    english, phrases, korean = Counter[str](), Counter[str](), Counter[str]()
    for record in records:
        text = f"{record.title}\n{record.text}"
        english.update({word.lower() for word in _ENGLISH.findall(text)})
        # All occurrences count, because a name that matters may be in one record only.
        phrases.update(name.lower() for name in _NAME.findall(text))
        phrases.update(word.lower() for word in _HYPHENATED.findall(text))
        korean.update(set(_KOREAN.findall(text)))
    return SpellingCounts(english, phrases, {word: korean[word] for word in korean if has_loanword_syllable(word)})


class SpellingCollector:
    """Adds up the words of records, in bounded memory; rare words are dropped from large counters."""

    def __init__(self) -> None:
        self._english: Counter[str] = Counter()
        self._phrases: Counter[str] = Counter()
        self._korean: Counter[str] = Counter()

    def add(self, counts: SpellingCounts) -> None:
        """Add the counts of further records."""
        for counter, more in zip((self._english, self._phrases, self._korean), counts, strict=True):
            counter.update(more)
            if len(counter) > _MAX_COUNTED:
                for key in [key for key, count in counter.items() if count == 1]:
                    del counter[key]

    def counts(self) -> SpellingCounts:
        """Return the sums; another collector that adds them has the same words."""
        return SpellingCounts(self._english, self._phrases, self._korean)

    def english_words(self, analyzer: Analyzer) -> Iterator[SpelledWord]:
        """Yield English words, capitalized names of two words, and words with a hyphen."""
        words = _most_common(self._english)
        for (text, count), terms in zip(words, analyzer.terms([text for text, _ in words]), strict=True):
            if len(terms) == 1:
                yield SpelledWord(text, text, terms[0], count)
        phrases = [pair for pair in _most_common(self._phrases) if pair[1] >= _MIN_PHRASE_COUNT]
        for (text, count), tokens in zip(phrases, analyzer.tokens([text for text, _ in phrases]), strict=True):
            if " " in text and len(tokens) == 2:
                yield SpelledWord(text, text.replace(" ", ""), " ".join(token.term for token in tokens), count)
            whole = [token.term for token in tokens if token.end - token.start == len(text)]
            if "-" in text and whole:
                yield SpelledWord(text, text.replace("-", ""), whole[0], count)

    def korean_words(self, analyzer: Analyzer) -> Iterator[SpelledWord]:
        """Yield Korean nouns and compounds that may be loanwords."""
        found: Counter[str] = Counter()
        words = list(self._korean)
        for word, tokens in zip(words, analyzer.tokens(words), strict=True):
            for term in {token.term for token in tokens if token.kind in ("noun", "compound")}:
                if _KOREAN.fullmatch(term) and loanword_log_odds(term) >= _MIN_LOG_ODDS:
                    found[term] += self._korean[word]
        for term, count in _most_common(found):
            yield SpelledWord(term, term, term, count)


def _most_common(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))[:_MAX_WORDS]
