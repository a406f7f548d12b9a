"""Whether a system answers what it can and refuses what it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Refusals(NamedTuple):
    """Counts over questions: refused or answered, and whether the collection has an answer."""

    refused_rightly: int
    refused_wrongly: int
    answered_rightly: int
    answered_wrongly: int

    @property
    def accuracy(self) -> float | None:
        """The share of questions that were refused or answered as they should be; None over no question."""
        return _share(self.refused_rightly + self.answered_rightly, sum(self))

    @property
    def precision(self) -> float | None:
        """The share of refusals that were right; None where nothing was refused."""
        return _share(self.refused_rightly, self.refused_rightly + self.refused_wrongly)

    @property
    def recall(self) -> float | None:
        """The share of questions without an answer that were refused; None where there is no such question."""
        return _share(self.refused_rightly, self.refused_rightly + self.answered_wrongly)


def refusals(outcomes: Iterable[tuple[bool, bool]]) -> Refusals:
    """Count pairs of whether a question was refused and whether the collection can answer it.

    An :class:`~shrag.serving.events.Answer` is a refusal where its ``reason`` is not empty.
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


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
