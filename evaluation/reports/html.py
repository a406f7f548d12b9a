"""HTML report of results folders, in one self-contained page."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from shrag.corpora.text.sentences import detect_language
from shrag.evaluation.experiments.run_card import IndexIdentity, RunCard
from shrag.evaluation.questions.outcome import Outcome
from shrag.evaluation.reports.markdown import cell_text, counts_text, levels_text
from shrag.evaluation.reports.result_folder import ResultFolder, mean_values, open_results
from shrag.evaluation.reports.table import Cell, ResultTable, Row, SetTable, read_table
from shrag.evaluation.reports.timings import PartTimes, read_times_file
from shrag.serving.page.rendering import PAGE_FOLDER, open_templates


def card_facts(card: RunCard) -> tuple[tuple[str, str], ...]:
    """Return the card as pairs of a name and a value, in the order in which they are shown."""
    return tuple(_facts(card))


def _facts(card: RunCard) -> Iterator[tuple[str, str]]:
    identity = card.identity
    yield "fingerprint", card.fingerprint
    for session in card.sessions:
        ended = session.ended or "stopped"
        yield "command", f"{shlex.join(session.command)} ({session.started} to {ended}, {session.threads} at once)"
    changed = {True: ", with changes", False: "", None: ""}[card.code.dirty]
    yield "code", f"{card.code.commit or 'no checkout'}{changed}, {card.code.digest}"
    yield "seed", f"{identity.experiment.seed}, {identity.experiment.repeats} repeats where there is chance"
    yield "records a question", str(identity.experiment.k)
    for name, questions in identity.questions.items():
        yield (
            f"questions of {name}",
            f"{questions.asked:,} asked; left out: {questions.unjudged:,} without judgement, "
            f"{questions.unasked:,} judged without text; {questions.digest}",
        )
    for name, index in identity.indexes.items():
        yield f"index {name}", _index(index)
    yield "prompts", identity.prompts
    yield "language model", f"{identity.model.name}, {identity.model.fingerprint}" if identity.model.name else "none"
    yield "versions", ", ".join(f"{name} {version}" for name, version in identity.versions.items())
    machine = card.hardware
    gpus = ", ".join(machine.gpus) or "no GPU"
    yield (
        "machine",
        f"{machine.processor}, {machine.cores} cores, {machine.memory_bytes / 2**30:.1f} GiB, {gpus}, {machine.system}",
    )
    yield "files", f"{len(card.files)} that a run of this fingerprint has byte for byte"


def _index(index: IndexIdentity) -> str:
    vectors = index.vectors
    made = f"vectors by {vectors.encoder} ({vectors.dimension} numbers, {vectors.digest})" if vectors else "no vectors"
    bm25 = f"k1 {index.bm25.k1}, b {index.bm25.b}, title {index.bm25.title_boost}"
    return (
        f"{index.records:,} records of the corpus {index.corpus}, {index.rejected:,} left out; analysed by "
        f"{index.analyzer}; BM25 with {bm25}; {made}"
    )


@dataclass(frozen=True, slots=True)
class CellView:
    """A mean with its interval as text, its difference to the baseline and the test of it, the number to sort by."""

    text: str
    difference: str
    test: str
    sign: str
    value: float


@dataclass(frozen=True, slots=True)
class RowView:
    """One condition's row."""

    label: str
    name: str
    is_baseline: bool
    cells: tuple[CellView, ...]
    counts: str


@dataclass(frozen=True, slots=True)
class WayView:
    """One condition's way to an answer to one question. ``relevant``: rank or ``–``, docid, title, relevance."""

    label: str
    value: float
    outcome: Outcome
    relevant: tuple[tuple[str, str, str, int], ...]
    top: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question, in what language, and how far the conditions are apart on it."""

    qid: str
    text: str
    language: str
    spread: float
    best: float
    ways: tuple[WayView, ...]


@dataclass(frozen=True, slots=True)
class SetView:
    """One set's table and its questions. ``total`` of them were asked, those shown differ most in ``primary``.

    ``levels`` says what choices are to be held against, empty where there are none.
    """

    name: str
    total: int
    columns: tuple[str, ...]
    rows: tuple[RowView, ...]
    levels: str
    primary: str
    questions: tuple[QuestionView, ...]


@dataclass(frozen=True, slots=True)
class PlotView:
    """A picture as a ``data:`` address, and in words what it shows."""

    address: str
    alt: str


@dataclass(frozen=True, slots=True)
class ResultView:
    """One folder of results."""

    anchor: str
    name: str
    table: ResultTable
    sets: tuple[SetView, ...]
    plots: tuple[PlotView, ...]
    times: tuple[PartTimes, ...]
    facts: tuple[tuple[str, str], ...]


def result_view(results: ResultFolder, card: RunCard, anchor: str, questions: int) -> ResultView:
    """Return the view of finished results, with at most ``questions`` questions of each set."""
    table = read_table(results.folder)
    return ResultView(
        anchor=anchor,
        name=results.name,
        table=table,
        sets=tuple(_set_view(results, table, each, questions) for each in table.sets),
        plots=_plots(results, table),
        times=tuple(read_times_file(results)),
        facts=card_facts(card),
    )


def _set_view(results: ResultFolder, table: ResultTable, each: SetTable, count: int) -> SetView:
    columns = table.columns_of(each)
    # Of a set without judgements nothing is measured but its answers; one that was only searched for has none.
    primary = next((name for name in columns if all(name in row.cells for row in each.rows)), columns[0])
    return SetView(
        name=each.set,
        total=each.questions,
        columns=columns,
        rows=tuple(_row_view(row, columns, table.baseline) for row in each.rows),
        levels=levels_text(each.levels) if each.levels else "",
        primary=primary,
        questions=_questions(results, each.set, primary, count),
    )


def _row_view(row: Row, columns: Sequence[str], baseline: str) -> RowView:
    cells = tuple(_cell_view(row.cells.get(column)) for column in columns)
    return RowView(row.label, row.condition, row.condition == baseline, cells, counts_text(row))


def _cell_view(cell: Cell | None) -> CellView:
    if cell is None:
        return CellView("–", "", "", "", -1.0)
    against = cell.against
    if against is None:
        return CellView(cell_text(cell), "", "", "", cell.mean)
    difference = f"Δ {against.mean:+.3f} [{against.low:+.3f}, {against.high:+.3f}]".replace("-", "−")
    test = f"p {against.p_holm:.2g}; {against.wins} / {against.ties} / {against.losses}"
    return CellView(cell_text(cell), difference, test, against.sign, cell.mean)


def _questions(results: ResultFolder, set_name: str, primary: str, count: int) -> tuple[QuestionView, ...]:
    """Return the ``count`` questions on which the conditions are furthest apart, those first, ties in their order."""
    if not count:
        return ()
    conditions = results.experiment.conditions
    values, outcomes = {}, {}
    for condition in conditions:
        parts = results.parts(set_name, condition)
        values[condition.name] = mean_values([results.values(part) for part in parts]).get(primary, {})
        outcomes[condition.name] = {outcome.qid: outcome for outcome in results.outcomes(parts[0])}
    titles = results.titles(set_name)
    views = []
    for topic in results.topics(set_name):
        ways = tuple(
            _way(each.shown, values[each.name].get(topic.qid, 0.0), outcomes[each.name][topic.qid], titles)
            for each in conditions
        )
        shares = [way.value for way in ways]
        spread = max(shares) - min(shares)
        views.append(QuestionView(topic.qid, topic.text, detect_language(topic.text), spread, max(shares), ways))
    return tuple(sorted(views, key=lambda view: -round(view.spread, 9))[:count])


def _way(label: str, value: float, outcome: Outcome, titles: dict[str, str]) -> WayView:
    relevant = tuple(
        (str(each.rank or "–"), each.docid, titles.get(each.docid, ""), each.relevance) for each in outcome.relevant
    )
    return WayView(label, value, outcome, relevant, tuple((docid, titles.get(docid, "")) for docid in outcome.top))


def _plots(results: ResultFolder, table: ResultTable) -> tuple[PlotView, ...]:
    """Return the folder's pictures as images: a browser runs nothing that stands in one."""
    views = []
    for number, plot in enumerate(results.experiment.plots, 1):
        path = results.folder / "plots" / f"plot-{number}.svg"
        if not path.is_file():
            continue
        encoded = base64.b64encode(path.read_bytes()).decode()
        along = f"against {plot.x}" if plot.x else "by condition"
        sets = ", ".join(each.set for each in table.sets)
        alt = f"{plot.title or table.title}: {', '.join(plot.y)} {along}, for {sets}. The table below has the numbers."
        views.append(PlotView(f"data:image/svg+xml;base64,{encoded}", alt))
    return tuple(views)


PAGE = Path(__file__).parent / "page"

DEFAULT_QUESTIONS = 100
"""Questions of each set whose way is shown, those on which the conditions are furthest apart."""


def render_report(folders: Sequence[Path], *, questions: int = DEFAULT_QUESTIONS) -> str:
    """Return the page of finished results, in the order given.

    Raises :class:`~shrag.evaluation.errors.ResultsMismatch` for a folder that holds none, or not all of them.
    """
    views = [
        result_view(*open_results(folder), anchor=f"result-{number}", questions=questions)
        for number, folder in enumerate(folders, 1)
    ]
    files = (PAGE_FOLDER / "static" / "palette.css", PAGE / "report.css", PAGE / "report.js")
    palette, look, script = (file.read_text(encoding="utf-8") for file in files)
    style = palette + look
    return (
        open_templates(PAGE)
        .get_template("report.html")
        .render(
            results=views,
            style=style,
            script=script,
            policy=_policy(style, script),
            version=version("shrag"),
        )
    )


def _policy(style: str, script: str) -> str:
    """Return what the page may do: its own style and script, pictures that stand in it, nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
