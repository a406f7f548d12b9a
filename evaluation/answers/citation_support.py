"""Citation precision and recall of an answer, by the gate that serves it (docs/answers.md)."""

from __future__ import annotations

from typing import NamedTuple

from shrag.serving.citations import citation_precision
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
    a model whether a citation bears its sentence out; here :func:`shrag.serving.support.doubt_about` says so, by rule.
    A title is no statement and does not count in recall; a sentence without a citation is one that does not hold.
    """
    sentences = [each for section in answer.sections if section.part != "title" for each in section.sentences]
    held = sum(each.sound and bool(each.citations) for each in sentences)
    return CitationSupport(citation_precision(answer), held / len(sentences) if sentences else None)
