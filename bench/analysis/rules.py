"""How an eojeol becomes terms, as variants of the analyser have it: what of it may differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from bench.analysis.judged_sets import PAIR
from shrag.indexing.analysis.latin import find_words
from shrag.indexing.analysis.morphemes import INDEXED_TAGS, Morpheme
from shrag.indexing.analysis.normalization import fold
from shrag.indexing.analysis.stopwords import KOREAN_STOPWORDS

Morphemes = Sequence[Morpheme]
RULES_1 = frozenset({*INDEXED_TAGS, "XSN"})
KOREAN = re.compile("[\uac00-\ud7a3\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
NOUNS = frozenset({"NNG", "NNP", "NR", "XR", "SH"})


@cache
def default_words(text: str) -> Sequence[str]:
    """Return the terms of the words of ``text`` by the rules in use."""
    return [found.term for found in find_words(text)]


@dataclass(frozen=True)
class Rules:
    """How an eojeol becomes terms; ``extra`` adds to what is kept of its morphemes after ``change``."""

    source: str = "plain"
    tags: frozenset[str] = RULES_1
    korean_stop: frozenset[str] = KOREAN_STOPWORDS
    stemmer: str = "english"
    extra: tuple[Callable[[str, Morphemes], Iterable[str]], ...] = ()
    pairs: Callable[[str, Morphemes, str, Morphemes], Iterable[str]] | None = None
    change: Callable[[Morphemes], Morphemes] = lambda morphemes: morphemes
    words: Callable[[str], Iterable[str]] = default_words

    def terms(self, eojeol: str, morphemes: Mapping[str, Morphemes]) -> list[str]:
        """Return the terms of one eojeol, or of a pair, whose folded forms are in ``morphemes``."""
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
