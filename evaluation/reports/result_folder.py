"""Read a results folder: its card, its parts, each question's values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shrag.corpora.files import is_name, replace_durably
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.records import Qrel, Topic
from shrag.evaluation.errors import EvaluationError, ResultsMismatch
from shrag.evaluation.experiments.judged_topics import JudgedQuestions, qrels_line
from shrag.evaluation.experiments.part import Part, QuestionTime, is_done, read_outcomes, read_times, run_path
from shrag.evaluation.experiments.run_card import RunCard, read_card
from shrag.evaluation.experiments.spec import Condition, Experiment
from shrag.evaluation.measures.judge_run import judge
from shrag.evaluation.measures.trec_run import read_run
from shrag.evaluation.questions.figures import PROCESS_FIGURES, answer_figures
from shrag.evaluation.questions.outcome import Outcome
from shrag.evaluation.questions.reference_answers import Reference, encode_references, read_references
from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes

TITLES_FILE = "titles.json"
REFERENCES_FILE = "references.jsonl"

_ALIKE = (
    *(".run", ".questions.jsonl", "/topics.tsv", "/qrels.txt", f"/{TITLES_FILE}", f"/{REFERENCES_FILE}"),
    *("table.json", "table.md", ".png", ".svg"),
)

Values = Mapping[str, Mapping[str, float]]
"""Measure → qid → value."""


@dataclass(frozen=True)
class ResultFolder:
    """Where results are, and the experiment that they are of. Everything else is read when it is asked for."""

    folder: Path
    experiment: Experiment
    chance: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.folder.resolve().name

    def parts(self, set_name: str, condition: Condition) -> list[Part]:
        """Return the parts of a set under a condition: as many as it is repeated, one where it has no chance in it."""
        if self.experiment.repeats == 1 or condition.name not in self.chance:
            return [Part(set_name, condition.name)]
        return [Part(set_name, condition.name, repeat) for repeat in range(1, self.experiment.repeats + 1)]

    def all_parts(self) -> Iterator[tuple[Part, Condition]]:
        """Yield every part in order: set by set, condition by condition."""
        for each in self.experiment.sets:
            for condition in self.experiment.conditions:
                yield from ((part, condition) for part in self.parts(each.name, condition))

    def topics(self, set_name: str) -> list[Topic]:
        """Return the questions that were asked of a set."""
        return read_topics(self.folder / set_name / "topics.tsv")

    def qrels(self, set_name: str) -> list[Qrel]:
        """Return their judgements, none where they are held against references alone."""
        path = self.folder / set_name / "qrels.txt"
        return read_qrels(path) if path.exists() else []

    def references(self, set_name: str) -> dict[str, Reference]:
        """Return what they should be answered with, by qid; nothing where the set says nothing of it."""
        path = self.folder / set_name / REFERENCES_FILE
        return read_references(path) if path.exists() else {}

    def titles(self, set_name: str) -> dict[str, str]:
        """Return the titles of the records that a report names, by docid; none where there is no such file."""
        path = self.folder / set_name / TITLES_FILE
        try:
            return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ResultsMismatch(f"{path} is damaged ({error}): remove it and go on with --resume.") from None

    def outcomes(self, part: Part) -> list[Outcome]:
        """Return what became of the part's questions."""
        return read_outcomes(self.folder, part)

    def times(self, part: Part) -> list[QuestionTime]:
        """Return how long they took."""
        return read_times(self.folder, part)

    def values(self, part: Part) -> Values:
        """Return the value of each measure and figure for each question of a part that it can be had of."""
        outcomes, references = self.outcomes(part), self.references(part.set)
        values = self._judged(part, outcomes)
        if references:
            values |= answer_figures(outcomes, references, self.experiment.k, KoreanMorphemes().split)
        return values

    def _judged(self, part: Part, outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, float]]:
        """Return measures and figures of the ranking and of the way to it; nothing of a set without judgements."""
        qrels = self.qrels(part.set)
        if not qrels:
            return {}
        qids = {qrel.qid for qrel in qrels}
        figures = {
            name: {outcome.qid: figure(outcome) for outcome in outcomes if outcome.qid in qids}
            for name, figure in PROCESS_FIGURES.items()
        }
        return {**judge(qrels, read_run(run_path(self.folder, part)), self.experiment.measures), **figures}


def open_results(folder: Path) -> tuple[ResultFolder, RunCard]:
    """Open a folder of finished results.

    Raises :class:`ResultsMismatch` where it holds none, or not all of them, or a file is not as it was written.
    """
    card = read_card(folder)
    experiment = card.identity.experiment
    for name in (*(each.name for each in experiment.sets), *(each.name for each in experiment.conditions)):
        if not is_name(name):
            raise ResultsMismatch(f"The card of {folder} names {name!r}, which is no name of a file: leave it.")
    results = ResultFolder(folder, experiment, card.identity.chance)
    for part, _ in results.all_parts():
        if not is_done(folder, part):
            raise ResultsMismatch(
                f"{folder} is not finished ({part.stem} is missing): go on with `shrag experiment … --resume`."
            )
    if not card.files:
        raise ResultsMismatch(f"{folder} is not finished: go on with `shrag experiment … --resume`.")
    now = file_digests(folder)
    for name, digest in card.files.items():
        if now.get(name) != digest:
            raise ResultsMismatch(
                f"{folder / name} is not as it was written: run the experiment again into another folder."
            )
    return results, card


def mean_values(repeats: Sequence[Values]) -> Values:
    """Return each question's value, its mean over the repeats."""
    return {
        measure: {qid: sum(each[measure][qid] for each in repeats) / len(repeats) for qid in values}
        for measure, values in repeats[0].items()
    }


def write_questions(folder: Path, set_name: str, questions: JudgedQuestions) -> None:
    """Keep what is asked of a set beside its results, so that they can be judged again without anything else."""
    below = folder / set_name
    below.mkdir(parents=True, exist_ok=True)
    for qid, text in questions.topics:
        if "\n" in text or "\t" in qid:
            raise EvaluationError(f"Topic {qid!r} of the set {set_name} holds a tab or a line break: clean it.")
    replace_durably(below / "topics.tsv", "".join(f"{qid}\t{text}\n" for qid, text in questions.topics).encode())
    if questions.qrels:
        replace_durably(below / "qrels.txt", "".join(map(qrels_line, questions.qrels)).encode())
    if questions.references:
        replace_durably(below / REFERENCES_FILE, encode_references(questions.references))


def file_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file that results of the same identity have alike: neither card nor times."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names if name.endswith(_ALIKE)}
