"""Citation precision and recall of an answer."""

from __future__ import annotations

from typing import NamedTuple

from shrag.serving.answering.citations import citation_precision
from shrag.serving.events import Answer


class CitationSupport(NamedTuple):
    """Citation precision and recall of an answer.

    Both are None for an extractive answer: its sentences are always in the records that they are quoted from.

    Attributes:
        precision: Share of the citations whose sentence is supported; None if nothing is cited.
        recall: Share of the sentences that their citations support; None if there is no sentence besides the title.
    """

    precision: float | None
    recall: float | None


def citation_support(answer: Answer) -> CitationSupport:
    """Return the citation precision and recall of an answer.

    The measures are those of ALCE (Gao et al., Enabling Large Language Models to Generate Text with Citations, 2023).
    In ALCE a model decides whether a citation supports its sentence. Here a rule has decided it and marked the answer's
    sentences (:mod:`shrag.serving.answering.citations`). A title is not a statement and does not count in recall. A
    sentence without a citation counts as unsupported.
    """
    if answer.kind == "extractive":
        return CitationSupport(None, None)
    sentences = [each for section in answer.sections if section.part != "title" for each in section.sentences]
    supported = sum(each.supported and bool(each.citations) for each in sentences)
    return CitationSupport(citation_precision(answer), supported / len(sentences) if sentences else None)
