"""Summarize the timings of an experiment: seconds per question and stage, for each part."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from shrag.corpora.files import write_atomically
from shrag.evaluation.reports.result_folder import ResultFolder, read_result_file

TIMES_FILE = "times.json"


class PartTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The times of one part.

    ``mean``, ``median`` and ``p95`` (the 95th percentile) are seconds per question. ``stages`` has the mean seconds of
    each stage. ``tokens`` is the total.
    """

    part: str
    questions: int
    mean: float
    median: float
    p95: float
    stages: dict[str, float]
    tokens: int


def write_times(results: ResultFolder) -> None:
    """Write the times of all parts as JSON."""
    times = []
    for part, _ in results.all_parts():
        measured = results.times(part)
        times.append(
            summarise_times(part.stem, [each.seconds for each in measured], sum(each.tokens for each in measured))
        )
    data = msgspec.json.format(msgspec.json.encode(times), indent=2) + b"\n"
    write_atomically(results.folder / TIMES_FILE, data)


def read_times_file(results: ResultFolder) -> list[PartTimes]:
    """Return the times of all parts.

    Raises :class:`ResultsMismatch` if the file is missing or damaged.
    """
    return read_result_file(results.folder / TIMES_FILE, list[PartTimes])


def summarise_times(part: str, stages: Sequence[dict[str, float]], tokens: int) -> PartTimes:
    """Return mean, median and 95th percentile (nearest rank) of the questions' total seconds.

    ``stages`` has the seconds of each stage, for each question. A question without stages could not be asked and does
    not count.
    """
    timed = [each for each in stages if each]
    totals = sorted(sum(each.values()) for each in timed)
    names = list(dict.fromkeys(name for each in timed for name in each))
    return PartTimes(
        part=part,
        questions=len(timed),
        mean=statistics.fmean(totals) if totals else 0.0,
        median=statistics.median(totals) if totals else 0.0,
        p95=totals[-(-len(totals) * 19 // 20) - 1] if totals else 0.0,
        stages={name: sum(each.get(name, 0.0) for each in timed) / len(timed) for name in names},
        tokens=tokens,
    )
