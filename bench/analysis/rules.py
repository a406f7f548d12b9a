"""Rules that turn an eojeol into terms; each field is what a variant of the analyzer may change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from bench.analysis.judged_sets import PAIR
from shrag.indexing.analysis.analyzer import fold
from shrag.indexing.analysis.latin import find_words
from shrag.indexing.analysis.morphological_analysis import INDEXED_TAGS, Morpheme
from shrag.indexing.analysis.stopwords import KOREAN_STOPWORDS

Morphemes = Sequence[Morpheme]
RULES_1 = frozenset({*INDEXED_TAGS, "XSN"})
KOREAN = re.compile("[\uac00-\ud7a3\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
NOUNS = frozenset({"NNG", "NNP", "NR", "XR", "SH"})


@cache
def default_words(text: str) -> Sequence[str]:
    """Return the terms of Latin words in ``text`` by the analyzer's rules."""
    return [found.term for found in find_words(text)]


@dataclass(frozen=True)
class Rules:
    """The rules of a variant.

    Kiwi makes morphemes with the options ``source``, and ``change`` edits them. Morphemes that have one of ``tags`` and
    are not in ``korean_stop`` become terms. ``extra`` adds terms of an eojeol, ``pairs`` adds terms of two adjacent
    eojeols, and ``words`` adds terms of Latin words.
    """

    source: str = "plain"
    tags: frozenset[str] = RULES_1
    korean_stop: frozenset[str] = KOREAN_STOPWORDS
    stemmer: str = "english"
    extra: tuple[Callable[[str, Morphemes], Iterable[str]], ...] = ()
    pairs: Callable[[str, Morphemes, str, Morphemes], Iterable[str]] | None = None
    change: Callable[[Morphemes], Morphemes] = lambda morphemes: morphemes
    words: Callable[[str], Iterable[str]] = default_words

    def terms(self, eojeol: str, morphemes: Mapping[str, Morphemes]) -> list[str]:
        """Return the terms of an eojeol or of a pair. ``morphemes`` is folded eojeol → morphemes."""
        if PAIR in eojeol:
            if self.pairs is None:
                return []
            first, _, second = eojeol.partition(PAIR)
            if not (KOREAN.search(first) and KOREAN.search(second)):
                return []
            first, second = fold(first), fold(second)
            return list(self.pairs(first, self.change(morphemes[first]), second, self.change(morphemes[second])))
        folded = fold(eojeol)
        found = list(self.words(folded))
        if KOREAN.search(folded):
            read = self.change(morphemes[folded])
            found += [m.form[:64] for m in read if m.tag in self.tags and m.form not in self.korean_stop]
            for more in self.extra:
                found += more(folded, read)
        return found
