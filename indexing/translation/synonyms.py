"""Synonyms in the question's own language: words with the same translation (AI: 인공지능: artificial intelligence)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.translation.phrase_translation import BilingualLexicon, PhraseTranslation, to_translation

LEAST_CONFIDENCE = 0.8
"""Least product of the confidences of both translations, which mostly are the first ones of their words then.

Right record first without synonyms, with those of this confidence, and with all: the questions of four language pairs
0.839, 0.855 and 0.863, wiki-ko 0.9408, 0.9408 and 0.9390, multihop-ko 0.858, 0.858 and 0.858; within ten 0.952, 0.960
and 0.968, 0.989 all, 0.973 all. An index of one language has hardly any.
"""

_SYNONYM_CONFIDENCE = 0.3
"""By this the confidence of a synonym is multiplied, so it has 0.7 of its weight, as a part of a phrase has."""

_MOST_PIVOTS = 2


def add_synonyms(
    groups: Sequence[Sequence[Token]],
    translations: Mapping[int, tuple[PhraseTranslation, ...]],
    lexicon: BilingualLexicon,
) -> dict[int, tuple[PhraseTranslation, ...]]:
    """Return the translations of each word with its surest synonym behind them, if there is one.

    Args:
        groups: The groups of a question's tokens, a word each.
        translations: Their translations by position, the surest first; those of phrases get no synonym.
        lexicon: Has the words that have the same translation.
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
    """Yield the synonyms of a word of these terms that are sure enough."""
    pivots = [each for each in translations[:_MOST_PIVOTS] if each.share == 1]
    taken = {each.terms for each in translations}
    for pivot, entries in zip(pivots, lexicon.look_up([each.terms for each in pivots]), strict=True):
        for entry in entries:
            through_english = pivot.terms == entry.english_terms
            through = entry.english if through_english else entry.korean
            synonym = to_translation(entry, pivot.share, korean=not through_english)
            confidence = pivot.confidence * synonym.confidence
            # Of 비지도 and 지도 the lexicon has the same terms, so what was translated is compared as it is written.
            if (
                through == pivot.text
                and confidence >= LEAST_CONFIDENCE
                and synonym.terms not in taken
                and own.isdisjoint(synonym.terms)
            ):
                yield synonym._replace(confidence=confidence * _SYNONYM_CONFIDENCE, rest=pivot.rest)
