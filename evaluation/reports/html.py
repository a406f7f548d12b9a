"""HTML report of results folders: one self-contained page."""

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
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.reports.markdown import cell_text, choice_baselines_text, counts_text
from shrag.evaluation.reports.result_folder import ResultFolder, mean_values, open_results
from shrag.evaluation.reports.table import ResultCell, ResultRow, ResultTable, SetTable, read_table
from shrag.evaluation.reports.timings import PartTimes, read_times_file
from shrag.serving.page.rendering import PAGE_FOLDER, open_templates


def _card_facts(card: RunCard) -> Iterator[tuple[str, str]]:
    """Yield the card's fields as pairs of name and text, in display order."""
    identity = card.identity
    yield "fingerprint", card.fingerprint
    for session in card.sessions:
        ended = session.ended or "stopped"
        yield "command", f"{shlex.join(session.command)} ({session.started} to {ended}, {session.threads} at once)"
    changed = {True: ", with changes", False: "", None: ""}[card.code.dirty]
    yield "code", f"{card.code.commit or 'no checkout'}{changed}, {card.code.digest}"
    yield "seed", f"{identity.experiment.seed}, {identity.experiment.repeats} repeats with a language model"
    yield "records per question", str(identity.experiment.k)
    for name, questions in identity.questions.items():
        yield (
            f"questions of {name}",
            f"{questions.topics:,} asked; left out: {questions.unjudged_topics:,} without judgement, "
            f"{questions.missing_topics:,} judged but without text; {questions.digest}",
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
    yield "files", f"{len(card.files)} that are the same, byte for byte, in every run of this fingerprint"


def _index(index: IndexIdentity) -> str:
    vectors = index.vectors
    made = (
        f"vectors by {vectors.encoder} (dimension {vectors.dimension}, {vectors.digest})" if vectors else "no vectors"
    )
    bm25 = f"k1 {index.bm25.k1}, b {index.bm25.b}, title {index.bm25.title_boost}"
    return (
        f"{index.records:,} records of the corpus {index.corpus}, {index.rejected:,} rejected; analyzer "
        f"{index.analyzer}; BM25 with {bm25}; {made}"
    )


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as text: mean with interval, difference from the baseline, its test; ``value`` is the sort key."""

    text: str
    difference: str
    test: str
    sign: str
    value: float


@dataclass(frozen=True, slots=True)
class RowView:
    """The row of one condition."""

    label: str
    name: str
    is_baseline: bool
    cells: tuple[CellView, ...]
    counts: str


@dataclass(frozen=True, slots=True)
class TraceView:
    """The trace of one question under one condition: how its ranking and answer came about.

    ``relevant`` has rank (or ``–``), docid, title and relevance, ``top`` docid and title.
    """

    label: str
    value: float
    outcome: QuestionOutcome
    relevant: tuple[tuple[str, str, str, int], ...]
    top: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question, its language, the largest value of a condition and the spread between the conditions."""

    qid: str
    text: str
    language: str
    spread: float
    best: float
    traces: tuple[TraceView, ...]


@dataclass(frozen=True, slots=True)
class SetView:
    """The table of one set, and those of its ``total`` questions that differ most by the measure ``primary``.

    ``choice_baselines`` are the baselines of choice accuracy in words, empty without choices.
    """

    name: str
    total: int
    columns: tuple[str, ...]
    rows: tuple[RowView, ...]
    choice_baselines: str
    primary: str
    questions: tuple[QuestionView, ...]


@dataclass(frozen=True, slots=True)
class PlotView:
    """A plot as a ``data:`` URL, with its alternative text."""

    address: str
    alt: str


@dataclass(frozen=True, slots=True)
class ResultView:
    """The results of one folder."""

    anchor: str
    name: str
    table: ResultTable
    sets: tuple[SetView, ...]
    plots: tuple[PlotView, ...]
    times: tuple[PartTimes, ...]
    facts: tuple[tuple[str, str], ...]


def result_view(results: ResultFolder, card: RunCard, anchor: str, questions: int) -> ResultView:
    """Return the view of complete results, with at most ``questions`` questions of each set."""
    table = read_table(results.folder)
    return ResultView(
        anchor=anchor,
        name=results.name,
        table=table,
        sets=tuple(_set_view(results, table, each, questions) for each in table.sets),
        plots=_plots(results, table),
        times=tuple(read_times_file(results)),
        facts=tuple(_card_facts(card)),
    )


def _set_view(results: ResultFolder, table: ResultTable, each: SetTable, count: int) -> SetView:
    columns = table.columns_of(each)
    # A set without judgements has figures of answers only, and conditions that only search have none of these.
    primary = next((name for name in columns if all(name in row.cells for row in each.rows)), columns[0])
    return SetView(
        name=each.set,
        total=each.questions,
        columns=columns,
        rows=tuple(_row_view(row, columns, table.baseline) for row in each.rows),
        choice_baselines=choice_baselines_text(each.choice_baselines) if each.choice_baselines else "",
        primary=primary,
        questions=_questions(results, each.set, primary, count),
    )


def _row_view(row: ResultRow, columns: Sequence[str], baseline: str) -> RowView:
    cells = tuple(_cell_view(row.cells.get(column)) for column in columns)
    return RowView(row.label, row.condition, row.condition == baseline, cells, counts_text(row))


def _cell_view(cell: ResultCell | None) -> CellView:
    if cell is None:
        return CellView("–", "", "", "", -1.0)
    difference = cell.difference
    if difference is None:
        return CellView(cell_text(cell), "", "", "", cell.mean)
    shown = f"Δ {difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]".replace("-", "−")
    test = f"p {difference.p_holm:.2g}; {difference.wins} / {difference.ties} / {difference.losses}"
    return CellView(cell_text(cell), shown, test, difference.sign, cell.mean)


def _questions(results: ResultFolder, set_name: str, primary: str, count: int) -> tuple[QuestionView, ...]:
    """Return the ``count`` questions with the largest spread between conditions, largest first."""
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
        traces = tuple(
            _trace(each.display_name, values[each.name].get(topic.qid, 0.0), outcomes[each.name][topic.qid], titles)
            for each in conditions
        )
        scores = [trace.value for trace in traces]
        spread = max(scores) - min(scores)
        views.append(QuestionView(topic.qid, topic.text, detect_language(topic.text), spread, max(scores), traces))
    return tuple(sorted(views, key=lambda view: -round(view.spread, 9))[:count])


def _trace(label: str, value: float, outcome: QuestionOutcome, titles: dict[str, str]) -> TraceView:
    relevant = tuple(
        (str(each.rank or "–"), each.docid, titles.get(each.docid, ""), each.relevance) for each in outcome.relevant
    )
    return TraceView(
        label, value, outcome, relevant, tuple((docid, titles.get(docid, "")) for docid in outcome.top_docids)
    )


def _plots(results: ResultFolder, table: ResultTable) -> tuple[PlotView, ...]:
    """Return the plots as images; a browser does not run scripts in an image."""
    views = []
    for number, plot in enumerate(results.experiment.plots, 1):
        path = results.folder / "plots" / f"plot-{number}.svg"
        if not path.is_file():
            continue
        encoded = base64.b64encode(path.read_bytes()).decode()
        along = f"against {plot.x}" if plot.x else "by condition"
        sets = ", ".join(each.set for each in table.sets)
        alt = f"{plot.title or table.title}: {', '.join(plot.y)} {along}, for {sets}. The table below has the figures."
        views.append(PlotView(f"data:image/svg+xml;base64,{encoded}", alt))
    return tuple(views)


PAGE = Path(__file__).parent / "page"

DEFAULT_QUESTIONS = 100
"""Number of questions of each set that are shown with their traces."""


def render_report(folders: Sequence[Path], *, questions: int = DEFAULT_QUESTIONS) -> str:
    """Return the HTML page of complete results.

    Args:
        folders: Results folders, in the order of the page.
        questions: Questions of each set that are shown, those with the largest spread between the conditions.

    Raises:
        ResultsMismatch: A folder has no complete results.
    """
    views = [
        result_view(*open_results(folder), anchor=f"result-{number}", questions=questions)
        for number, folder in enumerate(folders, 1)
    ]
    files = (PAGE_FOLDER / "static" / "palette.css", PAGE / "report.css", PAGE / "report.js")
    palette, layout, script = (file.read_text(encoding="utf-8") for file in files)
    style = palette + layout
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
    """Return the content security policy: the page's own style, script and images only."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
