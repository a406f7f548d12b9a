"""Run an experiment into a results folder: indexes, run card, parts, table, plots.

A run that was killed can be continued with ``resume``. It goes on after the last question in its journal, and ends with
the same files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.files import disk_errors, write_atomically
from shrag.corpora.records import Topic
from shrag.corpora.store.open_corpus import open_corpus
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.availability import leave_out_missing
from shrag.evaluation.experiments.engines import (
    Folders,
    OpenIndexes,
    ask_topic,
    check_condition,
    condition_engine,
    index_name,
    prepare_index,
)
from shrag.evaluation.experiments.judged_topics import JudgedQuestions, check_compared, read_questions
from shrag.evaluation.experiments.language_models import LanguageModels, ModelChoice
from shrag.evaluation.experiments.part import (
    JOURNAL,
    ExperimentPart,
    append_to_journal,
    is_done,
    part_path,
    read_journal,
    write_part,
)
from shrag.evaluation.experiments.provenance import read_code_version, read_hardware
from shrag.evaluation.experiments.run_card import (
    CARD_FILE,
    IndexGeneration,
    RunCard,
    RunIdentity,
    Session,
    build_identity,
    check_identity,
    identity_fingerprint,
    index_generation,
    read_card,
    repeat_seed,
    required_indexes,
    utc_now,
    write_card,
)
from shrag.evaluation.experiments.spec import Condition, Experiment
from shrag.evaluation.judging.judged_records import judge_records
from shrag.evaluation.judging.judged_results import judge_results
from shrag.evaluation.peers.base import ask_peer, check_peer
from shrag.evaluation.questions.batch import ask_all
from shrag.evaluation.questions.outcome import QuestionRecord
from shrag.evaluation.reports.markdown import table_text
from shrag.evaluation.reports.plots import check_plots, draw_plots
from shrag.evaluation.reports.result_folder import (
    TITLES_FILE,
    ResultFolder,
    file_digests,
    lock_results,
    write_questions,
)
from shrag.evaluation.reports.table import ResultTable, make_table, write_table
from shrag.evaluation.reports.timings import write_times
from shrag.indexing.storage.vector_card import canonical_encoder, weights_folder
from shrag.messages.text import Text
from shrag.models.language_model import LanguageModel

DEFAULT_MAX_THREADS = 4
"""Most questions asked at once by default. More threads gain nothing under Python's global interpreter lock."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run. They change no result, only its times.

    Attributes:
        resume: Whether to continue a run that was stopped.
        threads: Number of questions asked at once; 0 for one for each core, four at most.
        plots: Whether to draw the experiment's plots.
        command: The command line, to be stored in the run card.
        report: Called with a stage and the number of its questions that are done.
        log: Called with one line for each step.
    """

    resume: bool = False
    threads: int = 0
    plots: bool = True
    command: tuple[str, ...] = ()
    report: Callable[[str, int], None] = lambda stage, done: None
    log: Callable[[str], None] = lambda line: None


class ExperimentResult(NamedTuple):
    """The table, and the number of questions that this run asked (0 if all had been asked before)."""

    table: ResultTable
    questions_asked: int


def run_experiment(
    experiment: Experiment,
    folder: Path,
    folders: Folders,
    models: LanguageModels | None = None,
    options: RunOptions | None = None,
) -> ExperimentResult:
    """Run ``experiment`` into ``folder``, or continue a run that was stopped.

    Raises:
        ResultsMismatch: The folder holds results and ``resume`` is off, or they belong to another experiment.
        ExperimentRejected: Data, a language model or vectors that the experiment needs are missing.
        ModelError: An encoder or a re-ranker cannot be loaded.
        PlotLibraryMissing: The experiment has plots and matplotlib is not installed.
        CorpusError, IndexingError: A corpus cannot be read, or an index cannot be built or opened.
        DiskFull: The disk is full.
    """
    options, models = options or RunOptions(), models or LanguageModels()
    weights = weights_folder(folders.indexes)
    experiment = leave_out_missing(experiment, folders.data, weights, models, options.log)
    _check_prerequisites(experiment, folder, models, options)
    with ExitStack() as stack:
        stack.enter_context(disk_errors(folder))
        stack.enter_context(lock_results(folder))
        questions = {each.name: read_questions(each, folders.data, experiment.seed) for each in experiment.sets}
        check_compared(experiment.sets, questions)
        for judged_set, encoder in required_indexes(experiment):
            options.log(Text("index {name}", name=index_name(judged_set, encoder)))
            prepare_index(judged_set, encoder, folders)
        indexes = stack.enter_context(OpenIndexes(folders.indexes))
        _check_conditions(experiment, folders, indexes, models)
        identity = build_identity(experiment, questions, indexes, models)
        threads = options.threads or min(DEFAULT_MAX_THREADS, len(os.sched_getaffinity(0)))
        generations = {name: index_generation(indexes[name].manifest) for name in identity.indexes}
        card = _start_session(folder, identity, generations, Session(options.command, utc_now(), threads))
        results = ResultFolder(folder, experiment, identity.stochastic_conditions, identity.model.name)
        for name, judged_questions in questions.items():
            write_questions(folder, name, judged_questions)
        # One pool for all parts, because the JVM keeps every thread that called it until the process ends.
        pool = stack.enter_context(ThreadPoolExecutor(threads, thread_name_prefix="question"))
        runner = PartRunner(folder, experiment, questions, folders, indexes, models, pool, threads, options.report)
        questions_asked = sum(runner.run(part, condition) for part, condition in results.all_parts())
        if experiment.judge or experiment.judge_records:
            _judge(results, models.configured, indexes, options)
        options.log(Text("table and plots"))
        table = _write_reports(results, questions, indexes, options)
        _end_session(folder, card, results)
    return ExperimentResult(table, questions_asked)


def _check_prerequisites(experiment: Experiment, folder: Path, models: LanguageModels, options: RunOptions) -> None:
    """Raise for what would stop the run later, before anything is built or asked."""
    if (folder / CARD_FILE).exists() and not options.resume:
        raise ResultsMismatch(
            Text(
                "{folder} already holds results: continue them with --resume, or give another folder with --output.",
                folder=folder,
            )
        )
    models.check(experiment)
    if options.plots and experiment.plots:
        check_plots()
    for peer in dict.fromkeys(condition.peer for condition in experiment.conditions if condition.peer):
        check_peer(peer)
    for judged_set, encoder in required_indexes(experiment):
        if judged_set.corpus and (chosen := encoder or judged_set.encoder):
            canonical_encoder(chosen)


def _check_conditions(experiment: Experiment, folders: Folders, indexes: OpenIndexes, models: LanguageModels) -> None:
    """Raise :class:`ExperimentRejected` if a condition lacks a model, or an index lacks vectors that it needs."""
    for condition in experiment.conditions:
        if condition.peer:
            continue
        choice = models.of(condition)
        with choice.open(experiment.seed) if choice else nullcontext() as model:
            for judged_set in experiment.sets:
                check_condition(condition, indexes.under(judged_set, condition), folders.indexes, model)


def _start_session(
    folder: Path, identity: RunIdentity, generations: dict[str, IndexGeneration], session: Session
) -> RunCard:
    """Add this session to the run card, and write the card.

    Raises :class:`ResultsMismatch` if the folder has a card of another identity.
    """
    earlier: tuple[Session, ...] = ()
    if (folder / CARD_FILE).exists():
        stored = read_card(folder)
        check_identity(folder, stored.identity, identity)
        earlier = stored.sessions
    sessions = (*earlier, session)
    card = RunCard(
        identity,
        identity_fingerprint(identity),
        read_code_version(),
        read_hardware(),
        sessions,
        generations=generations,
    )
    write_card(folder, card)
    return card


def _judge(results: ResultFolder, model: ModelChoice | None, indexes: OpenIndexes, options: RunOptions) -> None:
    """Have the configured language model judge the answers and the records, as far as the experiment wants it.

    Conditions may have been left out, so that none is left that has answers, or records that are judged.
    """
    if not results.judge or model is None:
        options.log(Text("nothing is judged: no language model is configured"))
        return
    experiment = results.experiment
    with model.open(experiment.seed) as judge:
        if experiment.judge and any(each.answers for each in experiment.conditions):
            options.log(Text("the answers are judged by {model}", model=results.judge))
            judge_results(results, judge, options.report)
        if experiment.judge_records and not all(each.peer for each in experiment.conditions):
            options.log(Text("the records are judged by {model}", model=results.judge))
            judge_records(results, indexes.under, judge, experiment.judge_records, options.report)


def _write_reports(
    results: ResultFolder, questions: Mapping[str, JudgedQuestions], indexes: OpenIndexes, options: RunOptions
) -> ResultTable:
    """Write the files that are derived from the parts: titles, table, times, plots."""
    for judged_set in results.experiment.sets:
        _write_titles(results, judged_set.name, indexes)
    table = make_table(results)
    write_table(results.folder, table)
    write_atomically(results.folder / "table.md", table_text(table).encode())
    write_times(results)
    if options.plots and results.experiment.plots:
        draw_plots(results.folder / "plots", results.experiment.plots, table)
    return table


def _write_titles(results: ResultFolder, set_name: str, indexes: OpenIndexes) -> None:
    """Store the titles of the records that outcomes name, so that a report needs no index."""
    path = results.folder / set_name / TITLES_FILE
    if path.exists():
        return
    experiment = results.experiment
    judged_set = results.judged_set(set_name)
    docids: set[str] = set()
    for condition in experiment.conditions:
        for part in results.parts(set_name, condition):
            for outcome in results.outcomes(part):
                docids.update(outcome.top_docids, (each.docid for each in outcome.relevant))
    index = indexes.under(judged_set, experiment.conditions[0])
    fetched = index.store.fetch(sorted(docids))
    titles = {each.record.docid: each.record.title for each in fetched if each is not None}
    write_atomically(path, msgspec.json.encode(titles) + b"\n")


def _end_session(folder: Path, card: RunCard, results: ResultFolder) -> None:
    ended = msgspec.structs.replace(card.sessions[-1], ended=utc_now())
    complete = msgspec.structs.replace(
        card, sessions=(*card.sessions[:-1], ended), depths=results.depths(), files=file_digests(folder)
    )
    write_card(folder, complete)


@dataclass(frozen=True, slots=True)
class PartRunner:
    """Run parts with the experiment's shared resources.

    ``threads`` is the number of threads of ``pool``. ``report`` is called with the part and the number of its questions
    that are done.
    """

    folder: Path
    experiment: Experiment
    questions: Mapping[str, JudgedQuestions]
    folders: Folders
    indexes: OpenIndexes
    models: LanguageModels
    pool: ThreadPoolExecutor
    threads: int
    report: Callable[[str, int], None]

    def run(self, part: ExperimentPart, condition: Condition) -> int:
        """Complete the part and return how many questions were asked for it, 0 if it was complete."""
        path = part_path(self.folder, part, JOURNAL)
        if is_done(self.folder, part):
            path.unlink(missing_ok=True)
            return 0
        topics = self.questions[part.set].topics
        records = read_journal(path, [topic.qid for topic in topics])
        resumed = len(records)
        # Closing the generator cancels the questions that no thread has started.
        with closing(self._ask(part, condition, topics[resumed:])) as answers:
            for record in append_to_journal(path, answers):
                records.append(record)
                self.report(part.stem, len(records))
        write_part(self.folder, part, records)
        return len(records) - resumed

    def _ask(
        self, part: ExperimentPart, condition: Condition, topics: tuple[Topic, ...]
    ) -> Generator[QuestionRecord, None, None]:
        """Yield a record for each topic, in the topics' order."""
        if not topics:
            return
        judged = self.questions[part.set].judged
        references = {each.qid: each for each in self.questions[part.set].references}
        judged_set = next(each for each in self.experiment.sets if each.name == part.set)
        name = index_name(judged_set, condition.encoder)
        records_per_question = condition.k or self.experiment.k
        if condition.peer:
            _, records = open_corpus(self.folders.corpora, name)
            yield from ask_peer(condition.peer, records, topics, judged, records_per_question)
            return
        with self._model(part, condition) as model:
            engine = condition_engine(condition, self.indexes[name], self.folders.indexes, model)

            def ask(topic: Topic) -> QuestionRecord:
                return ask_topic(
                    engine, condition, records_per_question, topic, judged[topic.qid], references.get(topic.qid)
                )

            yield from ask_all(ask, topics, self.pool, self.threads)

    def _model(self, part: ExperimentPart, condition: Condition) -> AbstractContextManager[LanguageModel | None]:
        model = self.models.of(condition)
        return model.open(repeat_seed(self.experiment.seed, part.repeat)) if model else nullcontext()
