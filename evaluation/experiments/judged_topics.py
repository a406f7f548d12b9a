"""Topics of an experiment's set, with their judgements and a sample by seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import shrag.corpora
from shrag.corpora.formats.topics import read_qrels, read_text_lines, read_topics
from shrag.corpora.records import Qrel, Topic
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.spec import JudgedSet, Selection
from shrag.evaluation.questions.reference_answers import Reference, encode_references, read_references

SHIPPED = "shrag:"
"""A path behind this lies in the folder of :mod:`shrag.corpora`: the demonstration corpus does."""


def find_data(named: str, data: Path) -> Path:
    """Return the file or folder that an experiment names; raises :class:`ExperimentRejected` where it is not there.

    A path is relative to ``data``, or absolute as the user wrote it.
    """
    shipped = named.startswith(SHIPPED)
    path = Path(shrag.corpora.__path__[0]) / named.removeprefix(SHIPPED) if shipped else data / named
    if not path.exists():
        raise ExperimentRejected(
            f"The experiment's {named} is not there ({path} is missing): say where its files are with --data or "
            "SHRAG_DATA."
        )
    return path


@dataclass(frozen=True)
class JudgedQuestions:
    """``topics`` in the file's order, each of them judged, or known to have no answer; ``qrels`` are theirs alone.

    Of a set without judgements, they are those with a reference.

    ``unjudged`` topics of the file have no judgement, ``unasked`` judged ones no question: neither can be counted.
    ``references`` are those of the topics that have one.
    """

    topics: tuple[Topic, ...]
    qrels: tuple[Qrel, ...]
    unjudged: int
    unasked: int
    references: tuple[Reference, ...] = ()

    @cached_property
    def judged(self) -> dict[str, dict[str, int]]:
        """The relevance of each judged record, by question."""
        judged: dict[str, dict[str, int]] = {topic.qid: {} for topic in self.topics}
        for qrel in self.qrels:
            judged[qrel.qid][qrel.docid] = qrel.relevance
        return judged

    @property
    def digest(self) -> str:
        """The SHA-256 of what is asked and what counts as found."""
        lines = [*(f"{qid}\t{text}\n" for qid, text in self.topics), *(qrels_line(qrel) for qrel in self.qrels)]
        return hashlib.sha256("".join(lines).encode() + encode_references(self.references)).hexdigest()


def qrels_line(qrel: Qrel) -> str:
    """Return a judgement as TREC writes it."""
    return f"{qrel.qid} 0 {qrel.docid} {qrel.relevance}\n"


def read_questions(judged_set: JudgedSet, data: Path, seed: int) -> JudgedQuestions:
    """Read what is asked of a set; raises :class:`ExperimentRejected` where nothing is left to ask."""
    topics = read_topics(find_data(judged_set.topics, data))
    qrels = read_qrels(find_data(judged_set.qrels, data)) if judged_set.qrels else []
    judged = {qrel.qid for qrel in qrels}
    source = judged_set.reference_source
    references = read_references(find_data(source.path, data), source) if source else {}
    # What no record answers has no relevant record to judge.
    unjudgeable = {qid for qid, reference in references.items() if not (judged_set.qrels and reference.answerable)}
    counting = judged | unjudgeable
    asked = [topic for topic in topics if topic.qid in counting]
    unasked = len((judged or counting) - {topic.qid for topic in topics})
    if judged_set.only is not None:
        listed = _listed(judged_set.only, data)
        missing = sorted(listed - {topic.qid for topic in asked})
        if missing:
            raise ExperimentRejected(
                f"{judged_set.only.path} lists {missing[0]!r}, which {judged_set.topics} does not ask or "
                f"{judged_set.qrels} does not judge: name the files the list belongs to."
            )
        asked, unasked = [topic for topic in asked if topic.qid in listed], 0
    if judged_set.sample is not None:
        asked = sample_topics(asked, judged_set.sample, seed)
    if not asked:
        judging = judged_set.qrels or (source.path if source else "nothing")
        raise ExperimentRejected(
            f"No question of {judged_set.topics} is judged in {judging}: name files that belong together."
        )
    kept = {topic.qid for topic in asked}
    return JudgedQuestions(
        topics=tuple(asked),
        qrels=tuple(qrel for qrel in qrels if qrel.qid in kept),
        unjudged=sum(topic.qid not in counting for topic in topics),
        unasked=unasked,
        references=tuple(references[topic.qid] for topic in asked if topic.qid in references),
    )


def sample_topics(topics: Sequence[Topic], size: int, seed: int) -> list[Topic]:
    """Return ``size`` of the topics, all where there are fewer, in their order.

    Those with the smallest digest of seed and qid are drawn, so that a sample depends on nothing but these: a larger
    one holds a smaller one, and a topic that is added or left out changes no other's place.
    """
    order = sorted(topics, key=lambda topic: hashlib.sha256(f"{seed}\t{topic.qid}".encode()).digest())
    drawn = {topic.qid for topic in order[:size]}
    return [topic for topic in topics if topic.qid in drawn]


def _listed(selection: Selection, data: Path) -> set[str]:
    path = find_data(selection.path, data)
    rows = [text.split() for _, text in read_text_lines(path)]
    listed = {row[-1] for row in rows if tuple(row[: len(selection.where)]) == selection.where}
    if not listed:
        raise ExperimentRejected(f"{selection.path} lists no question for {' '.join(selection.where) or 'anything'}.")
    return listed
