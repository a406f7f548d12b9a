"""Synonyms in the question's own language that are listed (telework: telecommuting), and their translations.

SHRAG comes with lists of them, and users add their own. The longest phrases come first, as in
:mod:`~shrag.indexing.translation.phrase_translation`. A synonym that is in fewer records than the word is not used.
Right record first, over the sets of ``shrag experiment languages`` with ten records a question, without synonyms / with
those that are used / with all:

- questions of four language pairs: 0.855 / 0.863 / 0.839
- AUC of the confidence among questions near the collection: 0.887 / 0.899 / 0.903
- wiki-ko, 1,000 questions: 0.944 / 0.942 / 0.942
- wiki-en, 1,000 questions: 0.793 / 0.795 / 0.795
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.glossary.store import MAX_TERMS, Synonym
from shrag.indexing.translation.phrase_translation import (
    BilingualLexicon,
    PhraseTranslation,
    find_separators,
    keyword_tokens,
    phrase_translations,
)

_CONFIDENCE = 0.3
"""Confidence of a synonym, which gives it 0.7 of the weight; also the factor for its translations."""

_MOST_SYNONYMS = 2
_MOST_TRANSLATIONS = 2


def add_listed_synonyms(
    text: str,
    groups: Sequence[Sequence[Token]],
    translations: Mapping[int, tuple[PhraseTranslation, ...]],
    lexicon: BilingualLexicon,
    prefixes: Mapping[int, str] = MappingProxyType({}),
) -> dict[int, tuple[PhraseTranslation, ...]]:
    """Return the translations of each word, followed by its listed synonyms and by their translations.

    Args:
        text: The question.
        groups: The groups of its tokens, one for each word.
        translations: Their translations by position, the surest first.
        lexicon: Has the synonyms and their translations.
        prefixes: The prefixes of those groups that are Korean words with one: 비대면 is no synonym of what 대면 is one
            of.
    """
    found = {number: list(known) for number, known in translations.items()}
    for phrase in _find_phrases(text, groups, lexicon, prefixes):
        share = 1 / len(phrase.groups)
        added = [
            PhraseTranslation(each.synonym, each.synonym_terms, share, _CONFIDENCE) for each in _occurring(phrase)
        ] + list(_through(phrase, share, lexicon))
        for number in phrase.groups:
            known = found.setdefault(number, [])
            own = {token.term for token in groups[number]}
            taken = {each.terms for each in known}
            known += [each for each in added if each.terms not in taken and own.isdisjoint(each.terms)]
    return {number: tuple(known) for number, known in found.items() if known}


class _Phrase(NamedTuple):
    """A phrase of the question that has synonyms: the positions of its groups, and the synonyms."""

    groups: tuple[int, ...]
    synonyms: list[Synonym]


def _find_phrases(
    text: str, groups: Sequence[Sequence[Token]], lexicon: BilingualLexicon, prefixes: Mapping[int, str]
) -> Iterator[_Phrase]:
    """Yield the longest phrases with synonyms, from left to right."""
    tokens = keyword_tokens(groups)
    separators = find_separators(text, tokens)
    numbers = [number for number, _ in tokens]
    spans = [
        (start, end)
        for start in range(len(tokens))
        for end in range(min(len(tokens), start + MAX_TERMS), start, -1)
        # A phrase must neither begin nor end inside a word.
        if (start == 0 or numbers[start - 1] != numbers[start])
        and (end == len(tokens) or numbers[end] != numbers[end - 1])
        and not any(separators[start : end - 1])
    ]
    terms = [f"{prefixes.get(number, '')}{token.term}" for number, token in tokens]
    listed = lexicon.synonyms([terms[start:end] for start, end in spans])
    after = 0
    for (start, end), synonyms in zip(spans, listed, strict=True):
        if start >= after and synonyms:
            yield _Phrase(tuple(dict.fromkeys(numbers[start:end])), synonyms)
            after = end


def _occurring(phrase: _Phrase) -> list[Synonym]:
    """Return the synonyms that occur in the most records, without those that are rarer than the phrase itself."""
    return [each for each in phrase.synonyms if each.records >= max(1, each.word_records)][:_MOST_SYNONYMS]


def _through(phrase: _Phrase, share: float, lexicon: BilingualLexicon) -> Iterator[PhraseTranslation]:
    """Yield the surest translations of the synonyms."""
    found = [
        each
        for synonym, entries in zip(
            phrase.synonyms, lexicon.look_up([each.synonym_terms for each in phrase.synonyms]), strict=True
        )
        if (same := [entry for entry in entries if synonym.synonym in {entry.korean, entry.english}])
        for each in phrase_translations(synonym.synonym_terms, same, share)
    ]
    found.sort(key=lambda each: -each.confidence)
    for each in found[:_MOST_TRANSLATIONS]:
        yield each._replace(confidence=each.confidence * _CONFIDENCE)
