"""Read the topics of an experiment's set with their judgements and references, or a sample drawn by seed."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import shrag.corpora
from shrag.corpora.formats.topics import read_qrels, read_text_lines, read_topics
from shrag.corpora.records import Qrel, Topic
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.spec import JudgedSet, Selection
from shrag.evaluation.questions.question_table import KIND, read_question_table
from shrag.evaluation.questions.reference_answers import Reference, encode_references, read_references
from shrag.messages.text import Text, joined

BUNDLED_PREFIX = "shrag:"
"""Prefix of paths in the folder of :mod:`shrag.corpora`, such as that of the demonstration corpus."""


def resolve_data_path(given: str, data: Path) -> Path:
    """Return the path of a file or folder that an experiment names.

    ``given`` is absolute, relative to ``data``, or begins with :data:`BUNDLED_PREFIX`. Raises
    :class:`ExperimentRejected` if there is no such file or folder.
    """
    bundled = given.startswith(BUNDLED_PREFIX)
    path = Path(shrag.corpora.__path__[0]) / given.removeprefix(BUNDLED_PREFIX) if bundled else data / given
    if not path.exists():
        raise ExperimentRejected(
            Text(
                "The experiment's {given} does not exist ({path} is missing): give the folder of its files by "
                "--data or SHRAG_DATA.",
                given=given,
                path=path,
            )
        )
    return path


@dataclass(frozen=True)
class JudgedQuestions:
    """The questions of a set that can be evaluated.

    Attributes:
        topics: The questions in the file's order. They are judged or known to have no answer; in a set without
            judgements, they have a reference.
        qrels: The judgements of these questions.
        unjudged_topics: Number of topics in the file that cannot be evaluated.
        missing_topics: Number of judged topics that the file lacks; 0 with a subset.
        references: The reference answers of these questions.
    """

    topics: tuple[Topic, ...]
    qrels: tuple[Qrel, ...]
    unjudged_topics: int
    missing_topics: int
    references: tuple[Reference, ...] = ()

    @cached_property
    def judged(self) -> dict[str, dict[str, int]]:
        """Qid → docid → relevance."""
        judged: dict[str, dict[str, int]] = {topic.qid: {} for topic in self.topics}
        for qrel in self.qrels:
            judged[qrel.qid][qrel.docid] = qrel.relevance
        return judged

    @property
    def digest(self) -> str:
        """The SHA-256 of topics, judgements and references."""
        lines = [*(f"{qid}\t{text}\n" for qid, text in self.topics), *(qrels_line(qrel) for qrel in self.qrels)]
        return hashlib.sha256("".join(lines).encode() + encode_references(self.references)).hexdigest()


def qrels_line(qrel: Qrel) -> str:
    """Return a judgement as a line of a TREC qrels file."""
    return f"{qrel.qid} 0 {qrel.docid} {qrel.relevance}\n"


def read_questions(judged_set: JudgedSet, data: Path, seed: int) -> JudgedQuestions:
    """Read the questions of a set, limited to its ``subset`` and ``sample``; ``seed`` draws the sample.

    All its ``unanswerable`` questions follow. Neither the subset nor the sample limits them.

    Raises:
        ExperimentRejected: A file is missing, a listed question cannot be evaluated, no question is left, or a question
            is also among the unanswerable ones.
    """
    topics = read_topics(resolve_data_path(judged_set.topics, data))
    qrels = read_qrels(resolve_data_path(judged_set.qrels, data)) if judged_set.qrels else []
    judged = {qrel.qid for qrel in qrels}
    source = judged_set.reference_source
    references = read_references(resolve_data_path(source.path, data), source) if source else {}
    # A question that no record answers has no relevant record, so it needs no judgement.
    without_judgement = {
        qid for qid, reference in references.items() if not (judged_set.qrels and reference.answerable)
    }
    evaluated = judged | without_judgement
    asked = [topic for topic in topics if topic.qid in evaluated]
    missing_topics = len((judged or evaluated) - {topic.qid for topic in topics})
    if judged_set.subset is not None:
        asked, missing_topics = _in_subset(asked, judged_set, judged_set.subset, data), 0
    if judged_set.sample is not None:
        asked = sample_topics(asked, judged_set.sample, seed)
    if not asked:
        judging = judged_set.qrels or (source.path if source else Text("nothing"))
        raise ExperimentRejected(
            Text(
                "No question of {topics} is judged in {judging}: name files that belong together.",
                topics=judged_set.topics,
                judging=judging,
            )
        )
    if unanswerable := _unanswerable(judged_set, data):
        # Answerable questions need a reference too: figures of answers cover only questions with one.
        references |= {topic.qid: Reference(topic.qid) for topic in asked if topic.qid not in references}
        for topic, reference in unanswerable:
            if topic.qid in evaluated:
                raise ExperimentRejected(
                    Text(
                        "The set {name} has {qid!r} among its questions and among the unanswerable ones: "
                        "rename or delete one of the two.",
                        name=judged_set.name,
                        qid=topic.qid,
                    )
                )
            asked.append(topic)
            references[topic.qid] = reference
    qids = {topic.qid for topic in asked}
    return JudgedQuestions(
        topics=tuple(asked),
        qrels=tuple(qrel for qrel in qrels if qrel.qid in qids),
        unjudged_topics=sum(topic.qid not in evaluated for topic in topics),
        missing_topics=missing_topics,
        references=tuple(references[topic.qid] for topic in asked if topic.qid in references),
    )


def check_compared(sets: Sequence[JudgedSet], questions: Mapping[str, JudgedQuestions]) -> None:
    """Check that each set has a judged question in common with the set that it is compared with.

    ``questions`` has the questions of each set by its name. Raises :class:`ExperimentRejected` for the first set that
    has none.
    """
    judged = {name: {qrel.qid for qrel in each.qrels} for name, each in questions.items()}
    for each in sets:
        if each.compare_with and judged[each.name].isdisjoint(judged[each.compare_with]):
            raise ExperimentRejected(
                Text(
                    "The sets {set_name} and {other} have no judged question in common, so that they cannot be "
                    "compared: leave out compare_with.",
                    set_name=each.name,
                    other=each.compare_with,
                )
            )


def sample_topics(topics: Sequence[Topic], size: int, seed: int) -> list[Topic]:
    """Return a sample of ``size`` topics in their order, or all if there are fewer.

    The topics with the smallest SHA-256 of seed and qid are drawn. So a larger sample contains a smaller one. Adding or
    removing a topic does not change the order in which the others are drawn.
    """
    order = sorted(topics, key=lambda topic: hashlib.sha256(f"{seed}\t{topic.qid}".encode()).digest())
    drawn = {topic.qid for topic in order[:size]}
    return [topic for topic in topics if topic.qid in drawn]


def _unanswerable(judged_set: JudgedSet, data: Path) -> list[tuple[Topic, Reference]]:
    source = judged_set.unanswerable_source
    if source is None:
        return []
    topics = read_topics(resolve_data_path(source.topics, data))
    kinds = read_question_table(resolve_data_path(source.kinds, data), KIND) if source.kinds else {}
    return [
        (topic, Reference(topic.qid, answerable=False, kind=kinds[topic.qid][KIND] if topic.qid in kinds else ""))
        for topic in topics
    ]


def _in_subset(topics: Sequence[Topic], judged_set: JudgedSet, subset: Selection, data: Path) -> list[Topic]:
    """Return the topics that the subset lists. Raise :class:`ExperimentRejected` if one of the list is missing."""
    listed = _listed(subset, data)
    missing = sorted(listed - {topic.qid for topic in topics})
    if missing:
        raise ExperimentRejected(
            Text(
                "{path} lists {missing!r}, which is not in {topics} or not judged in {qrels}: name the "
                "files that the list belongs to.",
                path=subset.path,
                missing=missing[0],
                topics=judged_set.topics,
                qrels=judged_set.qrels,
            )
        )
    return [topic for topic in topics if topic.qid in listed]


def _listed(selection: Selection, data: Path) -> set[str]:
    path = resolve_data_path(selection.path, data)
    if isinstance(selection.where, dict):
        return _listed_in_table(selection.path, path, selection.where)
    rows = [unicodedata.normalize("NFC", text).split() for _, text in read_text_lines(path)]
    listed = {row[-1] for row in rows if tuple(row[: len(selection.where)]) == selection.where}
    if not listed:
        raise ExperimentRejected(
            Text(
                "{path} lists no question for {where}.",
                path=selection.path,
                where=" ".join(selection.where) or Text("anything"),
            )
        )
    return listed


def _listed_in_table(given: str, path: Path, where: Mapping[str, str | tuple[str, ...]]) -> set[str]:
    wanted_values = {column: (value,) if isinstance(value, str) else value for column, value in where.items()}
    rows = read_question_table(path, *where)
    listed = {qid for qid, row in rows.items() if all(row[name] in values for name, values in wanted_values.items())}
    if not listed:
        wanted = joined(
            (
                Text("{column} {values}", column=column, values=joined(values, Text(" or ")))
                for column, values in wanted_values.items()
            ),
            ", ",
        )
        raise ExperimentRejected(Text("{path} lists no question for {where}.", path=given, where=wanted))
    return listed
