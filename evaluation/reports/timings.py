"""Timings of an experiment's questions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from shrag.corpora.files import replace_durably
from shrag.evaluation.reports.result_folder import ResultFolder

TIMES_FILE = "times.json"


class PartTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds a question took, and each stage's mean; ``tokens`` of a language model in all."""

    part: str
    questions: int
    mean: float
    median: float
    slowest_twentieth: float
    stages: dict[str, float]
    tokens: int


def write_times(results: ResultFolder) -> None:
    """Write the times of every part as JSON."""
    times = []
    for part, _ in results.all_parts():
        measured = results.times(part)
        times.append(
            summarise_times(part.stem, [each.seconds for each in measured], sum(each.tokens for each in measured))
        )
    data = msgspec.json.format(msgspec.json.encode(times), indent=2) + b"\n"
    replace_durably(results.folder / TIMES_FILE, data)


def read_times_file(results: ResultFolder) -> list[PartTimes]:
    """Return the times of every part; raises ``OSError`` and ``msgspec.MsgspecError`` where the file is no such."""
    return msgspec.json.decode((results.folder / TIMES_FILE).read_bytes(), type=list[PartTimes])


def summarise_times(part: str, stages: Sequence[dict[str, float]], tokens: int) -> PartTimes:
    """Return the mean, the median and the 95th percentile (the nearest rank) of each question's sum of stages.

    Questions without a stage were refused: they have no time and do not count.
    """
    timed = [each for each in stages if each]
    totals = sorted(sum(each.values()) for each in timed)
    names = list(dict.fromkeys(name for each in timed for name in each))
    return PartTimes(
        part=part,
        questions=len(timed),
        mean=statistics.fmean(totals) if totals else 0.0,
        median=statistics.median(totals) if totals else 0.0,
        slowest_twentieth=totals[-(-len(totals) * 19 // 20) - 1] if totals else 0.0,
        stages={name: sum(each.get(name, 0.0) for each in timed) / len(timed) for name in names},
        tokens=tokens,
    )
