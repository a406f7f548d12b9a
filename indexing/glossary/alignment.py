"""IBM Model 1 word alignment.

A Korean title above an English abstract says the same thing twice without saying where. Over many such records each
title term is explained by the abstract term that turns up with it most and has no better use: IBM's first model of
translation (Brown et al. 1993), with the abstract as the source and the title as what it generates, and an empty word
for titles' terms that nothing in the abstract explains.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ITERATIONS = 8
_EMPTY_WORD_SMOOTHING = 3.0
_MIN_TOGETHER = 2


class Bitext(NamedTuple):
    """The terms of one text in each language, said to mean the same; ``records`` is how many say so."""

    korean: frozenset[str]
    english: frozenset[str]
    records: int = 1


class TermPair(NamedTuple):
    """Two terms that explain each other.

    ``share`` is the share of the Korean term's uses that the English one explains, ``together`` how many texts have
    both, ``association`` Dunning's log-likelihood ratio of that (1993): over 10.8 chance is one in a thousand.
    """

    korean: str
    english: str
    share: float
    back_share: float
    together: int
    association: float


def align_terms(bitexts: Sequence[Bitext]) -> list[TermPair]:
    """Return the pairs of terms that at least two texts have, in no order. Time and memory grow with Σ |ko| · |en|."""
    korean = _numbers(term for bitext in bitexts for term in sorted(bitext.korean))
    english = _numbers(term for bitext in bitexts for term in sorted(bitext.english))
    if not korean or not english:
        return []
    empty = len(english)
    links = _links(bitexts, korean, english)
    keys, inverse = np.unique(links.pair_keys(len(korean)), return_inverse=True)
    weights = np.bincount(inverse, links.weight, len(keys))
    # A pair of one text is as likely chance: such links are left to the empty word.
    wanted = (weights[inverse] >= _MIN_TOGETHER) | (links.english == empty)
    links = links.where(wanted)
    keys, inverse = np.unique(links.pair_keys(len(korean)), return_inverse=True)
    expected = _expectation_maximisation(links, keys, inverse, len(korean), empty)
    together = np.bincount(inverse, links.weight, len(keys)).astype(np.float64)
    return _pairs(bitexts, list(korean), list(english), keys, expected, together)


class _Links(NamedTuple):
    """Every way a Korean occurrence could be explained; ``occurrence`` groups those of one."""

    korean: NDArray[np.int64]
    english: NDArray[np.int64]
    occurrence: NDArray[np.int64]
    weight: NDArray[np.float64]

    def pair_keys(self, korean_terms: int) -> NDArray[np.int64]:
        return self.english * korean_terms + self.korean

    def where(self, wanted: NDArray[np.bool_]) -> _Links:
        return _Links(self.korean[wanted], self.english[wanted], self.occurrence[wanted], self.weight[wanted])


def _numbers(terms: Iterable[str]) -> dict[str, int]:
    return {term: number for number, term in enumerate(dict.fromkeys(terms))}


def _links(bitexts: Sequence[Bitext], korean: dict[str, int], english: dict[str, int]) -> _Links:
    targets: list[NDArray[np.int64]] = []
    sources: list[NDArray[np.int64]] = []
    sizes: list[int] = []
    weights: list[float] = []
    for bitext in bitexts:
        ours = np.array(sorted(korean[term] for term in bitext.korean), np.int64)
        theirs = np.array([*sorted(english[term] for term in bitext.english), len(english)], np.int64)
        targets.append(np.repeat(ours, len(theirs)))
        sources.append(np.tile(theirs, len(ours)))
        sizes.extend([len(theirs)] * len(ours))
        weights.extend([float(bitext.records)] * len(ours))
    return _Links(
        np.concatenate(targets),
        np.concatenate(sources),
        np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
        np.repeat(np.array(weights), sizes),
    )


def _expectation_maximisation(
    links: _Links, keys: NDArray[np.int64], inverse: NDArray[np.intp], korean_terms: int, empty: int
) -> NDArray[np.float64]:
    """Return how many occurrences each pair of ``keys`` explains, after :data:`ITERATIONS` rounds."""
    sources = keys // korean_terms
    probability = np.ones(len(keys))
    expected = np.zeros(len(keys))
    for _ in range(ITERATIONS):
        likelihood = probability[inverse]
        total = np.bincount(links.occurrence, likelihood)[links.occurrence]
        expected = np.bincount(inverse, links.weight * likelihood / total, len(keys)).astype(np.float64)
        mass = np.bincount(sources, expected, empty + 1) + _EMPTY_WORD_SMOOTHING
        probability = expected / mass[sources]
    return expected


def _pairs(
    bitexts: Sequence[Bitext],
    korean: list[str],
    english: list[str],
    keys: NDArray[np.int64],
    expected: NDArray[np.float64],
    together: NDArray[np.float64],
) -> list[TermPair]:
    has_korean: Counter[str] = Counter()
    has_english: Counter[str] = Counter()
    for bitext in bitexts:
        has_korean.update(dict.fromkeys(bitext.korean, bitext.records))
        has_english.update(dict.fromkeys(bitext.english, bitext.records))
    texts = sum(bitext.records for bitext in bitexts)
    explained = np.bincount(keys // len(korean), expected, len(english) + 1)
    pairs: list[TermPair] = []
    for key, count, joint in zip(keys.tolist(), expected.tolist(), together.tolist(), strict=True):
        source, target = divmod(key, len(korean))
        if source < len(english) and count >= 0.5:
            ours, theirs = korean[target], english[source]
            strength = log_likelihood_ratio(int(joint), has_korean[ours], has_english[theirs], texts)
            pairs.append(
                TermPair(ours, theirs, count / has_korean[ours], count / explained[source], int(joint), strength)
            )
    return pairs


def log_likelihood_ratio(together: int, first: int, second: int, texts: int) -> float:
    """Return Dunning's G² that two terms, in ``first`` and ``second`` of ``texts``, are ``together`` by chance.

    0 where they are together as often as chance has it or less.

    >>> log_likelihood_ratio(10, 10, 10, 1000) > 100 > 1 > log_likelihood_ratio(1, 100, 10, 1000)
    True
    """
    if together * texts <= first * second:
        return 0.0
    table = (together, first - together, second - together, texts - first - second + together)
    rows, columns = (first, texts - first), (second, texts - second)
    return 2 * max(0.0, _entropy(table) - _entropy(rows) - _entropy(columns) + _entropy((texts,)))


def _entropy(counts: Sequence[int]) -> float:
    return sum(count * math.log(count) for count in counts if count > 0)
