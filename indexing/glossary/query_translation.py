"""Translate query terms (CLIR).

A word's translations are ways to say it in the other language: a document scores by the best of them, never by two.
Where a phrase of several words was found (인공 신경망 → neural network), each of its words has an equal share of
the phrase's translation: together they weigh as much as the phrase, alone as much as their part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Token
from shrag.indexing.bm25 import idf
from shrag.indexing.glossary.store import MOST_TERMS, Entry, simple_tokens
from shrag.indexing.search_engine import FieldStatistics

_MOST_TRANSLATIONS = 4
# Beside a pair seen a hundred times, one seen once is more likely a slip than another name.
_RARE = 0.08
# By 353 Korean titles asked of records left only their English abstracts (docs/glossary.md): found within ten 0.28
# without making up for what has no translation, 0.44 with half of it, 0.54 with all; the other two matter little.
_MOST_COMPENSATION = 3.0
_KOREAN_SHARE = 0.2
_HANGUL = re.compile("[\uac00-\ud7a3]")
# Once for each term that has any: a passage is asked about as one string, which takes a sixth of the time.
_HANGUL_TERM = re.compile("[\uac00-\ud7a3][^ ]*")
_SURENESS = 0.3


class Phrasebook(Protocol):
    """What a glossary is asked for."""

    def look_up(self, phrases: Sequence[Sequence[str]]) -> list[list[Entry]]:
        """Return the entries of each phrase, a sequence of terms in either language, the surest first."""


class Translation(NamedTuple):
    """Another way to say a word. ``text`` is the phrase as written, ``share`` the part of it that is this word's."""

    text: str
    terms: tuple[str, ...]
    share: float
    sureness: float


class Spoken(NamedTuple):
    """A stretch of a question whose tokens share characters, and its translations, the surest first."""

    tokens: tuple[Token, ...]
    translations: tuple[Translation, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        """Its terms in their order, each once."""
        return tuple(dict.fromkeys(token.term for token in self.tokens))

    @property
    def start(self) -> int:
        """Where it begins in the question."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Where it ends."""
        return max(token.end for token in self.tokens)


def carry_over(tokens: Iterable[Token], glossary: Phrasebook | None) -> list[Spoken]:
    """Group a text's tokens, which come by rising start, into words, and translate them.

    Behind them come the compounds (인공신경망), each a word of its own: its parts (인공, 신경망) have the translations.
    """
    compounds: list[Token] = []
    simple: list[Token] = []
    for token in tokens:
        (compounds if token.kind == "compound" else simple).append(token)
    groups = _overlapping(simple)
    translations = _translate(groups, glossary) if glossary is not None else {}
    spoken = [Spoken(tuple(group), translations.get(number, ())) for number, group in enumerate(groups)]
    return spoken + [Spoken((token,), ()) for token in compounds]


class Way(NamedTuple):
    """A translation with the weight at which it counts for as much as its word does."""

    text: str
    terms: tuple[str, ...]
    weight: float


def weigh_translations(spoken: Sequence[Spoken], contents: FieldStatistics) -> list[tuple[Way, ...]]:
    """Return each word's translations with their weights: a rare word's may be of common terms, and the reverse."""
    return [
        tuple(
            Way(
                translation.text,
                translation.terms,
                translation.share
                * translation.sureness**_SURENESS
                * _scale(_weight(each.terms, contents), translation, contents),
            )
            for translation in each.translations
        )
        for each in spoken
    ]


def compensation(spoken: Sequence[Spoken], contents: FieldStatistics) -> float:
    """Return what to multiply the score of a document of the other language by.

    Such a document can only match the words that were carried over, or that are written alike in both. Its score is put
    in proportion to theirs, for else it could never come before those of the question's own language.
    """
    spoken = [each for each in spoken if each.tokens[0].kind != "compound"]
    weights = [_weight(each.terms, contents) for each in spoken]
    korean = is_korean(term for each in spoken for term in each.terms)
    reachable = sum(
        weight
        for each, weight in zip(spoken, weights, strict=True)
        if each.translations or (korean and not any(map(_HANGUL.search, each.terms)))
    )
    return min(_MOST_COMPENSATION, sum(weights) / reachable) if reachable else 1.0


def is_korean(terms: Iterable[str]) -> bool:
    """Say whether terms are those of a Korean text: a fifth of them at least, as for letters in ``detect_language``."""
    terms = list(terms)
    text, wanted = " ".join(terms), math.ceil(_KOREAN_SHARE * len(terms))
    if not wanted or text.isascii():
        return not wanted
    return any(islice(_HANGUL_TERM.finditer(text), wanted - 1, wanted))


def _scale(weight: float, translation: Translation, contents: FieldStatistics) -> float:
    theirs = _weight(translation.terms, contents) * translation.share
    return math.sqrt(min(2.0, max(0.5, weight / theirs))) if theirs else 1.0


def _weight(terms: Iterable[str], contents: FieldStatistics) -> float:
    return sum(
        idf(frequency, contents.documents) for term in terms if (frequency := contents.document_frequencies[term])
    )


def all_terms(spoken: Iterable[Spoken]) -> list[str]:
    """Return every term of the words and of their translations, each once."""
    terms: dict[str, None] = {}
    for each in spoken:
        terms.update(dict.fromkeys(each.terms))
        for translation in each.translations:
            terms.update(dict.fromkeys(translation.terms))
    return list(terms)


def _overlapping(tokens: Iterable[Token]) -> list[list[Token]]:
    """Group tokens that share characters."""
    groups: list[list[Token]] = []
    end = -1
    for token in tokens:
        if token.start < end:
            groups[-1].append(token)
        else:
            groups.append([token])
        end = max(end, token.end)
    return groups


def _translate(groups: Sequence[Sequence[Token]], glossary: Phrasebook) -> Mapping[int, tuple[Translation, ...]]:
    places = [
        (number, token.term)
        for number, group in enumerate(groups)
        for token in simple_tokens(group)
        if token.kind in KEYWORD_KINDS
    ]
    found: dict[int, tuple[Translation, ...]] = {}
    start = 0
    while start < len(places):
        sizes = range(min(MOST_TERMS, len(places) - start), 0, -1)
        phrases = [[term for _, term in places[start : start + size]] for size in sizes]
        for size, entries in zip(sizes, glossary.look_up(phrases), strict=True):
            # A phrase that ends inside a word (the deep of deep-learning) is none.
            whole = start + size == len(places) or places[start + size][0] != places[start + size - 1][0]
            if entries and whole:
                covered = sorted({number for number, _ in places[start : start + size]})
                translations = _choose(phrases[sizes.index(size)], entries, len(covered))
                for number in covered:
                    found[number] = (*found.get(number, ()), *translations)
                start += size
                break
        else:
            start += 1
    return found


def _choose(phrase: Sequence[str], entries: Sequence[Entry], words: int) -> list[Translation]:
    most = max((entry.records for entry in entries if entry.source == "brackets"), default=0)
    korean = tuple(phrase) == entries[0].korean_terms
    return [
        Translation(
            entry.english if korean else entry.korean,
            entry.english_terms if korean else entry.korean_terms,
            1 / words,
            entry.score,
        )
        for entry in entries
        if entry.source != "brackets" or entry.records >= _RARE * most
    ][:_MOST_TRANSLATIONS]
