"""The table as Markdown, for people and for documents."""

from __future__ import annotations

from collections.abc import Iterator

from shrag.evaluation.choice_levels import ChoiceLevels
from shrag.evaluation.result_table import Cell, ResultTable, Row, SetTable

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
