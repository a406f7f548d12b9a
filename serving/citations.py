"""The citation gate: whatever wrote an answer, what it cites must exist and what it quotes must stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shrag.corpora.records import Record
from shrag.serving.events import Answer, Section, Sentence


def check_quotes(answer: Answer, evidence: Sequence[Record]) -> Answer:
    """Return the answer with every sentence marked sound or not.

    A sentence is sound where it cites nothing, or where each number it cites is one of ``evidence`` (numbered from 1)
    and the sentence stands in that record's title or text, character for character.
    """
    return replace(
        answer,
        sections=tuple(
            Section(section.part, tuple(_checked(sentence, evidence) for sentence in section.sentences))
            for section in answer.sections
        ),
    )


def _checked(sentence: Sentence, evidence: Sequence[Record]) -> Sentence:
    sound = all(
        1 <= number <= len(evidence)
        and (sentence.text in evidence[number - 1].text or sentence.text in evidence[number - 1].title)
        for number in sentence.citations
    )
    return replace(sentence, sound=sound)
