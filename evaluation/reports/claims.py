"""Claims of an experiment, and whether its table bears them out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shrag.evaluation.experiments.spec import Claim
from shrag.evaluation.reports.table import Difference, ResultTable, Row, SetTable


class Verdict(NamedTuple):
    """What one set says of a claim.

    ``own`` is the baseline's mean; ``rival`` the other condition that does best in the claim's direction, ``margin``
    how far the baseline is better than it, with its interval, positive where the claim points. ``better`` and ``worse``
    count the conditions that the baseline is significantly better and worse than, ``of`` all it was compared with.
    """

    set: str
    own: float
    rival: Row
    margin: float
    low: float
    high: float
    better: int
    worse: int
    of: int

    @property
    def holds(self) -> bool:
        """The baseline is significantly better than every other."""
        return self.better == self.of

    @property
    def words(self) -> str:
        """The verdict for people."""
        if self.holds:
            return "holds" if self.of == 1 else f"holds against all {self.of}"
        if not self.better and not self.worse:
            return "no difference shown"
        parts = ((self.better, "holds against"), (self.worse, "the contrary is shown against"))
        return ", ".join(f"{what} {count} of {self.of}" for count, what in parts if count)


def judge_claim(claim: Claim, table: ResultTable) -> list[Verdict]:
    """Return what each set of a table says of a claim, those without a condition to compare left out."""
    return [verdict for each in table.sets for verdict in _verdict(claim, table.baseline, each)]


def _verdict(claim: Claim, baseline: str, each: SetTable) -> Iterator[Verdict]:
    direction = -1 if claim.lower else 1
    own = next((row.cells.get(claim.measure) for row in each.rows if row.condition == baseline), None)
    others = [(row, against) for row in each.rows if (against := _against(claim, row)) is not None]
    if own is None or not others:
        return
    rival, against = max(others, key=lambda other: direction * other[1].mean)
    ends = sorted((-direction * against.low, -direction * against.high))
    signs = [against.sign for _, against in others]
    wins, losses = ("+", "-") if claim.lower else ("-", "+")
    yield Verdict(
        set=each.set,
        own=own.mean,
        rival=rival,
        margin=-direction * against.mean,
        low=ends[0],
        high=ends[1],
        better=signs.count(wins),
        worse=signs.count(losses),
        of=len(signs),
    )


def _against(claim: Claim, row: Row) -> Difference | None:
    """Return the row's difference to the baseline, None where the claim is not about it."""
    cell = row.cells.get(claim.measure)
    if cell is None or (claim.over and not {row.condition, row.group} & set(claim.over)):
        return None
    return cell.against
