"""Read the results folder of an experiment: run card, questions, outcomes, and the values of the measures.

The folder has all that is needed to evaluate it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from shrag.corpora.files import FolderBusy, is_name, lock_folder, write_atomically
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.records import Qrel, Topic
from shrag.evaluation.errors import EvaluationError, ResultsMismatch
from shrag.evaluation.experiments.judged_topics import JudgedQuestions, qrels_line
from shrag.evaluation.experiments.part import (
    RUN,
    ExperimentPart,
    QuestionTime,
    is_done,
    part_path,
    read_outcomes,
    read_times,
)
from shrag.evaluation.experiments.run_card import RunCard, read_card
from shrag.evaluation.experiments.spec import Condition, Experiment, JudgedSet
from shrag.evaluation.judging.figures import judge_figures
from shrag.evaluation.judging.judgements import JudgedAnswer, read_judgements
from shrag.evaluation.judging.record_relevance import JudgedRecord, read_record_relevance, relevance_figures
from shrag.evaluation.measures.judge_run import judge
from shrag.evaluation.measures.trec_run import read_run
from shrag.evaluation.questions.figures import PROCESS_FIGURES, answer_figures
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.questions.reference_answers import Reference, encode_references, read_references
from shrag.evaluation.questions.tree_figures import tree_figures
from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes
from shrag.messages.text import Text, message_of

TITLES_FILE = "titles.json"
REFERENCES_FILE = "references.jsonl"

_REPRODUCIBLE_SUFFIXES = (
    *(".run", ".questions.jsonl", "/topics.tsv", "/qrels.txt", f"/{TITLES_FILE}", f"/{REFERENCES_FILE}"),
    *("table.json", "table.md", ".png", ".svg"),
)

_Read = TypeVar("_Read")

Values = Mapping[str, Mapping[str, float]]
"""Measure → qid → value."""


@dataclass(frozen=True)
class ResultFolder:
    """A results folder. Each call of a method reads the files that it needs.

    Attributes:
        folder: The folder.
        experiment: The experiment's specification.
        stochastic_conditions: Names of the conditions with a language model. They are run ``experiment.repeats`` times.
        judge: Name of the language model whose scores are measures, if the experiment has answers or records judged.
    """

    folder: Path
    experiment: Experiment
    stochastic_conditions: tuple[str, ...] = ()
    judge: str = ""

    def parts(self, set_name: str, condition: Condition) -> list[ExperimentPart]:
        """Return one part for each repeat, or a single one with repeat 0 if the condition is not repeated."""
        if self.experiment.repeats == 1 or condition.name not in self.stochastic_conditions:
            return [ExperimentPart(set_name, condition.name)]
        return [ExperimentPart(set_name, condition.name, repeat) for repeat in range(1, self.experiment.repeats + 1)]

    def all_parts(self) -> Iterator[tuple[ExperimentPart, Condition]]:
        """Yield all parts with their conditions, set by set and condition by condition."""
        for each in self.experiment.sets:
            for condition in self.experiment.conditions:
                yield from ((part, condition) for part in self.parts(each.name, condition))

    def judged_set(self, set_name: str) -> JudgedSet:
        """Return the specification of a set."""
        return next(each for each in self.experiment.sets if each.name == set_name)

    def topics(self, set_name: str) -> list[Topic]:
        """Return the topics (questions) of a set."""
        return read_topics(self.folder / set_name / "topics.tsv")

    def qrels(self, set_name: str) -> list[Qrel]:
        """Return the judgements of a set; empty for a set that has only reference answers."""
        path = self.folder / set_name / "qrels.txt"
        return read_qrels(path) if path.exists() else []

    def references(self, set_name: str) -> dict[str, Reference]:
        """Return qid → reference answer of a set; empty for a set that has only judgements."""
        path = self.folder / set_name / REFERENCES_FILE
        return read_references(path) if path.exists() else {}

    def titles(self, set_name: str) -> dict[str, str]:
        """Return docid → title of the outcomes' records; empty if the file is missing.

        Raises :class:`ResultsMismatch` if the file is damaged.
        """
        path = self.folder / set_name / TITLES_FILE
        try:
            return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ResultsMismatch(
                Text("{path} is damaged ({error}): delete it and continue with --resume.", path=path, error=error)
            ) from None

    def outcomes(self, part: ExperimentPart) -> list[QuestionOutcome]:
        """Return the outcomes of a part's questions."""
        return read_outcomes(self.folder, part)

    def depths(self) -> dict[str, tuple[int, int]]:
        """Return stem of a part → the least and the greatest number of hits that its queries asked for.

        Parts without a query, such as those of a peer, are left out.
        """
        asked = {part.stem: [each.depth for each in self.outcomes(part) if each.depth] for part, _ in self.all_parts()}
        return {stem: (min(depths), max(depths)) for stem, depths in asked.items() if depths}

    def times(self, part: ExperimentPart) -> list[QuestionTime]:
        """Return the times of a part's questions."""
        return read_times(self.folder, part)

    def values(self, part: ExperimentPart) -> Values:
        """Return measure → qid → value for a part.

        A set with judgements has the measures of rankings and of candidates. A set with reference answers has those of
        answers. Judged answers and records have the judge's measures, and trees of questions have their own. A question
        to which a measure does not apply is absent.
        """
        outcomes, references = self.outcomes(part), self.references(part.set)
        condition = next(each for each in self.experiment.conditions if each.name == part.condition)
        values = self._ranking_values(part, outcomes) | tree_figures(outcomes)
        if self.experiment.judge and self.judge and condition.answers:
            values |= judge_figures(outcomes, self._judgements(part))
        if self.experiment.judge_records and self.judge:
            values |= relevance_figures(self._record_relevance(part))
        if references:
            split, grade = KoreanMorphemes().split, self.judged_set(part.set).min_grade
            values |= answer_figures(outcomes, references, condition.k or self.experiment.k, split, grade)
        return values

    def _judgements(self, part: ExperimentPart) -> dict[str, JudgedAnswer]:
        """Return qid → judgement of a part's answers."""
        found = read_judgements(self.folder, self.judge)
        return {
            qid: each for (set_name, name, qid), each in found.items() if (set_name, name) == (part.set, part.condition)
        }

    def _record_relevance(self, part: ExperimentPart) -> list[JudgedRecord]:
        """Return the judgements of a part's records."""
        found = read_record_relevance(self.folder, self.judge).values()
        return [each for each in found if (each.set, each.condition) == (part.set, part.condition)]

    def _ranking_values(
        self, part: ExperimentPart, outcomes: Sequence[QuestionOutcome]
    ) -> dict[str, Mapping[str, float]]:
        """Return the measures of rankings and of candidates; empty for a set without judgements."""
        qrels = self.qrels(part.set)
        if not qrels:
            return {}
        qids = {qrel.qid for qrel in qrels}
        run, grade = read_run(part_path(self.folder, part, RUN)), self.judged_set(part.set).min_grade
        figures = {
            name: {outcome.qid: figure(outcome, grade) for outcome in outcomes if outcome.qid in qids}
            for name, figure in PROCESS_FIGURES.items()
        }
        return {**judge(qrels, run, self.experiment.measures, grade), **figures}


@contextmanager
def lock_results(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of results; raises :class:`ResultsMismatch` if another process writes in it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_folder(folder))
        except FolderBusy as busy:
            raise ResultsMismatch(message_of(busy)) from None
        yield


def open_results(folder: Path) -> tuple[ResultFolder, RunCard]:
    """Open a folder of results and verify its files against the checksums in its run card.

    Raises:
        ResultsMismatch: The folder has no run card, the experiment is not finished, or a file was changed.
    """
    card = read_card(folder)
    experiment = card.identity.experiment
    for name in (*(each.name for each in experiment.sets), *(each.name for each in experiment.conditions)):
        if not is_name(name):
            raise ResultsMismatch(
                Text(
                    "The card of {folder} has the name {name!r}, which is not a valid file name: run the "
                    "experiment again into another folder.",
                    folder=folder,
                    name=name,
                )
            )
    results = ResultFolder(folder, experiment, card.identity.stochastic_conditions, card.identity.model.name)
    for part, _ in results.all_parts():
        if not is_done(folder, part):
            raise ResultsMismatch(
                Text(
                    "{folder} is not finished ({file} is missing): complete it with `shrag experiment … --resume`.",
                    folder=folder,
                    file=part.stem,
                )
            )
    if not card.files:
        raise ResultsMismatch(
            Text("{folder} is not finished: complete it with `shrag experiment … --resume`.", folder=folder)
        )
    current = file_digests(folder)
    for name, digest in card.files.items():
        if current.get(name) != digest:
            raise ResultsMismatch(
                Text(
                    "{folder} was changed after it was written: run the experiment again into another folder.",
                    folder=folder / name,
                )
            )
    return results, card


def mean_values(repeats: Sequence[Values]) -> Values:
    """Return measure → qid → mean value over the repeats in which the measure applies to the question."""
    given: dict[str, dict[str, list[float]]] = {}
    for each in repeats:
        for measure, values in each.items():
            for qid, value in values.items():
                given.setdefault(measure, {}).setdefault(qid, []).append(value)
    return {
        measure: {qid: sum(values) / len(values) for qid, values in by_qid.items()} for measure, by_qid in given.items()
    }


def write_questions(folder: Path, set_name: str, questions: JudgedQuestions) -> None:
    """Copy a set's questions, judgements and references into the folder, so that it can be evaluated on its own.

    Raises:
        EvaluationError: A question cannot be written as a line of a table.
    """
    set_folder = folder / set_name
    set_folder.mkdir(parents=True, exist_ok=True)
    for qid, text in questions.topics:
        if "\n" in text or "\t" in qid:
            raise EvaluationError(
                Text(
                    "Topic {qid!r} of the set {set_name} has a tab in its qid or a line break in its text: remove it.",
                    qid=qid,
                    set_name=set_name,
                )
            )
    write_atomically(set_folder / "topics.tsv", "".join(f"{qid}\t{text}\n" for qid, text in questions.topics).encode())
    if questions.qrels:
        write_atomically(set_folder / "qrels.txt", "".join(map(qrels_line, questions.qrels)).encode())
    if questions.references:
        write_atomically(set_folder / REFERENCES_FILE, encode_references(questions.references))


def read_result_file(path: Path, kind: type[_Read]) -> _Read:
    """Return what a JSON file of a results folder has, as ``kind``.

    Raises :class:`ResultsMismatch` if the file is missing or damaged.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ResultsMismatch(
            Text(
                "{path} cannot be read ({error}): complete it with `shrag experiment … --resume`.",
                path=path,
                error=error,
            )
        ) from None


def file_digests(folder: Path) -> dict[str, str]:
    """Return path → SHA-256 of the files that are the same in each run of the experiment.

    The run card and the times are not among them.
    """
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in names
        if name.endswith(_REPRODUCIBLE_SUFFIXES)
    }
