"""Results folders that are written by hand: no index is asked, so tests know every ranking beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from shrag.corpora.records import Qrel, Topic
from shrag.evaluation.experiments.judged_topics import JudgedQuestions
from shrag.evaluation.experiments.part import ExperimentPart, write_part
from shrag.evaluation.experiments.provenance import CodeVersion, Hardware
from shrag.evaluation.experiments.run_card import (
    FORMAT_VERSION,
    ModelIdentity,
    RunCard,
    RunIdentity,
    Session,
    write_card,
)
from shrag.evaluation.experiments.spec import Experiment
from shrag.evaluation.questions.outcome import record_ranking
from shrag.evaluation.questions.reference_answers import Reference
from shrag.evaluation.reports.result_folder import file_digests, write_questions
from shrag.indexing.search_engine import Hit

Rankings = Mapping[str, Sequence[str]]
"""Qid → docids, best first."""


def hand_written_card(experiment: Experiment, stochastic: Iterable[str] = (), model: str = "") -> RunCard:
    """Return a run card of the experiment without questions, indexes and files."""
    identity = RunIdentity(
        format_version=FORMAT_VERSION,
        experiment=experiment,
        stochastic_conditions=tuple(stochastic),
        questions={},
        indexes={},
        prompts="p",
        model=ModelIdentity(model, "m" if model else ""),
        models={},
        code="c",
        versions={},
    )
    return RunCard(
        identity=identity,
        fingerprint="f",
        code=CodeVersion("c", "", None),
        hardware=Hardware("A processor", 2, 2**30, "Linux", ()),
        sessions=(Session(("shrag",), "10:00", 1, "11:00"),),
    )


def seal_results(folder: Path, card: RunCard) -> Path:
    """Write the card with the checksums of the folder's files, as the end of a run does."""
    write_card(folder, msgspec.structs.replace(card, files=file_digests(folder)))
    return folder


def write_set(
    folder: Path,
    name: str,
    grades: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Rankings],
    references: Sequence[Reference] = (),
) -> None:
    """Write the questions of a set and what each of its parts ranked.

    ``grades`` is qid → docid → grade, ``rankings`` condition → qid → docids. The condition may have a repeat: ``or.2``.
    """
    topics = tuple(Topic(qid, f"Question {qid}?") for qid in grades)
    qrels = tuple(Qrel(qid, docid, grade) for qid, judged in grades.items() for docid, grade in judged.items())
    write_questions(folder, name, JudgedQuestions(topics, qrels, 0, 0, tuple(references)))
    for condition, ranking in rankings.items():
        records = [
            record_ranking(qid, [Hit(docid, float(-at)) for at, docid in enumerate(ranking.get(qid, ()))], dict(judged))
            for qid, judged in grades.items()
        ]
        plain, _, repeat = condition.partition(".")
        write_part(folder, ExperimentPart(name, plain, int(repeat or 0)), records)
