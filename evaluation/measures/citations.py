"""Citation precision and recall of an answer, and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shrag.serving.answering.citations import citation_precision
from shrag.serving.events import Answer


class CitationSupport(NamedTuple):
    """Of one answer. Precision: the share of citations whose sentence holds; recall: that of sentences that do.

    Precision is None where nothing is cited, recall where there is no sentence but a title; both are where the system
    refused.
    """

    precision: float | None
    recall: float | None


def citation_support(answer: Answer) -> CitationSupport:
    """Return how far the answer's citations hold, as the gate marked its sentences.

    The terms are ALCE's (Gao et al., Enabling Large Language Models to Generate Text with Citations, 2023), which asks
    a model whether a citation bears its sentence out; here :func:`shrag.serving.answering.citations.doubt_about` says
    so, by rule. A title is no statement and does not count in recall; a sentence without a citation is one that does
    not hold.
    """
    sentences = [each for section in answer.sections if section.part != "title" for each in section.sentences]
    held = sum(each.sound and bool(each.citations) for each in sentences)
    return CitationSupport(citation_precision(answer), held / len(sentences) if sentences else None)


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
