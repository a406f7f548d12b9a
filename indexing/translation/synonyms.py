"""Synonyms in the question's own language: words with the same translation (AI: 인공지능: artificial intelligence)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.translation.phrase_translation import BilingualLexicon, PhraseTranslation, to_translation

LEAST_CONFIDENCE = 0.8
"""Least product of the confidences of both translations. Mostly only the first translations of their words reach it.

Right record first without synonyms / with those of this confidence / with all, and within ten in brackets:

- questions of four language pairs: 0.839 / 0.855 / 0.863 (0.952 / 0.960 / 0.968)
- wiki-ko: 0.9408 / 0.9408 / 0.9390 (0.989 each)
- multihop-ko: 0.858 / 0.858 / 0.858 (0.973 each)

An index of one language has hardly any synonyms.
"""

_SYNONYM_CONFIDENCE = 0.3
"""Factor of the confidence of a synonym, which gives it 0.7 of the weight, like a part of a phrase."""

_MOST_PIVOTS = 2


def add_synonyms(
    groups: Sequence[Sequence[Token]],
    translations: Mapping[int, tuple[PhraseTranslation, ...]],
    lexicon: BilingualLexicon,
) -> dict[int, tuple[PhraseTranslation, ...]]:
    """Return the translations of each word, followed by its surest synonym if it has one.

    Args:
        groups: The groups of a question's tokens, one for each word.
        translations: Their translations by position, the surest first. Those of phrases get no synonym.
        lexicon: Has the words with the same translation.
    """
    found: dict[int, tuple[PhraseTranslation, ...]] = {}
    for number, known in translations.items():
        synonyms = _synonyms({token.term for token in groups[number]}, known, lexicon)
        surest = max(synonyms, key=lambda synonym: synonym.confidence, default=None)
        found[number] = known if surest is None else (*known, surest)
    return found


def _synonyms(
    own: set[str], translations: Sequence[PhraseTranslation], lexicon: BilingualLexicon
) -> Iterator[PhraseTranslation]:
    """Yield the synonyms of the word with the terms ``own`` that reach :data:`LEAST_CONFIDENCE`."""
    pivots = [each for each in translations[:_MOST_PIVOTS] if each.share == 1]
    taken = {each.terms for each in translations}
    for pivot, entries in zip(pivots, lexicon.look_up([each.terms for each in pivots]), strict=True):
        for entry in entries:
            through_english = pivot.terms == entry.english_terms
            through = entry.english if through_english else entry.korean
            synonym = to_translation(entry, pivot.share, korean=not through_english)
            confidence = pivot.confidence * synonym.confidence
            # The written forms are compared, because 비지도 and 지도 have the same terms in the lexicon.
            if (
                through == pivot.text
                and confidence >= LEAST_CONFIDENCE
                and synonym.terms not in taken
                and own.isdisjoint(synonym.terms)
            ):
                yield synonym._replace(confidence=confidence * _SYNONYM_CONFIDENCE, rest=pivot.rest)
