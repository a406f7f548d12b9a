"""The citation gate: whatever wrote an answer, what it cites must exist and bear it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shrag.corpora.records import Record
from shrag.indexing.analysed import AnalysedRecord
from shrag.indexing.opening import OpenIndex
from shrag.serving.events import Answer, Doubt, Section, Sentence
from shrag.serving.support import doubt_about


def check_quotes(answer: Answer, evidence: Sequence[Record]) -> Answer:
    """Return an extractive answer with every sentence marked sound or not.

    A sentence is sound where it cites nothing, or where each number it cites is one of ``evidence`` (numbered from 1)
    and the sentence stands in that record's title or text, character for character.
    """
    checked = replace(
        answer,
        sections=tuple(
            Section(section.part, tuple(_quoted(sentence, evidence) for sentence in section.sentences))
            for section in answer.sections
        ),
    )
    return replace(checked, precision=citation_precision(checked))


def check_support(sentence: Sentence, evidence: Sequence[AnalysedRecord], index: OpenIndex) -> Sentence:
    """Return a model's sentence marked sound or not, without the numbers it cites that are not of ``evidence``."""
    doubt = doubt_about(sentence, evidence, index)
    there = tuple(number for number in sentence.citations if 1 <= number <= len(evidence))
    return replace(sentence, citations=there, sound=not doubt, doubt=doubt)


def citation_precision(answer: Answer) -> float | None:
    """Return the share of the answer's citations whose sentences are sound, None where it has none.

    A citation of a record that does not exist counts as one that does not hold.
    """
    held = total = 0
    for section in answer.sections:
        for sentence in section.sentences:
            cited = len(sentence.citations) or sentence.doubt == "no_such_record"
            total += cited
            held += cited * sentence.sound
    return held / total if total else None


def _quoted(sentence: Sentence, evidence: Sequence[Record]) -> Sentence:
    doubt: Doubt = ""
    for number in sentence.citations:
        if not 1 <= number <= len(evidence):
            doubt = "no_such_record"
        elif sentence.text not in evidence[number - 1].text and sentence.text not in evidence[number - 1].title:
            doubt = doubt or "quote"
    return replace(sentence, sound=not doubt, doubt=doubt)
