"""The picture of a question's way, as numbers: how long a bar is, where a line runs. The template draws them as SVG.

Lengths are in the units of the drawing's own ``viewBox``, so that it grows and shrinks with the page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from shrag.serving.events import ModelCall, Purpose, RankedRecord

WIDTH = 100.0
"""The width of every drawing."""

ROW = 16.0
"""The height of a record's row in the drawing of the ranking."""


@dataclass(frozen=True, slots=True)
class Line:
    """A record's line from its row before re-ranking to its row after; ``before`` and ``after`` are the ranks."""

    before: int
    after: int
    from_y: float
    to_y: float
    cited: bool


@dataclass(frozen=True, slots=True)
class Work:
    """What a language model was asked for one purpose: how often, and the tokens and milliseconds of all of it."""

    purpose: Purpose
    calls: int
    tokens: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Share:
    """A stage's part of the time: where it begins, how wide it is, and its milliseconds."""

    stage: str
    x: float
    width: float
    milliseconds: float


def bar_lengths(counts: Sequence[float]) -> list[float]:
    """Return a length for each count, the largest count's being :data:`WIDTH`."""
    largest = max(counts, default=0)
    return [round(WIDTH * count / largest, 1) if largest > 0 else 0.0 for count in counts]


def ranking_lines(records: Sequence[RankedRecord], cited: Collection[str]) -> list[Line]:
    """Return the records' lines, the best first.

    The left side has a row for each record shown, in the order before re-ranking: a pool's hundredth place would
    otherwise press all others together.
    """
    rows = {rank: row for row, rank in enumerate(sorted(each.pool_rank for each in records))}
    return [
        Line(each.pool_rank, each.rank, _middle(rows[each.pool_rank]), _middle(row), each.record.docid in cited)
        for row, each in enumerate(records)
    ]


def stage_shares(seconds: Mapping[str, float]) -> list[Share]:
    """Return each stage's share of the time, side by side in their order, :data:`WIDTH` in all."""
    total = sum(seconds.values())
    shares: list[Share] = []
    begun = 0.0
    for stage, spent in seconds.items():
        width = WIDTH * spent / total if total > 0 else 0.0
        shares.append(Share(stage, round(begun, 2), round(width, 2), spent * 1000))
        begun += width
    return shares


def model_work(calls: Iterable[ModelCall]) -> list[Work]:
    """Return what a model was asked, by purpose, in the order in which they came up.

    Calls that went side by side count in full: together they may take longer than the question did.
    """
    of: dict[Purpose, list[ModelCall]] = {}
    for call in calls:
        of.setdefault(call.stage, []).append(call)
    return [
        Work(
            purpose,
            len(made),
            sum(call.prompt_tokens + call.completion_tokens for call in made),
            1000 * sum(call.seconds for call in made),
        )
        for purpose, made in of.items()
    ]


def _middle(row: int) -> float:
    return (row + 0.5) * ROW
