"""Check an experiment's claims against its table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shrag.evaluation.experiments.spec import Claim
from shrag.evaluation.reports.table import BaselineDifference, ResultRow, ResultTable, SetTable


class Verdict(NamedTuple):
    """The result of a claim on one set. "Better" means lower if the claim expects less, else higher.

    Attributes:
        baseline_mean: The baseline's mean of the measure.
        rival: The best of the other conditions.
        margin: How much better the baseline's mean is than the rival's, negative if worse. Its interval is from ``low``
            to ``high``.
        better: Number of conditions than which the baseline is significantly better; ``worse`` likewise.
        compared: Number of other conditions that the claim is about.
    """

    set: str
    baseline_mean: float
    rival: ResultRow
    margin: float
    low: float
    high: float
    better: int
    worse: int
    compared: int

    @property
    def holds(self) -> bool:
        """Whether the baseline is significantly better than every other condition."""
        return self.better == self.compared

    @property
    def summary(self) -> str:
        """The verdict in words."""
        if self.holds:
            return "holds" if self.compared == 1 else f"holds against all {self.compared}"
        if not self.better and not self.worse:
            return "no difference shown"
        parts = ((self.better, "holds against"), (self.worse, "the contrary is shown against"))
        return ", ".join(f"{what} {count} of {self.compared}" for count, what in parts if count)


def judge_claim(claim: Claim, table: ResultTable) -> list[Verdict]:
    """Return the verdict on each set of a table. Sets without a condition to compare are left out."""
    return [verdict for each in table.sets for verdict in _verdict(claim, table.baseline, each)]


def _verdict(claim: Claim, baseline: str, each: SetTable) -> Iterator[Verdict]:
    direction = -1 if claim.lower_is_better else 1
    own_cell = next((row.cells.get(claim.measure) for row in each.rows if row.condition == baseline), None)
    others = [(row, difference) for row in each.rows if (difference := _difference(claim, row)) is not None]
    if own_cell is None or not others:
        return
    rival, difference = max(others, key=lambda other: direction * other[1].mean)
    ends = sorted((-direction * difference.low, -direction * difference.high))
    signs = [difference.sign for _, difference in others]
    wins, losses = ("+", "-") if claim.lower_is_better else ("-", "+")
    yield Verdict(
        set=each.set,
        baseline_mean=own_cell.mean,
        rival=rival,
        margin=-direction * difference.mean,
        low=ends[0],
        high=ends[1],
        better=signs.count(wins),
        worse=signs.count(losses),
        compared=len(signs),
    )


def _difference(claim: Claim, row: ResultRow) -> BaselineDifference | None:
    """Return the row's difference from the baseline; None if the claim is not about the row."""
    cell = row.cells.get(claim.measure)
    if cell is None or (claim.over and not {row.condition, row.group} & set(claim.over)):
        return None
    return cell.difference
