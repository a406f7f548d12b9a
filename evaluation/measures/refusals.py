"""Measures of refusals, and of how well a confidence separates answerable questions from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


class Refusals(NamedTuple):
    """Numbers of questions that were refused or answered, rightly or wrongly.

    A refusal is right if the collection has no answer. An answer is right if the collection has one.
    """

    refused_rightly: int
    refused_wrongly: int
    answered_rightly: int
    answered_wrongly: int

    @property
    def accuracy(self) -> float | None:
        """Share of the questions that were rightly refused or answered; None without questions."""
        return _share(self.refused_rightly + self.answered_rightly, sum(self))

    @property
    def precision(self) -> float | None:
        """Share of the refusals that were right; None without refusals."""
        return _share(self.refused_rightly, self.refused_rightly + self.refused_wrongly)

    @property
    def recall(self) -> float | None:
        """Share of the questions without an answer that were refused; None without such questions."""
        return _share(self.refused_rightly, self.refused_rightly + self.answered_wrongly)


def refusals(outcomes: Iterable[tuple[bool, bool]]) -> Refusals:
    """Count refusals and answers.

    Args:
        outcomes: A pair (refused, answerable) for each question. An :class:`~shrag.serving.events.Answer` is a refusal
            if its ``reason`` is not empty.
    """
    counts = {(refused, answerable): 0 for refused in (True, False) for answerable in (True, False)}
    for refused, answerable in outcomes:
        counts[refused, answerable] += 1
    return Refusals(
        refused_rightly=counts[True, False],
        refused_wrongly=counts[True, True],
        answered_rightly=counts[False, True],
        answered_wrongly=counts[False, False],
    )


def confidence_auc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float | None:
    """Return the area under the ROC curve of a confidence, from 0 to 1; None if either side has no question.

    It is the probability that an answerable question has a higher confidence than an unanswerable one. Equal
    confidences count one half (Hanley and McNeil, The Meaning and Use of the Area under a Receiver Operating
    Characteristic (ROC) Curve, Radiology 143, 1982).

    >>> confidence_auc([0.9, 0.4], [0.4, 0.1])
    0.875
    """
    if not len(answerable) or not len(unanswerable):
        return None
    others = np.sort(np.asarray(unanswerable, dtype=np.float64))
    lower = np.searchsorted(others, answerable, side="left")
    no_higher = np.searchsorted(others, answerable, side="right")
    return float((lower + no_higher).mean() / (2 * len(others)))


def _share(part: int, total: int) -> float | None:
    return part / total if total else None
