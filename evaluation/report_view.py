"""What a report shows of a folder of results, as values; the template sets them and escapes them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from shrag.corpora.language import detect_language
from shrag.evaluation.outcome import Outcome
from shrag.evaluation.report_card import card_facts
from shrag.evaluation.result_folder import ResultFolder, mean_values
from shrag.evaluation.result_table import Cell, ResultTable, Row, SetTable, read_table
from shrag.evaluation.run_card import RunCard
from shrag.evaluation.table_text import cell_text, counts_text, levels_text
from shrag.evaluation.times import PartTimes, read_times_file


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
