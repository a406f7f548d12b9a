"""Calibrate re-ranker scores to values from 0 to 1.

A cross-encoder's score is the logistic function of its output, and is left as it is. A curve puts other scores on that
scale. It is learned from the index without judgments: a sentence of a record is the question, for which this record and
others are scored. The curve is the logistic ``1 / (1 + exp(-(x - middle) / width))`` through two points:

- :data:`CHANCE` at the score that 95 % of the other records are below;
- :data:`VERBATIM` at the median score of a sentence's own record.

Scores by words grow with the length of a question and the rarity of its words. So ``x`` is the score divided by the
question's score for itself, as if the question were a record. Cosines with the vectors of an index are not divided.
Platt, *Probabilistic outputs for support vector machines*, 1999, fits a sigmoid to scores by maximum likelihood. That
does not converge if the two kinds of pairs hardly overlap, as here, so two quantiles are used.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from cachetools import FIFOCache, cached

from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analyzed_record import to_passage
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.storage.manifest import manifest_digest
from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.models.encoders.cross_encoder import CrossEncoderReranker
from shrag.models.reranker import Passage, Reranker

CHANCE, VERBATIM = 0.1, 0.99
"""Values of the curve at its two points, chosen by ``python -m bench.quality.score_calibration``."""

SAMPLED = 100
"""Records from which a curve is learned, evenly spaced over the index."""

_LEAST_RECORDS = 20
_UNLIKELY, _HALF = 0.95, 0.5
_OTHERS = 3  # other records that each sentence is scored with
_LEAST_WIDTH = 0.01
_MOST_CACHED = 32


@dataclass(frozen=True, slots=True)
class Curve:
    """A logistic curve: ``value`` is 0.5 at ``middle``, and 0.73 at ``middle + width``."""

    middle: float
    width: float

    def value(self, score: float) -> float:
        """Return the value of a score; 0 for minus infinity.

        >>> [round(Curve(0.5, 0.1).value(score), 2) for score in (-math.inf, 0.0, 0.5, 1.0)]
        [0.0, 0.01, 0.5, 0.99]
        """
        return 1 / (1 + math.exp(-max(-700.0, min(700.0, (score - self.middle) / self.width))))


USUAL = Curve(0.4, 0.13)
"""The curve of an index too small to learn from; close to those of all development sets."""


class Calibration:
    """Calibration of one re-ranker over one index by ``curve``; if that is None, scores are left as they are."""

    def __init__(self, reranker: Reranker, index: OpenIndex, curve: Curve | None) -> None:
        self._reranker = reranker
        self._index = index
        self.curve = curve

    def values(self, question: str, scores: Sequence[float]) -> list[float]:
        """Return the calibrated values, from 0 to 1, of ``scores`` for ``question``."""
        if self.curve is None:
            return [max(0.0, score) for score in scores]
        own = _own_score(question, self._reranker, self._index)
        return [self.curve.value(score / own) for score in scores]


def calibrate(reranker: Reranker, index: OpenIndex) -> Calibration:
    """Return the calibration of a re-ranker over an index."""
    curve = None if isinstance(reranker, CrossEncoderReranker) else _learnt_curve(reranker, index)
    return Calibration(reranker, index, curve)


def learn_curve(reranker: Reranker, index: OpenIndex) -> Curve:
    """Return the curve of a re-ranker over an index; :data:`USUAL` if there are too few records with text."""
    sample = [analyzed for analyzed in index.store.sample(SAMPLED) if analyzed.sentence_terms]
    if len(sample) < _LEAST_RECORDS:
        return USUAL
    passages = [to_passage(analyzed) for analyzed in sample]
    # The others are evenly spaced, since neighbors in an index are often about the same subject.
    steps = [len(sample) * step // (_OTHERS + 1) for step in range(1, _OTHERS + 1)]
    verbatim: list[float] = []
    chance: list[float] = []
    for position, analyzed in enumerate(sample):
        start, end = split_sentences(analyzed.record.text)[len(analyzed.sentence_terms) // 2]
        sentence = analyzed.record.text[start:end]
        scale = _own_score(sentence, reranker, index)
        others = [passages[(position + step) % len(sample)] for step in steps]
        first, *rest = reranker.score(sentence, [passages[position], *others])
        verbatim.append(first / scale)
        chance.extend(score / scale for score in rest)
    return fit(_quantile(chance, _UNLIKELY), _quantile(verbatim, _HALF))


_learnt_curve = cached(
    FIFOCache[tuple[str, str, bool], Curve](_MOST_CACHED),
    key=lambda reranker, index: (manifest_digest(index.manifest), reranker.name, index.glossary is None),
    condition=threading.Condition(),
)(learn_curve)
"""Cached; a concurrent call for the same curve waits for it."""


def fit(chance: float, verbatim: float) -> Curve:
    """Return the curve with :data:`CHANCE` at ``chance`` and :data:`VERBATIM` at ``verbatim``, of a least width.

    >>> curve = fit(0.1, 1.0)
    >>> [round(curve.value(score), 2) for score in (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)]
    [0.05, 0.1, 0.33, 0.69, 0.91, 0.99]
    """
    low, high = (math.log(value / (1 - value)) for value in (CHANCE, VERBATIM))
    width = max(_LEAST_WIDTH, (verbatim - chance) / (high - low))
    return Curve(chance - low * width, width)


def _own_score(question: str, reranker: Reranker, index: OpenIndex) -> float:
    """Return the score of ``question`` for itself as if it were a record; 1 for cosines, or if it is not positive."""
    if isinstance(reranker, VectorReranker):
        return 1.0
    (terms,) = index.analyzer.terms([question])
    (score,) = reranker.score(question, [Passage("", question, (), (terms,))])
    return score if math.isfinite(score) and score > 0 else 1.0


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
