"""Write results folders as an HTML report, in one self-contained page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from shrag.corpora.records import Topic
from shrag.corpora.text.sentences import detect_language
from shrag.evaluation.experiments.run_card import RunCard
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.reports.markdown import (
    card_facts,
    cell_text,
    choice_baselines_text,
    counts_text,
    coverage_texts,
    estimate_text,
    paper_title,
    paper_value_texts,
    signed_text,
)
from shrag.evaluation.reports.paper_values import paper_values
from shrag.evaluation.reports.result_folder import ResultFolder, mean_values, open_results
from shrag.evaluation.reports.table import BaselineDifference, ResultTable, SetTable, read_table
from shrag.evaluation.reports.timings import PartTimes, read_times_file
from shrag.serving.page.rendering import PAGE_FOLDER, open_templates


@dataclass(frozen=True, slots=True)
class TraceView:
    """How the ranking and the answer to one question came about under one condition. ``value`` is its score."""

    label: str
    value: float
    outcome: QuestionOutcome


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question with a trace for each condition. ``spread`` is their highest value minus their lowest."""

    topic: Topic
    language: str
    spread: float
    best: float
    traces: tuple[TraceView, ...]


@dataclass(frozen=True, slots=True)
class SetView:
    """The table of one set, and the questions on which the conditions differ most by the measure ``primary``."""

    table: SetTable
    columns: tuple[str, ...]
    primary: str
    questions: tuple[QuestionView, ...]
    titles: dict[str, str]


@dataclass(frozen=True, slots=True)
class ResultView:
    """The results of one folder. A plot is a ``data:`` URL with its alternative text."""

    anchor: str
    table: ResultTable
    sets: tuple[SetView, ...]
    plots: tuple[tuple[str, str], ...]
    times: tuple[PartTimes, ...]
    facts: tuple[tuple[str, str], ...]


def result_view(results: ResultFolder, card: RunCard, anchor: str, questions: int) -> ResultView:
    """Return the view of complete results, with at most ``questions`` questions of each set."""
    table = read_table(results.folder)
    return ResultView(
        anchor=anchor,
        table=table,
        sets=tuple(_set_view(results, table, each, questions) for each in table.sets),
        plots=tuple(_plots(results, table)),
        times=tuple(read_times_file(results)),
        facts=tuple(card_facts(card)),
    )


def _set_view(results: ResultFolder, table: ResultTable, each: SetTable, count: int) -> SetView:
    columns = table.columns_of(each)
    # A set without judgements has only figures of answers, and conditions that only search have none of these.
    primary = next((name for name in columns if all(name in row.cells for row in each.rows)), columns[0])
    return SetView(each, columns, primary, _questions(results, each.set, primary, count), results.titles(each.set))


def difference_text(difference: BaselineDifference) -> str:
    """Return a difference from the baseline with its interval."""
    low, high = signed_text(difference.low), signed_text(difference.high)
    return f"Δ {signed_text(difference.mean)} [{low}, {high}]"


def _questions(results: ResultFolder, set_name: str, primary: str, count: int) -> tuple[QuestionView, ...]:
    """Return the ``count`` questions with the largest spread between the conditions, the largest first."""
    if not count:
        return ()
    conditions = results.experiment.conditions
    values, outcomes = {}, {}
    for condition in conditions:
        parts = results.parts(set_name, condition)
        values[condition.name] = mean_values([results.values(part) for part in parts]).get(primary, {})
        outcomes[condition.name] = {outcome.qid: outcome for outcome in results.outcomes(parts[0])}
    views = []
    for topic in results.topics(set_name):
        traces = tuple(
            TraceView(each.display_name, values[each.name].get(topic.qid, 0.0), outcomes[each.name][topic.qid])
            for each in conditions
        )
        scores = [trace.value for trace in traces]
        spread = max(scores) - min(scores)
        views.append(QuestionView(topic, detect_language(topic.text), spread, max(scores), traces))
    return tuple(sorted(views, key=lambda view: -round(view.spread, 9))[:count])


def _plots(results: ResultFolder, table: ResultTable) -> Iterator[tuple[str, str]]:
    """Yield the plots as images, because a browser runs no scripts in an image."""
    for number, plot in enumerate(results.experiment.plots, 1):
        path = results.folder / "plots" / f"plot-{number}.svg"
        if path.is_file():
            encoded = base64.b64encode(path.read_bytes()).decode()
            along = f"against {plot.x}" if plot.x else "by condition"
            along = "against coverage" if plot.kind == "risk-coverage" else along
            shown = f"{', '.join(plot.y) or 'risk'} {along}, for {', '.join(each.set for each in table.sets)}"
            alt = f"{plot.title or table.title}: {shown}. The table below has the figures."
            yield f"data:image/svg+xml;base64,{encoded}", alt


PAGE = Path(__file__).parent / "page"

DEFAULT_QUESTIONS = 100
"""Number of questions of each set that the report shows with their traces."""


def render_report(folders: Sequence[Path], *, questions: int = DEFAULT_QUESTIONS) -> str:
    """Return the HTML page of complete results.

    The page shows ``questions`` of each set, those with the largest spread between the conditions. Raises
    :class:`ResultsMismatch` if a folder has no complete results.
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
            cell_text=cell_text,
            counts_text=counts_text,
            coverage_texts=coverage_texts,
            difference_text=difference_text,
            choice_baselines_text=choice_baselines_text,
            estimate_text=estimate_text,
            paper_title=paper_title,
            paper_values=paper_values,
            paper_value_texts=paper_value_texts,
        )
    )


def _policy(style: str, script: str) -> str:
    """Return the content security policy. It allows only the page's own style, script and images."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
