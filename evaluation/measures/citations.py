"""Citation precision and recall of an answer."""

from __future__ import annotations

from typing import NamedTuple

from shrag.serving.answering.citations import citation_precision
from shrag.serving.events import Answer


class CitationSupport(NamedTuple):
    """Shares of the citations whose sentence is supported (precision) and of the supported sentences (recall).

    Precision is None where nothing is cited, recall where there is no sentence besides the title, and both of an
    extractive answer, whose sentences are always in the records that they are quoted from.
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
    if answer.kind == "extractive":
        return CitationSupport(None, None)
    sentences = [each for section in answer.sections if section.part != "title" for each in section.sentences]
    supported = sum(each.supported and bool(each.citations) for each in sentences)
    return CitationSupport(citation_precision(answer), supported / len(sentences) if sentences else None)
