"""Results as a document in Markdown: what was claimed and found, set by set, every table, and what produced them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from shrag.evaluation.claims import Verdict, judge_claim
from shrag.evaluation.experiment import Claim
from shrag.evaluation.result_folder import ResultFolder, open_results
from shrag.evaluation.result_table import ResultTable, Row, read_table
from shrag.evaluation.run_card import RunCard
from shrag.evaluation.table_text import escape_markdown, set_lines
from shrag.evaluation.times import PartTimes, read_times_file

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
