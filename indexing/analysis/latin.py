"""Tokenization and stemming of Latin and Greek words, numbers and identifiers.

Documents and questions follow the same rules, so all spellings of an identifier share terms: ``GPT-4``, ``GPT4`` and
``gpt 4``; ``COVID-19`` and ``COVID19``; ``A₃`` and ``A3``; ``TNF-α`` and ``TNF-alpha``. A stop word that is an acronym
in capitals (IT, WHO) is a term there, and is not stemmed. :func:`is_all_capitals` recognizes the texts in which
capitals mean nothing.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import Stemmer

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.irregular_forms import IRREGULAR_FORMS
from shrag.indexing.analysis.spellings.british import american_spelling
from shrag.indexing.analysis.stopwords import ACRONYMS, ENGLISH_STOPWORDS

MAX_TERM_LENGTH = 64
"""Most characters of a term. Longer terms are cut; Lucene's limit is 255."""

STEMMER = "english"
"""Snowball's English algorithm (Porter2)."""

# Latin, Greek and Cyrillic. The last two blocks are letters with accents, as in Vietnamese and ancient Greek.
_LETTER = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u04ff\u1e00-\u1eff\u1f00-\u1fff"
_WORD = re.compile(
    rf"""
      \d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?![\d{_LETTER}])               # 1,200 and 1,200.5
    | \d+\.\d+(?![\d.{_LETTER}])                                      # 3.14, but not the version 3.1.4
    | [\d{_LETTER}]+(?:[-./'&+_][\d{_LETTER}]+)*(?:\+{{1,2}}|\#)?     # word, GPT-4, H2O, Node.js, C++, C#
    """,
    re.VERBOSE,
)
_CONNECTOR = re.compile(r"[-./'&_]|\+(?=[^+])")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_LETTERS = re.compile(rf"[{_LETTER}]{{2,}}")
# A longer chain (a URL, a list with slashes) gives no useful term when its parts are joined.
_MAX_JOINED_PARTS = 4

# A title in capitals has at least this many words; fewer may be acronyms alone.
_FEWEST_WORDS = 4
_UNCASED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")  # Kana, Hanja, Hangul

_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau "
        "upsilon phi chi psi omega".split(),
        strict=True,
    )
) | {"ς": "sigma"}
_GREEK_LETTER = re.compile("[α-ως]")


def find_words(text: str) -> list[Token]:
    """Return the terms of all words, numbers and identifiers in folded ``text``, ordered by ``start``."""
    return [
        Token(term, match.start() + start, match.start() + end, kind)
        for match in _WORD.finditer(text)
        for term, start, end, kind in _word_terms(match.group())
    ]


def plain_word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of :func:`find_words` for a word of ASCII letters only, at a tenth of the cost.

    >>> plain_word_terms("Learning"), plain_word_terms("it"), plain_word_terms("IT")
    (('learn',), (), ('it',))
    """
    plain = word.lower()
    if plain in ENGLISH_STOPWORDS:
        return (plain,) if word in ACRONYMS else ()
    return (_stem(plain),)


def is_all_capitals(text: str) -> bool:
    """Return whether a text has more than three words, all in capitals, and no letters of a script without capitals.

    >>> is_all_capitals("THE USE OF IT IN SCHOOLS"), is_all_capitals("IT 융합 기술 동향"), is_all_capitals("WHO")
    (True, False, False)
    """
    return text.isupper() and not _UNCASED.search(text) and len(text.split()) >= _FEWEST_WORDS


@lru_cache(maxsize=200_000)
def _word_terms(word: str) -> tuple[Token, ...]:
    length = len(word)
    if re.fullmatch(r"[\d,]+(?:\.\d+)?", word):
        return (Token(word.replace(",", "")[:MAX_TERM_LENGTH], 0, length, "number"),)
    plain = word.replace("İ", "I").lower()  # the only letter whose lower case is longer than the letter
    stem_end = length - 2 if plain.endswith("'s") else length
    terms: list[Token] = []
    parts = _parts(plain[:stem_end])
    for part, start, end in parts:
        if word[start:end] in ACRONYMS:
            terms.append(Token(part, start, end, "foreign"))
        else:
            terms.extend(_part_terms(_spell(part), start, end))
    if 1 < len(parts) <= _MAX_JOINED_PARTS:
        joined = "".join(_spell(part) for part, _, _ in parts)
        terms.append(Token(_stem(joined), 0, length, "number" if joined.isdigit() else "foreign"))
    return tuple(terms)


def _parts(word: str) -> list[tuple[str, int, int]]:
    """Split at connectors; return each part with its range."""
    parts: list[tuple[str, int, int]] = []
    start = 0
    for match in _CONNECTOR.finditer(word):
        parts.append((word[start : match.start()], start, match.start()))
        start = match.end()
    parts.append((word[start:], start, len(word)))
    return [part for part in parts if part[0]]


def _part_terms(part: str, start: int, end: int) -> list[Token]:
    if part in ENGLISH_STOPWORDS:
        return []
    terms = [Token(_stem(part), start, end, "number" if part.isdigit() else "foreign")]
    if any(character.isdigit() for character in part) and not _ORDINAL.fullmatch(part):
        # gpt4 and covid19 also give the name in them; h2o has none and stays one term.
        terms.extend(
            Token(_stem(letters), start, end, "foreign")
            for letters in _LETTERS.findall(part)
            if letters not in ENGLISH_STOPWORDS
        )
    return terms


def _spell(part: str) -> str:
    """Strip accents, and spell out Greek letters unless the word has more than two of them."""
    if part.isascii():
        return part
    bare = "".join(
        character for character in unicodedata.normalize("NFD", part) if not unicodedata.combining(character)
    )
    if len(_GREEK_LETTER.findall(bare)) > 2:
        return bare
    return _GREEK_LETTER.sub(lambda match: _GREEK[match.group()], bare)


def stem_words(words: Iterable[str]) -> list[str]:
    """Return each word's stem."""
    return [_stem(word) for word in words]


_local = threading.local()


def _stem(part: str) -> str:
    """Return the stem of ``part`` if it is all letters, else ``part`` itself, each cut to :data:`MAX_TERM_LENGTH`."""
    if not part.isalpha():
        return part[:MAX_TERM_LENGTH]
    # One for each thread: a PyStemmer object is not thread-safe.
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer(STEMMER)
    stem: str = stemmer.stemWord(american_spelling(IRREGULAR_FORMS.get(part, part)[:MAX_TERM_LENGTH]))
    return stem
