"""Variants of the analysis of Latin words: stemmers and stop words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import Stemmer

from shrag.indexing.analysis import latin as word_rules
from shrag.indexing.analysis.latin import find_words
from shrag.indexing.analysis.stopwords import ENGLISH_STOPWORDS


def find_words_with(
    stem: Callable[[str], str] | None = None,
    stop: frozenset[str] = ENGLISH_STOPWORDS,
    joined: bool = True,
) -> Callable[[str], Iterable[str]]:
    """Return ``find_words`` with another stemmer, other stop words or unjoined parts.

    These are private in :mod:`shrag.indexing.analysis.latin`, and are replaced there while the function runs.
    """
    patched: Any = word_rules

    @cache
    def words(text: str) -> list[str]:
        old = patched._stem, patched.ENGLISH_STOPWORDS, patched._MAX_JOINED_PARTS
        patched._word_terms.cache_clear()
        patched.ENGLISH_STOPWORDS = stop
        if stem is not None:
            patched._stem = lambda part: stem(part[:64]) if part.isalpha() else part[:64]
        if not joined:
            patched._MAX_JOINED_PARTS = 1
        try:
            found = find_words(text)
        finally:
            patched._stem, patched.ENGLISH_STOPWORDS, patched._MAX_JOINED_PARTS = old
            patched._word_terms.cache_clear()
        return [w.term for w in found]

    return words


def harman_s_stem(word: str) -> str:
    """Return the stem by Harman's S stemmer, which removes plurals only."""
    if len(word) > 3 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


PORTER = Stemmer.Stemmer("porter")
ENGLISH = Stemmer.Stemmer("english")
LUCENE_STOP = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with".split()
)
