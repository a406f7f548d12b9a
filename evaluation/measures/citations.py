"""Citation precision and recall of an answer; accuracy, precision and recall of refusals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shrag.serving.answering.citations import citation_precision
from shrag.serving.events import Answer


class CitationSupport(NamedTuple):
    """Shares of the citations whose sentence is supported (precision) and of the supported sentences (recall).

    Precision is None where nothing is cited, recall where there is no sentence besides the title.
    """

    precision: float | None
    recall: float | None


def citation_support(answer: Answer) -> CitationSupport:
    """Return citation precision and recall, by the check that marked the answer's sentences.

    The measures are those of ALCE (Gao et al., Enabling Large Language Models to Generate Text with Citations, 2023).
    ALCE has a model decide whether a citation supports its sentence; here a rule does
    (:mod:`shrag.serving.answering.citations`). A title is not a statement and does not count in recall. A sentence
    without a citation counts as unsupported.
    """
    sentences = [each for section in answer.sections if section.part != "title" for each in section.sentences]
    supported = sum(each.supported and bool(each.citations) for each in sentences)
    return CitationSupport(citation_precision(answer), supported / len(sentences) if sentences else None)


class Refusals(NamedTuple):
    """Numbers of questions that were refused or answered, rightly or wrongly.

    A refusal is right where the collection has no answer, an answer where it has one.
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
    """Count refusals and answers, given pairs (refused, answerable), one per question.

    An :class:`~shrag.serving.events.Answer` is a refusal if its ``reason`` is not empty.
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


def _share(part: int, total: int) -> float | None:
    return part / total if total else None
