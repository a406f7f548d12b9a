"""Term boundary detection: where a Korean term before a bracket begins.

In ``… 은닉 마르코프 모델(Hidden Markov Model)`` the term may be 모델, 마르코프 모델, or more. A word with a particle
or a verb ending cannot be part of it. The best of the remaining candidates occurs in most contexts of the English term,
translates its words, and has about as many words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Token

Confidence = Callable[[str, str], float]
"""Korean and English term → confidence, from 0 to 1, that they mean the same."""

_HANGUL = re.compile("[\uac00-\ud7a3]")
_UNKNOWN_KOREAN = 0.55
_UNKNOWN_ENGLISH = 0.45
_LENGTH_WEIGHT = 0.45
_SUPPORT_WEIGHT = 1.0
_BREAK_BONUS = 0.35
# Words that stand before terms and never belong to one.
_NEVER_IN_TERM = frozenset(
    "과 와 의 을 를 은 는 가 에 로 본 이 그 각 및 등 또는 혹은 즉 위 총 "
    "약 한 두 세 새 저 주로 특히 최근 기존 다양 대표 주요 관련 이용 활용 통해 대한 위한 소위 이른바 "
    "논문 연구 결과 따라 중 후 전 때 것 수 위해 같은 있는 하는 되는 된 한국 우리나라 사용 적용".split()
)


class Candidate(NamedTuple):
    """A candidate for a Korean term.

    ``contexts`` counts the contexts that end with it. ``beginnings`` counts those of them that show that a phrase
    begins with it.
    """

    words: tuple[str, ...]
    terms: tuple[str, ...]
    contexts: int
    beginnings: int


def phrase_words(words: Sequence[str], tokens: Sequence[Sequence[Token]]) -> int:
    """Return how many of the last ``words`` before a bracket form one noun phrase; each has its ``tokens``."""
    count = 0
    for word, found in zip(reversed(words), reversed(tokens), strict=True):
        if not _may_be_in_phrase(word, found, last=count == 0):
            break
        count += 1
    return count


def _may_be_in_phrase(word: str, tokens: Sequence[Token], *, last: bool) -> bool:
    if not tokens or word in _NEVER_IN_TERM:
        return False
    if any(token.kind == "predicate" for token in tokens):
        return False
    if not any(token.kind in KEYWORD_KINDS for token in tokens) and not last:
        return False
    # Characters at the end of a word that belong to no token are a particle or an ending.
    return max(token.end for token in tokens) >= len(word.rstrip("\"'.,"))


def choose_term(
    candidates: Sequence[Candidate], english: Sequence[str], contexts: int, confidence: Confidence
) -> Candidate | None:
    """Return the best candidate, or None if no candidate has terms.

    ``contexts`` is the number of all contexts; ``confidence`` compares two terms.
    """
    return max(
        (candidate for candidate in candidates if candidate.terms),
        key=lambda candidate: (_value(candidate, english, contexts, confidence), len(candidate.words)),
        default=None,
    )


def _value(candidate: Candidate, english: Sequence[str], contexts: int, confidence: Confidence) -> float:
    unknown_korean = sum(
        max(0.0, _UNKNOWN_KOREAN - _best(confidence(term, other) for other in english)) for term in candidate.terms
    )
    unknown_english = sum(
        max(0.0, _UNKNOWN_ENGLISH - _best(confidence(term, other) for term in candidate.terms)) for other in english
    )
    length = abs(len(candidate.terms) - len(english))
    support = math.log(candidate.contexts / contexts)
    begins = candidate.beginnings / candidate.contexts
    return (
        -unknown_korean - unknown_english - _LENGTH_WEIGHT * length + _SUPPORT_WEIGHT * support + _BREAK_BONUS * begins
    )


def mean_confidence(korean: Sequence[str], english: Sequence[str], confidence: Confidence) -> float:
    """Return the mean, over the terms of both sides, of the best confidence with a term of the other side."""
    sides = [_best(confidence(term, other) for other in english) for term in korean]
    sides += [_best(confidence(term, other) for term in korean) for other in english]
    return sum(sides) / len(sides) if sides else 0.0


def count_candidates(
    chains: Mapping[tuple[tuple[str, ...], bool], int], terms_of: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> list[Candidate]:
    """Count every ending of the noun phrases before brackets.

    Args:
        chains: Noun phrases with their counts. The flag is true if the text before the phrase (a particle, a comma)
            shows that the phrase begins there.
        terms_of: Words → terms.
    """
    contexts: Counter[tuple[str, ...]] = Counter()
    beginnings: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], tuple[str, ...]] = {}
    for (chain, closed), count in chains.items():
        for size in range(1, len(chain) + 1):
            words = chain[-size:]
            terms = terms_of(words)
            written.setdefault(terms, words)
            contexts[terms] += count
            if closed and size == len(chain):
                beginnings[terms] += count
    return [Candidate(written[terms], terms, count, beginnings[terms]) for terms, count in contexts.items()]


def _best(values: Iterable[float]) -> float:
    return max(values, default=0.0)
