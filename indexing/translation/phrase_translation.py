"""Find the phrases of a question that a lexicon translates, and its words that have a transliteration.

The longest phrases are translated first. Each word of a translated phrase (인공 신경망 → neural network) has an equal
share of the translation's weight. The parts of the phrase are translated too, and count less (class imbalance → 클래스
불균형, but also imbalance → 불균형).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple, Protocol

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Token
from shrag.indexing.glossary.store import MAX_TERMS, Entry, Synonym, simple_tokens
from shrag.indexing.translation.query_transliteration import find_transliterations

_MOST_TRANSLATIONS = 4
_MOST_OF_PART = 2
# Factor of the confidence of a translation of a part of a phrase, which gives it 0.7 of the weight.
# Right record first without parts / with 0.7 / with the whole weight:
# - questions of four language pairs: 0.806 / 0.823 / 0.815
# - 84 questions across languages: 0.857 / 0.881 / 0.881
# - 752 titles in the other language: 0.568 / 0.582 / 0.598
# AUC of the confidence among questions near the collection: 0.873 / 0.877 / 0.869.
_PART_CONFIDENCE = 0.3
# Beside a pair that occurs a hundred times, one that occurs once is more likely a mistake than a synonym.
_RARE = 0.08
_HANGUL = re.compile("[\uac00-\ud7a3]")
_NEGATING = frozenset("비불부무미반탈몰")
_LONGEST_PREFIX = 1
# Text that separates two words (water *and the* depth): they form no phrase, unless the phrase itself has that text.
_SEPARATOR = re.compile(r"[,;:.?!()]|\b(?:and|or)\b", re.IGNORECASE)


class BilingualLexicon(Protocol):
    """A dictionary of phrases in two languages."""

    def look_up(self, phrases: Sequence[Sequence[str]]) -> list[list[Entry]]:
        """Return the entries of each phrase, a sequence of terms in either language, the most confident first."""

    def synonyms(self, phrases: Sequence[Sequence[str]]) -> list[list[Synonym]]:
        """Return the synonyms of each phrase in its own language, those of the most records first."""

    def transliterations(self, word: str) -> list[Entry]:
        """Return entries for the likely transliterations of a Hangul word, or of an English one in lower case."""


class PhraseTranslation(NamedTuple):
    """A translation from the lexicon.

    Attributes:
        text: The translation as written.
        terms: Its index terms.
        share: The part of its weight that one word of the translated phrase has.
        confidence: The confidence in the translation.
        rest: The terms of the word's parts that it does not translate (U-Net → 네트: u).
    """

    text: str
    terms: tuple[str, ...]
    share: float
    confidence: float
    rest: tuple[str, ...] = ()


def translate_phrases(
    text: str,
    groups: Sequence[Sequence[Token]],
    lexicon: BilingualLexicon,
    prefixes: Mapping[int, str] = MappingProxyType({}),
) -> dict[int, tuple[PhraseTranslation, ...]]:
    """Return the translations of groups, by the group's position; those of phrases come before those of parts.

    Args:
        text: The question.
        groups: The groups of its tokens.
        lexicon: Translates them.
        prefixes: The prefixes of those groups that are Korean words with one. 비대면 and 대면 have the same terms in
            the lexicon, but a translation of one does not translate the other.

    Returns:
        The translations; groups without any are left out.
    """
    finder = _PhraseFinder(text, groups, lexicon, prefixes)
    found: dict[int, list[PhraseTranslation]] = {}
    for phrase in finder.phrases():
        for number in phrase.groups:
            found.setdefault(number, []).extend(finder.translations(phrase, number, _MOST_TRANSLATIONS))
        for part in finder.parts(phrase):
            for number in part.groups:
                known = {each.text for each in found[number]}
                found[number] += [
                    each._replace(confidence=each.confidence * _PART_CONFIDENCE)
                    for each in finder.translations(part, number, _MOST_OF_PART)
                    if each.text not in known
                ]
    return {number: tuple(translations) for number, translations in found.items()}


def transliterate_words(
    text: str, groups: Sequence[Sequence[Token]], translated: Mapping[int, object], lexicon: BilingualLexicon
) -> dict[int, tuple[PhraseTranslation, ...]]:
    """Return the transliterations of groups without a translation, by the group's position."""
    found: dict[int, tuple[PhraseTranslation, ...]] = {}
    for covered, entries in find_transliterations(text, groups, translated, lexicon.transliterations):
        korean = _HANGUL.search(groups[covered[0]][0].term) is not None
        for number in covered:
            found[number] = tuple(to_translation(entry, 1 / len(covered), korean=korean) for entry in entries)
    return found


def keyword_tokens(groups: Sequence[Sequence[Token]]) -> list[tuple[int, Token]]:
    """Return the nouns, foreign words and numbers of a question, each with the position of its group."""
    return [
        (number, token)
        for number, group in enumerate(groups)
        for token in simple_tokens(group)
        if token.kind in KEYWORD_KINDS
    ]


def find_separators(text: str, tokens: Sequence[tuple[int, Token]]) -> list[re.Match[str] | None]:
    """Return what separates each of the :func:`keyword_tokens` of ``text`` from the next one, or None."""
    return [_SEPARATOR.search(text, token.end, following.start) for (_, token), (_, following) in pairwise(tokens)]


class _KnownPhrase(NamedTuple):
    """A phrase of a question that the lexicon has: the places of its terms, its groups, and its translations."""

    start: int
    end: int
    groups: tuple[int, ...]
    translations: list[PhraseTranslation]


class _PhraseFinder:
    """Finds the phrases of a question's groups of tokens that a lexicon translates."""

    def __init__(
        self,
        text: str,
        groups: Sequence[Sequence[Token]],
        lexicon: BilingualLexicon,
        prefixes: Mapping[int, str],
    ) -> None:
        tokens = keyword_tokens(groups)
        self._lexicon = lexicon
        self._prefixes = prefixes
        self._terms = [(number, token.term) for number, token in tokens]
        self._separators = find_separators(text, tokens)

    def phrases(self) -> Iterator[_KnownPhrase]:
        """Yield the longest phrases, from left to right."""
        return self._within(0, len(self._terms), MAX_TERMS)

    def parts(self, phrase: _KnownPhrase) -> Iterator[_KnownPhrase]:
        """Yield the shorter phrases within a phrase of several words, and those within them."""
        if len(phrase.groups) > 1:
            for part in self._within(phrase.start, phrase.end, phrase.end - phrase.start - 1):
                yield part
                yield from self.parts(part)

    def translations(self, phrase: _KnownPhrase, group: int, most: int) -> list[PhraseTranslation]:
        """Return the first ``most`` translations of a phrase, for the word of one of its groups.

        The terms of this word that the phrase leaves out are their ``rest``.
        """
        rest = tuple(
            term
            for place, (number, term) in enumerate(self._terms)
            if number == group and not phrase.start <= place < phrase.end
        )
        return [each._replace(rest=rest) for each in phrase.translations[:most]]

    def _within(self, start: int, end: int, longest: int) -> Iterator[_KnownPhrase]:
        while start < end:
            phrase = self._longest(start, min(end, start + longest))
            if phrase is not None:
                yield phrase
            start = phrase.end if phrase is not None else start + 1

    def _longest(self, start: int, limit: int) -> _KnownPhrase | None:
        """Return the longest phrase that begins at ``start`` and ends at ``limit`` or before, if there is any."""
        terms = self._terms
        phrases = [tuple(term for _, term in terms[start:end]) for end in range(limit, start, -1)]
        if prefix := self._prefixes.get(terms[start][0], ""):
            # Kiwi may divide a word into prefix and noun here that it reads as one noun elsewhere (대학교).
            phrases = [each for phrase in phrases for each in ((f"{prefix}{phrase[0]}", *phrase[1:]), phrase)]
        for phrase, listed in zip(phrases, self._lexicon.look_up(phrases), strict=True):
            end = start + len(phrase)
            within = {found.group().lower() for found in self._separators[start : end - 1] if found}
            entries = [entry for entry in listed if within <= set(entry.english.lower().split())]
            entries = _with_prefix(entries, phrase, prefix if phrase[0] == terms[start][1] else "")
            # A phrase must not end inside a word (the deep of deep-learning).
            if entries and not (end < len(terms) and terms[end][0] == terms[end - 1][0]):
                groups = tuple(sorted({number for number, _ in terms[start:end]}))
                return _KnownPhrase(start, end, groups, phrase_translations(phrase, entries, 1 / len(groups)))
        return None


def _with_prefix(entries: Sequence[Entry], phrase: tuple[str, ...], prefix: str) -> list[Entry]:
    """Return the entries whose Korean phrase begins with the same prefix as ``phrase``, or with none if it has none.

    If no entry has the prefix, the entries without a prefix are returned, unless the prefix negates: high performance
    is performance, but 비대면 (not face to face) is not face to face. English phrases have no prefix.
    """
    if not entries or phrase != entries[0].korean_terms:
        return list(entries)
    heads = [_head(entry.korean, phrase[0]) for entry in entries]
    same = [entry for entry, head in zip(entries, heads, strict=True) if head == prefix]
    if same or prefix in _NEGATING:
        return same
    return [entry for entry, head in zip(entries, heads, strict=True) if not head] if prefix else []


def _head(korean: str, term: str) -> str:
    """Return the prefix before the first term of a Korean phrase; empty if there is none."""
    found = korean.find(term)
    return korean[:found] if 0 < found <= _LONGEST_PREFIX else ""


def phrase_translations(phrase: tuple[str, ...], entries: Sequence[Entry], share: float) -> list[PhraseTranslation]:
    """Return the translations of a phrase, the most confident first, without those of rare parentheticals.

    Args:
        phrase: Its terms.
        entries: Its entries, at least one, the most confident first.
        share: The part of a translation's weight that one word of the phrase has.
    """
    korean = phrase == entries[0].korean_terms
    most = max((entry.records for entry in entries if entry.source == "parenthetical"), default=0)
    return [
        to_translation(entry, share, korean=korean)
        for entry in entries
        if entry.source != "parenthetical" or entry.records >= _RARE * most
    ]


def to_translation(entry: Entry, share: float, *, korean: bool) -> PhraseTranslation:
    """Return the English side of an entry as a translation if its phrase was ``korean``, else the Korean side."""
    if korean:
        return PhraseTranslation(entry.english, entry.english_terms, share, entry.score)
    return PhraseTranslation(entry.korean, entry.korean_terms, share, entry.score)
