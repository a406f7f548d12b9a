"""Compute and print the scores of the confidence for ``shrag evaluate --outcomes``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.output import echo, json_line
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.evaluation.questions.confidence_scores import ConfidenceScores, CoverageScores, Estimate


def score_outcomes(
    qrels: Path, paths: Sequence[Path], unanswerable: Path | None, kinds: Path | None, *, min_grade: int, level: float
) -> dict[str, ConfidenceScores]:
    """Return path as given → the scores of its outcomes.

    Outcomes whose question is neither judged nor unanswerable, and questions without an outcome, are left out. Their
    numbers are printed on stderr.
    """
    from shrag.corpora.formats.topics import read_qrels, read_topics
    from shrag.evaluation.errors import EvaluationError
    from shrag.evaluation.questions.batch import read_outcome_file
    from shrag.evaluation.questions.confidence_scores import answering_records, confidence_cases, score_confidence
    from shrag.evaluation.questions.question_table import KIND, read_question_table

    answering = answering_records(read_qrels(qrels), min_grade)
    kind_rows = read_question_table(kinds, KIND) if kinds else {}
    listed = [topic.qid for topic in read_topics(unanswerable)] if unanswerable else list(kind_rows)
    unanswerable_kinds = {qid: kind_rows[qid][KIND] if qid in kind_rows else "" for qid in listed}
    for qid in listed:
        if qid in answering:
            raise EvaluationError(
                Text("{qid} is judged in {qrels} and also unanswerable: give each question once.", qid=qid, qrels=qrels)
            )
    scores: dict[str, ConfidenceScores] = {}
    for path in paths:
        outcomes = read_outcome_file(path)
        asked = {outcome.qid for outcome in outcomes}
        cases = confidence_cases(outcomes, answering, unanswerable_kinds)
        if not cases:
            raise EvaluationError(
                Text("{path} has no question of {qrels}: give files that belong together.", path=path, qrels=qrels)
            )
        if left_out := len(outcomes) - len(cases):
            echo(
                Text(
                    "{path}: {left_out:,} questions are neither judged nor unanswerable: left out.",
                    path=path,
                    left_out=left_out,
                ),
                err=True,
            )
        if missing := len({*answering, *unanswerable_kinds} - asked):
            echo(
                Text("{path} has no outcome of {missing:,} questions: left out.", path=path, missing=missing), err=True
            )
        scores[str(path)] = score_confidence(cases, level=level)
    return scores


def score_lines(scores: Mapping[str, ConfidenceScores]) -> Iterator[str]:
    """Yield three tab-separated tables with empty lines between: refusals, scores of served answers, and curves."""
    yield "\t".join(["outcomes", "kind", "questions", *_with_ends("refused"), *_with_ends("auc")])
    for path, each in scores.items():
        for kind in each.kinds:
            cells = [*_estimate_cells(kind.refused), *_estimate_cells(kind.auc)]
            yield "\t".join([path, kind.kind, str(kind.questions), *cells])
    yield ""
    columns = ["coverage", "confidence", "answered", "risk", "cited_risk"]
    yield "\t".join(["outcomes", "aurc", *(f"served.{column}" for column in columns)])
    for path, each in scores.items():
        yield "\t".join([path, _number(each.aurc), *_coverage_cells(each.served)])
    yield ""
    yield "\t".join(["outcomes", *columns])
    for path, each in scores.items():
        yield from ("\t".join([path, *_coverage_cells(point)]) for point in each.curve)


def score_json_lines(scores: Mapping[str, ConfidenceScores]) -> Iterator[str]:
    """Yield the scores as one line of JSON for each path."""
    yield from (json_line({"outcomes": path, "confidence": each}) for path, each in scores.items())


def check_plot(path: Path) -> None:
    """Check that a plot can be written to ``path``, before anything is computed for it.

    Raises:
        click.UsageError: The path ends neither in .png nor in .svg.
        PlotLibraryMissing: matplotlib, or the package with its Korean font, is not installed.
    """
    from shrag.evaluation.reports.plots import check_plots

    if _plot_kind(path) not in {"png", "svg"}:
        raise click.UsageError(Text("--plot {path} must end in .png or .svg.", path=path))
    check_plots()


def write_plot(path: Path, scores: Mapping[str, ConfidenceScores]) -> None:
    """Write a plot of risk against coverage to ``path``, as PNG or SVG by its ending."""
    from shrag.corpora.files import write_atomically
    from shrag.evaluation.reports.plots import draw_risk_coverage

    curves = {"Risk and coverage": {name: each.curve for name, each in scores.items()}}
    write_atomically(path, draw_risk_coverage(curves, _plot_kind(path), salt=path.stem))


def _plot_kind(path: Path) -> str:
    return path.suffix.removeprefix(".").lower()


def _with_ends(name: str) -> tuple[str, str, str]:
    return name, f"{name}.low", f"{name}.high"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _estimate_cells(estimate: Estimate | None) -> list[str]:
    return [f"{figure:.4f}" for figure in (estimate.value, estimate.low, estimate.high)] if estimate else [""] * 3


def _coverage_cells(point: CoverageScores | None) -> list[str]:
    if point is None:
        return [""] * 5
    figures = [_number(point.coverage), _number(point.confidence), str(point.answered), _number(point.risk)]
    return [*figures, _number(point.cited_risk)]
