"""Run an experiment into a folder: indexes, run card, parts, table, plots.

Whenever it is killed, ``resume`` goes on behind the last question that was kept, and ends in the same files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.files import FolderBusy, replace_durably, sole_writer, telling_full_disk
from shrag.evaluation.errors import ExperimentRejected, ResultsMismatch
from shrag.evaluation.experiments.engines import (
    ModelChoice,
    OpenIndexes,
    Places,
    check_condition,
    index_name,
    prepare_index,
)
from shrag.evaluation.experiments.judged_topics import JudgedQuestions, read_questions
from shrag.evaluation.experiments.part_runner import PartRunner
from shrag.evaluation.experiments.provenance import this_code, this_machine
from shrag.evaluation.experiments.run_card import (
    CARD_FILE,
    Identity,
    RunCard,
    Session,
    check_same,
    identify,
    identity_fingerprint,
    indexes_of,
    now,
    read_card,
    uses_model,
    write_card,
)
from shrag.evaluation.experiments.spec import Experiment
from shrag.evaluation.peers.base import check_peer
from shrag.evaluation.reports.markdown import table_text
from shrag.evaluation.reports.plots import check_plots, draw_plots
from shrag.evaluation.reports.result_folder import TITLES_FILE, ResultFolder, file_digests, write_questions
from shrag.evaluation.reports.table import ResultTable, make_table, write_table
from shrag.evaluation.reports.timings import write_times

MOST_THREADS = 4
"""Questions asked at once where the caller does not say: more gain nothing while Python's lock is one."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run, none of which changes a result but its times.

    ``threads`` ask at once (0: one for each core, four at most). ``command`` is kept in the card as it was given.
    ``report`` is told (what is being done, how much is done), ``tell`` whole sentences.
    """

    resume: bool = False
    threads: int = 0
    plots: bool = True
    command: tuple[str, ...] = ()
    report: Callable[[str, int], None] = lambda stage, done: None
    tell: Callable[[str], None] = lambda sentence: None


class Ran(NamedTuple):
    """What was found, and how many questions were asked now: none where all had been."""

    table: ResultTable
    asked: int


def run_experiment(
    experiment: Experiment,
    folder: Path,
    places: Places,
    model: ModelChoice | None = None,
    options: RunOptions | None = None,
) -> Ran:
    """Run ``experiment`` into ``folder``, or go on with what is there.

    Raises :class:`ResultsMismatch` where the folder holds results already and they are not to be gone on with, or were
    made otherwise; :class:`ExperimentRejected` for files or a model that are not there;
    :class:`~shrag.evaluation.errors.PlotLibraryMissing`; ``DiskFull``; and whatever building or opening an index does.
    """
    options = options or RunOptions()
    _check_beginning(experiment, folder, model, options)
    with ExitStack() as stack:
        stack.enter_context(telling_full_disk(folder))
        try:
            stack.enter_context(sole_writer(folder))
        except FolderBusy as busy:
            raise ResultsMismatch(str(busy)) from None
        questions = {each.name: read_questions(each, places.data, experiment.seed) for each in experiment.sets}
        for judged_set, encoder in indexes_of(experiment):
            options.tell(f"index {index_name(judged_set, encoder)}")
            prepare_index(judged_set, encoder, places)
        indexes = stack.enter_context(OpenIndexes(places.indexes))
        _check_strategies(experiment, indexes, model)
        identity = identify(experiment, questions, indexes, model)
        threads = options.threads or min(MOST_THREADS, len(os.sched_getaffinity(0)))
        card = _begin(folder, identity, Session(options.command, now(), threads))
        results = ResultFolder(folder, experiment, identity.chance)
        for name, asked_of in questions.items():
            write_questions(folder, name, asked_of)
        # One pool for all parts: Java keeps a thread that asked it something for as long as the process lives.
        pool = stack.enter_context(ThreadPoolExecutor(threads, thread_name_prefix="question"))
        runner = PartRunner(folder, experiment, questions, places, indexes, model, pool, options.report)
        asked = sum(runner.run(part, condition) for part, condition in results.all_parts())
        options.tell("table and plots")
        table = _conclude(results, questions, indexes, options)
        _end(folder, card)
    return Ran(table, asked)


def _check_beginning(experiment: Experiment, folder: Path, model: ModelChoice | None, options: RunOptions) -> None:
    """Raise what would otherwise be found out late."""
    if (folder / CARD_FILE).exists() and not options.resume:
        raise ResultsMismatch(
            f"{folder} holds results already: go on with them by --resume, or give another folder with --output."
        )
    needing = [condition.name for condition in experiment.conditions if condition.model]
    if model is None and needing:
        raise ExperimentRejected(
            f"The condition {needing[0]} needs a language model and none is configured: set [llm] url in shrag.toml or "
            "SHRAG_LLM_URL, or leave the condition out with --conditions."
        )
    if options.plots and experiment.plots:
        check_plots()
    for peer in dict.fromkeys(condition.peer for condition in experiment.conditions if condition.peer):
        check_peer(peer)


def _check_strategies(experiment: Experiment, indexes: OpenIndexes, model: ModelChoice | None) -> None:
    """Raise :class:`ExperimentRejected` for a strategy that needs a model or vectors that it is not given."""
    for judged_set in experiment.sets:
        for condition in experiment.conditions:
            if not condition.peer and not uses_model(condition, model):
                check_condition(condition, indexes[index_name(judged_set, condition.encoder)])


def _begin(folder: Path, identity: Identity, session: Session) -> RunCard:
    """Write the card that this session begins with; raise :class:`ResultsMismatch` for one of another identity."""
    earlier: tuple[Session, ...] = ()
    if (folder / CARD_FILE).exists():
        stored = read_card(folder)
        check_same(folder, stored.identity, identity)
        earlier = stored.sessions
    card = RunCard(identity, identity_fingerprint(identity), this_code(), this_machine(), (*earlier, session))
    write_card(folder, card)
    return card


def _conclude(
    results: ResultFolder, questions: Mapping[str, JudgedQuestions], indexes: OpenIndexes, options: RunOptions
) -> ResultTable:
    """Write what is made of the parts: titles, table, times, plots."""
    for judged_set in results.experiment.sets:
        _write_titles(results, judged_set.name, indexes)
    table = make_table(results)
    write_table(results.folder, table)
    replace_durably(results.folder / "table.md", table_text(table).encode())
    write_times(results)
    if options.plots and results.experiment.plots:
        draw_plots(results.folder / "plots", results.experiment.plots, table)
    return table


def _write_titles(results: ResultFolder, set_name: str, indexes: OpenIndexes) -> None:
    """Keep the titles of the records that outcomes name, so that a report needs no index."""
    path = results.folder / set_name / TITLES_FILE
    if path.exists():
        return
    experiment = results.experiment
    judged_set = next(each for each in experiment.sets if each.name == set_name)
    named: set[str] = set()
    for condition in experiment.conditions:
        for part in results.parts(set_name, condition):
            for outcome in results.outcomes(part):
                named.update(outcome.top, (each.docid for each in outcome.relevant))
    index = indexes[index_name(judged_set, experiment.conditions[0].encoder)]
    found = index.store.fetch(sorted(named))
    titles = {each.record.docid: each.record.title for each in found if each is not None}
    replace_durably(path, msgspec.json.encode(titles) + b"\n")


def _end(folder: Path, card: RunCard) -> None:
    ended = msgspec.structs.replace(card.sessions[-1], ended=now())
    whole = msgspec.structs.replace(card, sessions=(*card.sessions[:-1], ended), files=file_digests(folder))
    write_card(folder, whole)
