"""Word alignment by IBM Model 1.

Records with a title in one language and an abstract in the other are a comparable corpus. From it Model 1 (Brown et al.
1993) estimates which English term translates each Korean term. The English text is the source, from which the Korean
text is generated. An empty source word generates Korean terms without a translation.
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
    """The terms of a Korean and an English text with the same meaning; ``records`` is the number of such records."""

    korean: frozenset[str]
    english: frozenset[str]
    records: int = 1


class TermPair(NamedTuple):
    """A Korean and an English term that are aligned.

    Attributes:
        korean: The Korean term.
        english: The English term.
        share: The share of the Korean term's occurrences that are aligned with the English term.
        back_share: The share of the English term's alignments that are with the Korean term.
        together: The number of texts with both.
        association: Dunning's log-likelihood ratio (1993) of ``together``; above 10.8, p < 0.001.
    """

    korean: str
    english: str
    share: float
    back_share: float
    together: int
    association: float


def align_terms(bitexts: Sequence[Bitext]) -> list[TermPair]:
    """Align terms and return the pairs that occur in at least two texts, in no order.

    Time and memory are proportional to the sum of |ko| · |en| over the bitexts.
    """
    korean = _numbers(term for bitext in bitexts for term in sorted(bitext.korean))
    english = _numbers(term for bitext in bitexts for term in sorted(bitext.english))
    if not korean or not english:
        return []
    empty = len(english)
    links = _links(bitexts, korean, english)
    keys, inverse = np.unique(links.pair_keys(len(korean)), return_inverse=True)
    weights = np.bincount(inverse, links.weight, len(keys))
    # A pair in a single text may be chance, so its links are dropped. Links with the empty word remain.
    selected = (weights[inverse] >= _MIN_TOGETHER) | (links.english == empty)
    links = links.where(selected)
    keys, inverse = np.unique(links.pair_keys(len(korean)), return_inverse=True)
    expected = _expectation_maximisation(links, keys, inverse, len(korean), empty)
    together = np.bincount(inverse, links.weight, len(keys)).astype(np.float64)
    return _pairs(bitexts, list(korean), list(english), keys, expected, together)


class _Links(NamedTuple):
    """All possible alignments as parallel arrays; ``occurrence`` is the number of the Korean occurrence in each."""

    korean: NDArray[np.int64]
    english: NDArray[np.int64]
    occurrence: NDArray[np.int64]
    weight: NDArray[np.float64]

    def pair_keys(self, korean_terms: int) -> NDArray[np.int64]:
        return self.english * korean_terms + self.korean

    def where(self, selected: NDArray[np.bool_]) -> _Links:
        return _Links(self.korean[selected], self.english[selected], self.occurrence[selected], self.weight[selected])


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
    """Return the expected number of aligned occurrences of each pair of ``keys``, after :data:`ITERATIONS`."""
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
    """Return Dunning's G² of two terms, or 0 where they co-occur as often as expected by chance or less.

    Args:
        together: Texts with both terms.
        first: Texts with the first term.
        second: Texts with the second term.
        texts: All texts.

    >>> log_likelihood_ratio(10, 10, 10, 1000) > 100 > 1 > log_likelihood_ratio(1, 100, 10, 1000)
    True
    """
    if together * texts <= first * second:
        return 0.0
    table = (together, first - together, second - together, texts - first - second + together)
    rows, columns = (first, texts - first), (second, texts - second)
    return 2 * (_entropy(table) - _entropy(rows) - _entropy(columns) + _entropy((texts,)))


def _entropy(counts: Sequence[int]) -> float:
    return sum(count * math.log(count) for count in counts if count > 0)
