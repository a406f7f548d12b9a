"""``shrag evaluate``: compute measures of runs with judgements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shrag.cli.options.confidence import check_plot, score_json_lines, score_lines, score_outcomes, write_plot
from shrag.cli.options.judging import judge_runs, level_option, measures_option, qrels_option, split_measures
from shrag.cli.output import echo, json_line, json_option
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.evaluation.measures.judge_run import TopicScores
    from shrag.evaluation.statistics.comparison import RunCell


@click.command()
@qrels_option
@click.option("--run", "runs", multiple=True, type=click.Path(path_type=Path), help="A run file; repeatable.")
@click.option("--baseline", type=click.Path(path_type=Path), help="A run file that the others are tested against.")
@measures_option
@click.option("--intervals", is_flag=True, help="Add the confidence interval of every mean.")
@level_option
@click.option(
    "--outcomes",
    "outcome_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Score the confidence of these outcomes of `shrag run --outcomes`, or .questions.jsonl of an experiment.",
)
@click.option("--unanswerable", type=click.Path(path_type=Path), help="Topics that no record answers.")
@click.option(
    "--kinds", type=click.Path(path_type=Path), help="TSV with the columns qid and kind of unanswerable topics."
)
@click.option(
    "--min-grade", type=click.IntRange(1), default=1, show_default=True, help="Minimum grade of a record that answers."
)
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), help="Write a risk-coverage plot (.png, .svg)."
)
@click.option("--per-topic", is_flag=True, help="Print a line for each run and topic instead of the means.")
@json_option
def command(
    qrels: Path,
    runs: tuple[Path, ...],
    baseline: Path | None,
    measures: str,
    intervals: bool,
    level: float,
    outcome_files: tuple[Path, ...],
    unanswerable: Path | None,
    kinds: Path | None,
    min_grade: int,
    plot: Path | None,
    per_topic: bool,
    as_json: bool,
) -> None:
    """Evaluate runs, and the confidence of answers: one line per run, one column per measure, separated by tabs.

    --intervals adds the columns .low and .high to each measure; --baseline adds .difference, .p and .p_holm (p of a
    paired randomisation test, and p after Holm's correction for all tests of the table).

    --outcomes prints for each kind of questions the share refused and the AUC of the confidence, then the area under
    the risk-coverage curve, and the curve: risk is the share of the answered questions whose first record, or cited
    records, do not answer. `shrag run --topics T --topics UNANSWERABLE --outcomes FILE --answers` writes such a file.

    Example: shrag evaluate --qrels corpora/demo/qrels.txt --run demo.run --intervals
    """
    if per_topic and (intervals or baseline):
        raise click.UsageError(Text("--per-topic excludes --intervals and --baseline."))
    paths = [*([baseline] if baseline else []), *runs]
    if not outcome_files and (unanswerable or kinds or plot):
        raise click.UsageError(Text("--unanswerable, --kinds and --plot need --outcomes."))
    if not paths and not outcome_files:
        raise click.UsageError(Text("Missing option '--run': give at least one run, or --outcomes."))
    if plot:
        check_plot(plot)
    if paths:
        _print_runs(qrels, paths, measures, min_grade, baseline, intervals, level, per_topic, as_json)
    if not outcome_files:
        return
    scores = score_outcomes(qrels, outcome_files, unanswerable, kinds, min_grade=min_grade, level=level)
    if paths and not as_json:
        echo("")
    for line in score_json_lines(scores) if as_json else score_lines(scores):
        echo(line)
    if plot:
        write_plot(plot, scores)


def _print_runs(
    qrels: Path,
    paths: list[Path],
    measures: str,
    min_grade: int,
    baseline: Path | None,
    intervals: bool,
    level: float,
    per_topic: bool,
    as_json: bool,
) -> None:
    from shrag.evaluation.statistics.comparison import run_table

    names = split_measures(measures)
    judged = judge_runs(qrels, paths, names, min_grade)
    if per_topic:
        lines = _topic_lines(judged, names, as_json)
    else:
        table = run_table(judged, intervals=intervals, baseline=str(baseline) if baseline else None, level=level)
        lines = map(_json_line, *zip(*table.items(), strict=True)) if as_json else _table_lines(table, names)
    for line in lines:
        echo(line)


def _topic_lines(judged: Mapping[str, TopicScores], names: Iterable[str], as_json: bool) -> Iterator[str]:
    if not as_json:
        yield "\t".join(["run", "qid", *names])
    for run, each in judged.items():
        for qid in next(iter(each.values())):
            values = {name: each[name][qid] for name in names}
            if as_json:
                yield json_line({"run": run, "qid": qid, "measures": values})
            else:
                yield "\t".join([run, qid, *(f"{value:.4f}" for value in values.values())])


def _table_lines(table: Mapping[str, Mapping[str, RunCell]], names: Iterable[str]) -> Iterator[str]:
    cells = [cell for row in table.values() for cell in row.values()]
    parts = [""]
    if any(cell.interval for cell in cells):
        parts += [".low", ".high"]
    if any(cell.difference for cell in cells):
        parts += [".difference", ".p", ".p_holm"]
    yield "\t".join(["run", *(name + part for name in names for part in parts)])
    for run, row in table.items():
        yield "\t".join([run, *(_values(row[name])[part] for name in names for part in parts)])


def _values(cell: RunCell) -> dict[str, str]:
    columns = {"": f"{cell.mean:.4f}", ".difference": "", ".p": "", ".p_holm": ""}
    if cell.interval:
        columns |= {".low": f"{cell.interval.low:.4f}", ".high": f"{cell.interval.high:.4f}"}
    if cell.difference:
        columns[".difference"] = f"{cell.difference.difference:+.4f}"
        columns |= {".p": f"{cell.difference.p:.4g}", ".p_holm": f"{cell.difference.p_holm:.4g}"}
    return columns


def _json_line(run: str, row: Mapping[str, RunCell]) -> str:
    measures: dict[str, dict[str, Any]] = {}
    for name, cell in row.items():
        measures[name] = {"mean": cell.mean}
        if cell.interval:
            measures[name]["interval"] = list(cell.interval)
        if cell.difference:
            difference = cell.difference._asdict()
            fields = ("interval", "p", "p_holm", "wins", "ties", "losses")
            measures[name]["difference"] = {"mean": cell.difference.difference} | {
                key: difference[key] for key in fields
            }
    return json_line({"run": run, "measures": measures})
