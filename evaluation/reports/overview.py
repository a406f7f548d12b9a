"""Write the first page of results: the claims and a plot of each section.

They are read from the Markdown document of all tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shrag.corpora.files import write_atomically
from shrag.evaluation.reports.plots import Label, Panel, Point, Series, check_plots, draw_panels

_SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"−?[\d,]*\.?\d+")
_INTERVAL = re.compile(r"\[(−?[\d.]+), (−?[\d.]+)\]")
_CLAIM = re.compile(r"^\*\*(.+?)\*\* (Of .+|Not tested.+)$", re.MULTILINE)
_COUNTS = re.compile(
    r"Of (\d+) sets, shown against every other condition on (\d+), against some of them on (\d+), not shown on (\d+), "
    r"contradicted on (\d+)\."
)
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)

_INTRODUCTION = """\
# Results

What the project's own experiments found. This page and its plots are written by `shrag report --markdown`;
[all tables]({tables}) have the intervals, the tests, the machines and the commands.

A claim is tested on each set of questions: the baseline of its experiment is compared with each other condition by a
paired randomisation test, p < 0.05 after Holm's correction. The columns count sets. *Shown*: the claim holds against
every other condition. *Partly*: it holds against some. *Not shown*: no difference was found, which does not prove that
there is none. *Contradicted*: the opposite was found against some. A plot has the figures of the section's first claim.
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """The page as Markdown, and its plots by file name."""

    page: str
    plots: Mapping[str, Panel]


def overview(tables: str, page: Path) -> Overview:
    """Return the first page of the document ``tables``, to be written to ``page`` and :func:`tables_path`."""
    lines = [_INTRODUCTION.format(tables=tables_path(page).name)]
    plots: dict[str, Panel] = {}
    for number, (title, section) in enumerate(_SECTION.findall(tables), 1):
        question = next(part for part in section.split("\n\n") if part.strip())
        lines += [f"## {title}", "", " ".join(question.split()), ""]
        lines += _claims(section)
        panel = _panel(section)
        if panel is not None:
            name = f"{page.stem}-{number}.svg"
            plots[name] = panel
            named = " and ".join(series.label for series in panel.series)
            lines += [f"![{panel.measure} of {named} on {len(panel.labels)} sets]({name})", ""]
    return Overview("\n".join(lines).rstrip() + "\n", plots)


def tables_path(page: Path) -> Path:
    """Return the path of the document of all tables, beside ``page``."""
    return page.with_name(f"{page.stem}-tables.md")


def write_overview(tables: str, page: Path) -> None:
    """Write ``tables`` and, beside it, the first page and its plots.

    Raises:
        PlotLibraryMissing: matplotlib, or the package with its Korean font, is not installed.
    """
    check_plots()
    written = overview(tables, page)
    write_atomically(tables_path(page), tables.encode())
    for name, panel in written.plots.items():
        write_atomically(page.with_name(name), draw_panels([panel], "svg", salt=name))
    write_atomically(page, written.page.encode())


def _claims(section: str) -> Iterator[str]:
    claims = _CLAIM.findall(section)
    if not claims:
        return
    yield "| claim | sets | shown | partly | not shown | contradicted |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for claim, verdict in claims:
        counts = _COUNTS.match(verdict)
        yield f"| {claim} | {' | '.join(counts.groups() if counts else ('0', '–', '–', '–', '–'))} |"
    yield ""


def _panel(section: str) -> Panel | None:
    """Return the plot of the section's first table, which has the first claim or, without claims, the first figures.

    Only a table with a row for each set is plotted. None if the first table has other rows, or if there is no table.
    """
    found = _TABLE.search(section)
    if found is None:
        return None
    header, _, *rows = ([cell.strip() for cell in line.strip("| \n").split(" | ")] for line in found[0].splitlines())
    if header[0] != "set":
        return None
    labels = tuple(Label(float(at), row[0], row[0]) for at, row in enumerate(rows))
    if header[1].startswith("baseline, "):
        measure = header[1].removeprefix("baseline, ")
        columns = {1: "baseline", 2: header[2]}
    else:
        measure = found.string[: found.start()].rstrip().rpartition("\n")[2].rstrip(":")
        columns = {at: name for at, name in enumerate(header) if at and name != "questions"}
    series = tuple(
        Series(name, tuple(_point(float(at), row[column]) for at, row in enumerate(rows)))
        for column, name in columns.items()
    )
    return Panel(measure.replace("\\", ""), "", labels, series)


def _point(x: float, cell: str) -> Point:
    """Return the figure in a cell such as ``0.750 [0.667, 0.818] −``, or the last one in ``bm25s: 0.479``."""
    interval = _INTERVAL.search(cell)
    mean = _value(_NUMBER.findall(cell[: interval.start()] if interval else cell)[-1])
    low, high = (_value(end) for end in interval.groups()) if interval else (mean, mean)
    return Point(x, mean, low, high)


def _value(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))
