"""``shrag compare``: compare two runs, and list the questions that changed most."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.options.judging import judge_runs, level_option, measures_option, split_measures
from shrag.cli.output import echo, print_json
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.evaluation.statistics.comparison import Change, Difference


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--qrels", type=click.Path(path_type=Path), help="Judgements, for two run files: TREC's, or BEIR's TSV.")
@measures_option
@level_option
@click.option(
    "--topics", type=click.Path(path_type=Path), help="The questions' file, to print the text of those that changed."
)
@click.option(
    "-n",
    "count",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Number of questions to print: those that gained most and those that lost most.",
)
@click.option("--by", metavar="MEASURE", help="The measure of the changes.  [default: the first of --measures]")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line: the measures, then the questions."
)
def command(
    a: str,
    b: str,
    qrels: Path | None,
    measures: str,
    level: float,
    topics: Path | None,
    count: int,
    by: str | None,
    as_json: bool,
) -> None:
    """Compare run B with run A, topic by topic.

    A and B are run files, evaluated with --qrels, or conditions of results folders (FOLDER:CONDITION), with the
    folder's questions, judgements and measures.

    For each measure: both means, the difference (B - A) with its interval, p of a paired randomisation test, p after
    Holm's correction for the number of measures, and the numbers of topics that B wins, ties and loses.

    Example: shrag compare old.run new.run --qrels corpora/demo/qrels.txt --topics corpora/demo/topics.tsv
    """
    from shrag.corpora.formats.topics import read_topics
    from shrag.evaluation.statistics.comparison import compare, largest_changes

    if qrels is None:
        _compare_results(a, b, level=level, count=count, by=by, as_json=as_json)
        return
    names = split_measures(measures)
    measure = by or names[0]
    if measure not in names:
        raise click.UsageError(
            Text("--by {measure} is not among --measures, which are {names}.", measure=measure, names=", ".join(names))
        )
    questions = {topic.qid: topic.text for topic in read_topics(topics)} if topics else {}
    judged = judge_runs(qrels, [Path(a), Path(b)], names)
    judged_a, judged_b = judged[str(Path(a))], judged[str(Path(b))]
    changes = largest_changes(judged_a[measure], judged_b[measure], count)
    print_comparison(compare(judged_a, judged_b, level=level), measure, changes, questions, as_json=as_json)


def _compare_results(a: str, b: str, *, level: float, count: int, by: str | None, as_json: bool) -> None:
    """Compare two conditions of results folders, with a table for each set."""
    from shrag.evaluation.reports.comparison import choose_condition, compare_conditions, is_results_path

    for given in (a, b):
        if not is_results_path(given):
            raise click.UsageError(
                Text("{given} is not a results folder: give two of them, or two run files with --qrels.", given=given)
            )
    one, other = choose_condition(a), choose_condition(b)
    for each in compare_conditions(one, other, count=count, by=by, level=level):
        echo(f"{each.set}: A {one.condition.name}, B {other.condition.name}", err=True)
        measure = by or each.differences[0].measure
        print_comparison(each.differences, measure, each.changes, each.questions, as_json=as_json, set_name=each.set)


def print_comparison(
    differences: Sequence[Difference],
    measure: str,
    changes: Sequence[Change],
    questions: dict[str, str],
    *,
    as_json: bool,
    set_name: str = "",
) -> None:
    """Print the table of differences and, after a blank line, the questions that changed most by ``measure``.

    The second table has a column of their texts if ``questions`` has any. JSON objects name the set if there is one.
    """
    if as_json:
        of_set = {"set": set_name} if set_name else {}
        for each in differences:
            print_json({**each._asdict(), **of_set})
        for change in changes:
            asked = {"question": questions[change.qid]} if change.qid in questions else {}
            print_json({"measure": measure, **change._asdict(), **asked, **of_set})
        return
    echo("measure\tA\tB\tdifference\tlow\thigh\tp\tp_holm\twins\tties\tlosses")
    for each in differences:
        means = f"{each.mean_a:.4f}\t{each.mean_b:.4f}\t{each.difference:+.4f}"
        interval = f"{each.interval.low:+.4f}\t{each.interval.high:+.4f}"
        counts = f"{each.wins}\t{each.ties}\t{each.losses}"
        echo(f"{each.measure}\t{means}\t{interval}\t{each.p:.4g}\t{each.p_holm:.4g}\t{counts}")
    if changes:
        echo(f"\nqid\tA\tB\t{measure}" + ("\tquestion" if questions else ""))
    for change in changes:
        shown = "\t" + " ".join(questions.get(change.qid, "").split()) if questions else ""
        echo(f"{change.qid}\t{change.a:.4f}\t{change.b:.4f}\t{change.b - change.a:+.4f}{shown}")
