"""Results as a Markdown document."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from shrag.evaluation.experiments.run_card import RunCard
from shrag.evaluation.experiments.spec import Claim
from shrag.evaluation.questions.figures import ChoiceLevels
from shrag.evaluation.reports.claims import Verdict, judge_claim
from shrag.evaluation.reports.result_folder import ResultFolder, open_results
from shrag.evaluation.reports.table import Cell, ResultTable, Row, SetTable, read_table
from shrag.evaluation.reports.timings import PartTimes, read_times_file

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|"})


def table_text(table: ResultTable) -> str:
    """Return the table as Markdown: a heading, what was asked, a table for each set."""
    return "\n".join([*_head(table), *(line for each in table.sets for line in set_lines(table, each))]) + "\n"


def escape_markdown(text: str) -> str:
    """Return ``text`` on one line, every character that Markdown or HTML gives a meaning escaped."""
    return " ".join(text.split()).translate(_SPECIAL)


def cell_text(cell: Cell) -> str:
    """Return a mean with its interval, and ``+`` or ``−`` where it differs from the baseline."""
    spread = f" ± {cell.spread:.3f}" if cell.spread is not None else ""
    text = f"{_number(cell.mean)}{spread} [{_number(cell.low)}, {_number(cell.high)}]"
    sign = cell.against.sign if cell.against else ""
    return f"{text} {sign.replace('-', '−')}".rstrip()


def counts_text(row: Row) -> str:
    """Return what went other than usual: questions refused, without a record, done without the model; ``–`` if none."""
    counts = ((row.errors, "not asked"), (row.empty - row.errors, "without a record"), (row.fallbacks, "without model"))
    return ", ".join(f"{count} {what}" for count, what in counts if count > 0) or "–"


def levels_text(levels: ChoiceLevels) -> str:
    """Return what an accuracy over choices is to be held against."""
    return (
        f"Choices that are drawn are right in {levels.chance:.3f}, always {levels.letter}, the most frequent, is in "
        f"{levels.constant:.3f}."
    )


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _head(table: ResultTable) -> Iterator[str]:
    yield f"# {escape_markdown(table.title)}"
    yield ""
    yield escape_markdown(table.question) + (f" ({escape_markdown(table.source)})" if table.source else "")
    yield ""
    yield (
        "In brackets the 95 % interval over the questions (bootstrap; Wilson's for shares); behind ± the standard "
        "deviation over repeats."
    )
    if table.baseline:
        yield (
            f"`+` and `−`: higher or lower than the baseline `{table.baseline}` by a paired randomisation test, "
            "p < 0.05 after Holm's correction over all conditions and measures of the set."
        )


def set_lines(table: ResultTable, each: SetTable, heading: str = "##") -> Iterator[str]:
    """Yield the table of one set, an empty line and its heading before it."""
    columns = table.columns_of(each)
    yield ""
    yield f"{heading} {escape_markdown(each.set)} ({each.questions:,} questions)"
    yield ""
    yield "| condition | " + " | ".join(escape_markdown(column) for column in columns) + " | not as usual |"
    yield "| --- |" + " ---: |" * len(columns) + " --- |"
    for row in each.rows:
        mark = " (baseline)" if row.condition == table.baseline else ""
        cells = " | ".join(cell_text(row.cells[column]) if column in row.cells else "–" for column in columns)
        yield f"| {escape_markdown(row.label)}{mark} | {cells} | {counts_text(row)} |"
    if each.levels is not None:
        yield ""
        yield levels_text(each.levels)


_INTRODUCTION = """\
# Results

This file is written by `shrag report --markdown` from folders of results; what produced them stands at the end of each
section, and nothing is typed by hand. In brackets is the 95 % interval over the questions (bootstrap; Wilson's for
shares), behind ± the standard deviation over repeats. `+` and `−` mark what is higher or lower than the baseline by a
paired randomisation test, p < 0.05 after Holm's correction over all conditions and measures of the set; "no difference
shown" is no proof that there is none. [evaluation.md](evaluation.md) has the measures,
[experiments.md](experiments.md) the figures of the pool (`collected`, `pool_recall`, `pool_success`). Times are those
of the machine as it was, with whatever else ran on it."""


def render_document(folders: Sequence[Path]) -> str:
    """Return the document of finished results, a section each, in the order given.

    Raises :class:`~shrag.evaluation.errors.ResultsMismatch` for a folder that holds none, or not all of them.
    """
    lines = [_INTRODUCTION]
    for folder in folders:
        lines += ["", *_section(*open_results(folder))]
    return "\n".join(lines) + "\n"


def _section(results: ResultFolder, card: RunCard) -> Iterator[str]:
    table = read_table(results.folder)
    yield f"## {escape_markdown(table.title)}"
    yield ""
    yield escape_markdown(table.question) + (f" ({escape_markdown(table.source)})" if table.source else "")
    for claim in results.experiment.claims:
        yield from _claim_lines(claim, judge_claim(claim, table))
    if table.baseline:
        claims = results.experiment.claims
        yield from _difference_lines(table, claims[0].measure if claims else table.measures[0])
    times = read_times_file(results)
    for each in table.sets:
        yield from set_lines(table, each, heading="###")
        yield from _time_lines([part for part in times if part.part.partition("/")[0] == each.set])
    yield ""
    yield from _card_lines(card)


def _claim_lines(claim: Claim, verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield ""
    yield f"**{escape_markdown(claim.text)}** {_summary(claim, verdicts)}"
    if not verdicts:
        return
    measure = escape_markdown(claim.measure)
    yield ""
    rival, by = ("lowest", "lower by") if claim.lower else ("best", "better by")
    yield f"| set | baseline, {measure} | {rival} of the others | {by} | verdict |"
    yield "| --- | ---: | --- | ---: | --- |"
    for each in verdicts:
        other = f"{escape_markdown(each.rival.label)}: {each.rival.cells[claim.measure].mean:.3f}"
        margin = f"{_signed(each.margin)} [{_signed(each.low)}, {_signed(each.high)}]"
        yield f"| {escape_markdown(each.set)} | {each.own:.3f} | {other} | {margin} | {each.words} |"


def _summary(claim: Claim, verdicts: Sequence[Verdict]) -> str:
    """Say on how many sets the claim was shown, was not, or its contrary was."""
    if not verdicts:
        return "Not asked: no set has two conditions of it."
    held = sum(each.holds for each in verdicts)
    contrary = sum(each.worse > 0 for each in verdicts)
    part = sum(each.better > 0 and not each.holds and not each.worse for each in verdicts)
    ahead = sum(each.margin >= 0 for each in verdicts)
    return (
        f"Of {len(verdicts)} sets, shown against every other condition on {held}, against some of them on {part}, not "
        f"shown on {len(verdicts) - held - part - contrary}, contradicted on {contrary}. The baseline's mean is no "
        f"{'higher than the lowest' if claim.lower else 'worse than the best'} of the others on {ahead}."
    )


def _difference_lines(table: ResultTable, measure: str) -> Iterator[str]:
    """Yield what each condition adds to the baseline or takes from it, set by set of those that have the measure."""
    others = [row for row in table.sets[0].rows if row.condition != table.baseline]
    measured = [each for each in table.sets if measure in table.columns_of(each)]
    if not others or not measured:
        return
    yield ""
    yield (f"Difference to the baseline `{table.baseline}` in {escape_markdown(measure)}; in bold what is significant:")
    yield ""
    yield "| condition | " + " | ".join(escape_markdown(each.set) for each in measured) + " |"
    yield "| --- |" + " ---: |" * len(measured)
    for other in others:
        rows = [next(row for row in each.rows if row.condition == other.condition) for each in measured]
        yield f"| {escape_markdown(other.label)} | " + " | ".join(_difference(row, measure) for row in rows) + " |"


def _difference(row: Row, measure: str) -> str:
    cell = row.cells.get(measure)
    if cell is None or cell.against is None:
        return "–"
    text = _signed(cell.against.mean)
    return f"**{text}**" if cell.against.sign else text


def _signed(value: float) -> str:
    # A zero below zero is one too.
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")


def _time_lines(times: Sequence[PartTimes]) -> Iterator[str]:
    """Yield the seconds a question took, in the order of the table."""
    timed = [f"`{each.part.partition('/')[2]}` {1000 * each.median:.1f}" for each in times if each.questions]
    if timed:
        yield ""
        yield f"Median milliseconds a question: {', '.join(timed)}."


def _card_lines(card: RunCard) -> Iterator[str]:
    identity, machine = card.identity, card.hardware
    asked = ", ".join(f"{name} {each.asked:,}" for name, each in identity.questions.items())
    commands = "; ".join(dict.fromkeys(f"`{shlex.join(each.command)}`" for each in card.sessions))
    threads = max(each.threads for each in card.sessions)
    changed = " with changes" if card.code.dirty else ""
    gpus = ", ".join(machine.gpus) or "no GPU"
    yield f"- **Command:** {commands}, seed {identity.experiment.seed}, {threads} questions at once"
    yield f"- **Questions:** {asked}"
    yield f"- **Language model:** {escape_markdown(identity.model.name) or 'none'}"
    commit = card.code.commit or "no checkout"
    yield (
        f"- **Code:** {commit}{changed}, digest `{card.code.digest[:16]}`; fingerprint of the results "
        f"`{card.fingerprint[:16]}`"
    )
    yield f"- **Versions:** {', '.join(f'{name} {version}' for name, version in identity.versions.items())}"
    yield (
        f"- **Machine:** {escape_markdown(machine.processor)}, {machine.cores} cores, "
        f"{machine.memory_bytes / 2**30:.0f} GiB, {gpus}; {card.sessions[0].started} to {card.sessions[-1].ended}"
    )
