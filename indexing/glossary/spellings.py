"""Spellings of an index's vocabulary, to recognize transliterations in a question.

The glossary file has the English words and names and the Korean nouns of the records by the consonants that a
transliteration keeps. A word of a question that the glossary does not translate is compared with those of the same
consonants. The posterior probability that one of them is its origin (or its transliteration) weighs the evidence of the
spelling (:mod:`~shrag.indexing.glossary.transliteration_model`) against chance: the number of words in the index, and
how likely the Korean word is a loanword at all.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.transliteration_model import (
    KoreanWord,
    LetterModel,
    loanword_log_odds,
    spelling_keys,
)

_MAX_COUNTED = 400_000
_MAX_WORDS = 200_000
"""Most words of a language in the table, the most frequent ones."""
_MIN_NAME_COUNT = 2
_ENGLISH = re.compile("[A-Za-z][a-z]{2,23}")
_NAME = re.compile("(?=\\b([A-Z][a-z]{1,14} [A-Z][a-z]{1,14})\\b)")
_KOREAN = re.compile("[\uac00-\ud7a3]{2,12}")
_MIN_LOG_ODDS = -1.0
"""Of the index's Korean nouns, those less likely to be loanwords are left out."""

_PRIOR_LOG_ODDS = -3.0
_MIN_PROBABILITY = 0.6
_MIN_SHARE = 0.25
_MOST = 3
_SUFFIX = frozenset("인어족군주증과산형식법론시강섬제팀호")
_SUFFIX_LOG_ODDS = -2.0
_KOREAN_KEY = "~"


class Spelling(NamedTuple):
    """A word, or a name of two words, of the index that a word of a question transliterates.

    Attributes:
        text: As written, in lower case.
        terms: Its index terms.
        probability: The posterior probability of the transliteration.
    """

    text: str
    terms: tuple[str, ...]
    probability: float


class SpellingCollector:
    """Counts the words of records, in bounded memory; rare words are dropped from large counters."""

    def __init__(self) -> None:
        self.english: Counter[str] = Counter()
        self.names: Counter[str] = Counter()
        self.korean: Counter[str] = Counter()

    def observe(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records unchanged and count their words."""
        for record in records:
            text = f"{record.title}\n{record.text}"
            self.english.update({word.lower() for word in _ENGLISH.findall(text)})
            self.names.update({name.lower() for name in _NAME.findall(text)})
            self.korean.update(set(_KOREAN.findall(text)))
            for counter in (self.english, self.names, self.korean):
                if len(counter) > _MAX_COUNTED:
                    for key in [key for key, count in counter.items() if count == 1]:
                        del counter[key]
            yield record


def write_spellings(
    path: Path, words: SpellingCollector, analyzer: Analyzer, removed: Iterable[tuple[str, str]] = ()
) -> int:
    """Add the table of spellings to a glossary file.

    Args:
        path: The file that :func:`~shrag.indexing.glossary.store.write_glossary` wrote.
        words: The counted words.
        analyzer: The index's analyzer.
        removed: Pairs of a Korean word and an English word or name in lower case that the user removed.

    Returns:
        The number of words and names.
    """
    english = _english_words(words, analyzer)
    korean = _korean_words(words.korean, analyzer)
    letters = LetterModel.of_words(text for text, _, _ in english if " " not in text)
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE spellings (id INTEGER PRIMARY KEY, text TEXT, terms TEXT, weight REAL)")
        database.execute("CREATE TABLE spelling_keys (key TEXT, id INTEGER, PRIMARY KEY (key, id)) WITHOUT ROWID")
        database.execute("CREATE TABLE removed_spellings (korean TEXT, english TEXT)")
        database.execute("CREATE TABLE letter_costs (pair TEXT PRIMARY KEY, cost REAL) WITHOUT ROWID")
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO letter_costs VALUES (?, ?)",
            [(pair, round(cost, 2)) for pair, cost in sorted(letters.costs.items())],
        )
        database.executemany("INSERT INTO removed_spellings VALUES (?, ?)", sorted(removed))
        number = 0
        for language, prefix in ((english, ""), (korean, _KOREAN_KEY)):
            total = sum(math.sqrt(count) for _, _, count in language)
            for text, terms, count in language:
                keys = spelling_keys(text.replace(" ", "")) if language is english else KoreanWord(text).keys
                if keys:
                    number += 1
                    weight = math.log(math.sqrt(count) / total)
                    weight += letters.cost(text.replace(" ", "")) if language is english else loanword_log_odds(text)
                    row = (number, text, terms, round(weight, 2))
                    database.execute("INSERT INTO spellings VALUES (?, ?, ?, ?)", row)
                    database.executemany(
                        "INSERT INTO spelling_keys VALUES (?, ?)", [(prefix + key, number) for key in keys]
                    )
        database.execute("COMMIT")
        return number
    finally:
        database.close()


_Word = tuple[str, str, int]
"""A text, its terms with spaces, and the number of records."""


def _english_words(words: SpellingCollector, analyzer: Analyzer) -> list[_Word]:
    names = Counter({name: count for name, count in words.names.items() if count >= _MIN_NAME_COUNT})
    found: list[_Word] = []
    for counter, size in ((words.english, 1), (names, 2)):
        common = _most_common(counter)
        for (text, count), terms in zip(common, analyzer.terms([text for text, _ in common]), strict=True):
            if len(terms) == size:
                found.append((text, " ".join(terms), count))
    return found


def _korean_words(counts: Counter[str], analyzer: Analyzer) -> list[_Word]:
    """Return the nouns and compounds that may be loanwords."""
    found: Counter[str] = Counter()
    words = list(counts)
    for word, tokens in zip(words, analyzer.tokens(words), strict=True):
        for term in {token.term for token in tokens if token.kind in ("noun", "compound")}:
            if len(term) > 1 and _KOREAN.fullmatch(term) and loanword_log_odds(term) >= _MIN_LOG_ODDS:
                found[term] += counts[word]
    return [(term, term, count) for term, count in _most_common(found)]


def _most_common(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))[:_MAX_WORDS]


class SpellingTable:
    """Reads the table of spellings; the caller makes threads take turns.

    A glossary file without the table, of an earlier version, gives no spellings.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @cached_property
    def _letters(self) -> LetterModel | None:
        tables = self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'letter_costs'")
        if tables.fetchone() is None:
            return None
        return LetterModel(dict(self._database.execute("SELECT pair, cost FROM letter_costs")))

    @cached_property
    def _removed(self) -> frozenset[tuple[str, str]]:
        return frozenset(self._database.execute("SELECT korean, english FROM removed_spellings"))

    def of_korean(self, word: str) -> list[Spelling]:
        """Return the English words that a Korean one most likely transliterates, most likely first; mostly none.

        Args:
            word: Two or more Hangul syllables. A suffix such as 어, 주 or 증 may follow the transliteration.
        """
        found = self._english_origins(word, _PRIOR_LOG_ODDS)
        if not found and len(word) > 3 and word[-1] in _SUFFIX:
            found = self._english_origins(word[:-1], _PRIOR_LOG_ODDS + _SUFFIX_LOG_ODDS)
        return found

    def of_english(self, word: str) -> list[Spelling]:
        """Return the Korean words that most likely transliterate an English one in lower case; mostly none."""
        if self._letters is None:
            return []
        log_odds = _PRIOR_LOG_ODDS + self._letters.cost(word)
        rivals: list[_Rival] = []
        for text, terms, weight in self._candidates([_KOREAN_KEY + key for key in spelling_keys(word)]):
            cost = KoreanWord(text).spelling_cost(word, log_odds + weight - _NEGLIGIBLE)
            if cost is not None and (text, word) not in self._removed:
                rivals.append((text, terms, log_odds + weight - cost))
        return _posterior(rivals)

    def _english_origins(self, word: str, log_odds: float) -> list[Spelling]:
        log_odds += loanword_log_odds(word)
        korean = KoreanWord(word)
        if self._letters is None or log_odds + _GAIN_PER_SOUND * korean.num_sounds < _LEAST_GAIN:
            return []
        rivals: list[_Rival] = []
        for text, terms, weight in self._candidates(korean.keys):
            cost = korean.spelling_cost(text.replace(" ", ""), log_odds + weight - _NEGLIGIBLE)
            if cost is not None and (word, text) not in self._removed:
                rivals.append((text, terms, log_odds + weight - cost))
        return _posterior(rivals)

    def _candidates(self, keys: Iterable[str]) -> Iterable[tuple[str, str, float]]:
        found: dict[str, tuple[str, str, float]] = {}
        for key in keys:
            rows = self._database.execute(
                "SELECT text, terms, weight FROM spelling_keys JOIN spellings USING (id) WHERE key = ?", (key,)
            )
            found.update((row[0], row) for row in rows)
        return found.values()


_Rival = tuple[str, str, float]
"""A text, its terms with spaces, and its log-odds against the hypothesis that the word has no counterpart."""

_NEGLIGIBLE = -3.0
# No spelling is better evidence than this, in proportion to the sounds of the word: others need no comparison.
_GAIN_PER_SOUND, _LEAST_GAIN = 1.3, -0.6


def _posterior(rivals: Sequence[_Rival]) -> list[Spelling]:
    """Return the likely ones of rivals, one for each stem."""
    if not rivals:
        return []
    odds = [math.exp(min(50.0, score)) for _, _, score in rivals]
    total = 1 + sum(odds)
    if sum(odds) / total < _MIN_PROBABILITY:
        return []
    stems: dict[str, tuple[float, str, float]] = {}
    for (text, terms, _), each in zip(rivals, odds, strict=True):
        best, written, probability = stems.get(terms, (0.0, text, 0.0))
        stems[terms] = (max(best, each), text if each > best else written, probability + each / total)
    likely = sorted(
        (Spelling(text, tuple(terms.split()), probability) for terms, (_, text, probability) in stems.items()),
        key=lambda spelling: (-spelling.probability, spelling.text),
    )
    return [spelling for spelling in likely if spelling.probability >= _MIN_SHARE][:_MOST]
