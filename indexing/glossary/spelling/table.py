"""Spellings of an index's vocabulary, to recognize transliterations in a question.

The glossary file lists the English words and names and the Korean nouns of the records by the consonants that a
transliteration keeps. A question's word that the glossary does not translate is compared with the words of the same
consonants. Each gets the posterior probability that it is the origin of the question's word, or its transliteration.
The probability weighs the evidence of the spelling (:mod:`~shrag.indexing.glossary.spelling.model`) against chance.
Chance depends on the number of words in the index, and on how likely the Korean word is a loanword at all.
"""

from __future__ import annotations

import math
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.spelling.collector import SpelledWord, SpellingCollector
from shrag.indexing.glossary.spelling.model import (
    KoreanWord,
    LetterModel,
    loanword_log_odds,
    spelling_keys,
)

_PRIOR_LOG_ODDS = -3.0
_ENGLISH_PRIOR_LOG_ODDS = -4.0
_MIN_PROBABILITY = 0.65
_MIN_SHARE = 0.15
_MIN_TOTAL = 20_000.0
_MOST = 3
_SUFFIX = frozenset("인어족군주증과산형식법론시강섬제팀호")
_SUFFIX_LOG_ODDS = -2.0
_DISEASE = "증"
_DISEASE_ENDINGS = (("\u1169", "시스"), ("\u1175", "아시스"))  # the vowels ㅗ and ㅣ, and what follows: -osis, -iasis
_KOREAN_KEY = "~"
_JOINT = re.compile("[ -]")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_LETTERS = re.compile("[a-z]+")


class Spelling(NamedTuple):
    """A word or a name of two words of the index that a question's word transliterates, or that transliterates it.

    Attributes:
        text: As written, in lower case.
        terms: Its index terms.
        probability: The posterior probability of the transliteration.
    """

    text: str
    terms: tuple[str, ...]
    probability: float


class SpelledWords(NamedTuple):
    """The rows of the table.

    Attributes:
        rows: Text, terms separated by spaces, weight and keys of each word.
        letter_costs: The costs of pairs of letters (:class:`~shrag.indexing.glossary.spelling.model.LetterModel`).
    """

    rows: list[tuple[str, str, float, list[str]]]
    letter_costs: dict[str, float]


def spell_words(words: SpellingCollector, analyzer: Analyzer) -> SpelledWords:
    """Return the rows of the words that ``words`` counted; ``analyzer`` is the index's."""
    english = list(words.english_words(analyzer))
    letters = LetterModel.of_words(word.letters for word in english)
    rows = [
        *_weighted(english, letters.cost, spelling_keys),
        *_weighted(list(words.korean_words(analyzer)), loanword_log_odds, _korean_keys),
    ]
    return SpelledWords(rows, {pair: round(cost, 2) for pair, cost in letters.costs.items()})


def write_spellings(path: Path, spelled: SpelledWords, removed: Iterable[tuple[str, str]] = ()) -> None:
    """Add the table of spellings to a glossary file.

    Args:
        path: The file that :func:`~shrag.indexing.glossary.store.write_glossary` wrote.
        spelled: The words of all records.
        removed: Pairs of a Korean word and an English word or name in lower case that the user removed.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE spellings (id INTEGER PRIMARY KEY, text TEXT, terms TEXT, weight REAL)")
        database.execute("CREATE TABLE spelling_keys (key TEXT, id INTEGER, PRIMARY KEY (key, id)) WITHOUT ROWID")
        database.execute("CREATE TABLE removed_spellings (korean TEXT, english TEXT)")
        database.execute("CREATE TABLE letter_costs (pair TEXT PRIMARY KEY, cost REAL) WITHOUT ROWID")
        database.execute("BEGIN")
        database.executemany("INSERT INTO letter_costs VALUES (?, ?)", sorted(spelled.letter_costs.items()))
        database.executemany("INSERT INTO removed_spellings VALUES (?, ?)", sorted(removed))
        database.executemany(
            "INSERT INTO spellings VALUES (?, ?, ?, ?)",
            ((number, *row) for number, (*row, _) in enumerate(spelled.rows)),
        )
        keys = sorted((key, number) for number, (*_, keys) in enumerate(spelled.rows) for key in keys)
        database.executemany("INSERT INTO spelling_keys VALUES (?, ?)", keys)
        database.execute("COMMIT")


def _weighted(
    words: Sequence[SpelledWord], log_odds: Callable[[str], float], keys: Callable[[str], list[str]]
) -> Iterator[tuple[str, str, float, list[str]]]:
    """Yield the row of each word that has keys.

    The weight is the part of the log-odds that does not depend on the question. The prior probability of a word grows
    with the square root of its frequency. The sum of these roots counts as at least ``_MIN_TOTAL``, because a small
    vocabulary has few of the words that a question may transliterate.
    """
    total = max(_MIN_TOTAL, sum(math.sqrt(word.frequency) for word in words))
    for word in words:
        found = keys(word.letters)
        if found:
            weight = round(math.log(math.sqrt(word.frequency) / total) + log_odds(word.letters), 2)
            yield word.text, word.terms, weight, found


def _korean_keys(word: str) -> list[str]:
    return [_KOREAN_KEY + key for key in KoreanWord(word).keys]


class SpellingTable:
    """Reads the table of spellings. Not thread-safe: the caller makes threads take turns."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @cached_property
    def _letters(self) -> LetterModel:
        return LetterModel(dict(self._database.execute("SELECT pair, cost FROM letter_costs")))

    @cached_property
    def _removed(self) -> frozenset[tuple[str, str]]:
        return frozenset(self._database.execute("SELECT korean, english FROM removed_spellings"))

    def of_korean(self, word: str) -> list[Spelling]:
        """Return the English words that a Korean one most likely transliterates, most likely first; mostly none.

        Args:
            word: Two or more Hangul syllables. A suffix such as 어, 주 or 증 may follow the transliteration.
        """
        if not _HANGUL.fullmatch(word):
            return []
        found = self._english_origins(word, _PRIOR_LOG_ODDS)
        if found or len(word) <= 3 or word[-1] not in _SUFFIX:
            return found
        stem = word[:-1]
        names = [stem, *(_disease_names(stem) if word[-1] == _DISEASE else ())]
        return next(
            filter(None, (self._english_origins(name, _PRIOR_LOG_ODDS + _SUFFIX_LOG_ODDS) for name in names)), []
        )

    def of_english(self, word: str) -> list[Spelling]:
        """Return the Korean words that most likely transliterate an English one in lower case; mostly none."""
        if not _LETTERS.fullmatch(word):
            return []
        log_odds = _ENGLISH_PRIOR_LOG_ODDS + self._letters.cost(word)
        rivals: list[_Rival] = []
        for text, terms, weight in self._candidates([_KOREAN_KEY + key for key in spelling_keys(word)]):
            cost = KoreanWord(text).spelling_cost(word, log_odds + weight - _NEGLIGIBLE)
            if cost is not None and (text, word) not in self._removed:
                rivals.append((text, terms, log_odds + weight - cost))
        return _posterior(rivals)

    def _english_origins(self, word: str, log_odds: float) -> list[Spelling]:
        log_odds += loanword_log_odds(word)
        korean = KoreanWord(word)
        if log_odds + _GAIN_PER_SOUND * korean.num_sounds < _LEAST_GAIN:
            return []
        rivals: list[_Rival] = []
        for text, terms, weight in self._candidates(korean.keys):
            cost = korean.spelling_cost(_JOINT.sub("", text), log_odds + weight - _NEGLIGIBLE)
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


def _disease_names(organism: str) -> list[str]:
    """Return how the English names of an organism's disease would be written in Korean, in -osis and in -iasis.

    They have the onset of the last syllable of the organism's name, without the ending -s.

    >>> _disease_names("톡소플라즈마"), _disease_names("아스페르길루스")[0], _disease_names("칸디다")[1]
    (['톡소플라즈모시스', '톡소플라즈미아시스'], '아스페르길로시스', '칸디디아시스')
    """
    stem = organism.removesuffix("스") if len(organism) > 2 else organism
    onset = unicodedata.normalize("NFD", stem[-1])[0]
    return [stem[:-1] + unicodedata.normalize("NFC", onset + vowel) + rest for vowel, rest in _DISEASE_ENDINGS]


_Rival = tuple[str, str, float]
"""A text, its terms with spaces, and its log-odds against the hypothesis that the word has no counterpart."""

_NEGLIGIBLE = -3.0
# No spelling gives more evidence than this for each sound of a word. A word that cannot reach the least gain needs no
# comparison.
_GAIN_PER_SOUND, _LEAST_GAIN = 1.3, -0.6


def _posterior(rivals: Sequence[_Rival]) -> list[Spelling]:
    """Return the likely rivals, one for each stem."""
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
