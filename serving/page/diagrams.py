"""Numbers for the question tree and the retrieval trace.

Each strategy that plans tells of its questions by the same events: a tree's, a chain's steps, parts, further queries.

Lengths are in the units of the drawing's own ``viewBox``, so that it grows and shrinks with the page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from shrag.serving.events import Budget, ModelCall, Node, NodeKind, NodeState, Purpose, RankedRecord, Truncated
from shrag.serving.page.request import PageRequest
from shrag.serving.page.snippets import shorten
from shrag.serving.page.state import PageState, answer_language

LONGEST_NODE_QUESTION = 400
"""Characters of a node's question, and of what it was searched by, that are shown."""

LONGEST_NODE_ANSWER = 600

_JOINS: tuple[NodeKind, ...] = ("bridging", "intersection", "comparison", "hybrid")
"""Kinds that the page explains: their names alone do not."""

_BOUNDS: tuple[Budget, ...] = get_args(Budget)

_SLOT = re.compile(r"(\[ANS_\d{1,3}\])")


def tree_view(seen: PageState, asked: PageRequest) -> dict[str, Any] | None:
    """Return the tree as far as it has grown, None where a question was asked as it is and nothing ran out.

    ``complete`` says that it grows no more; ``count`` is the number of questions below the reader's, ``done`` of those
    that are not open; ``explained_kinds`` are the kinds among them that the page explains.
    """
    if not seen.nodes and not seen.truncated:
        return None
    below = [node for node in seen.nodes.values() if node.parent is not None]
    return {
        "language": answer_language(seen, asked),
        "complete": seen.timings is not None,
        "count": len(below),
        "done": sum(node.state != "open" for node in below),
        "explained_kinds": [kind for kind in _JOINS if any(node.kind == kind for node in below)],
        # Questions are worked on side by side: which bound is met first tells a reader nothing.
        "limits": [
            _cut(cut) for cut in sorted(dict.fromkeys(seen.truncated), key=lambda cut: _BOUNDS.index(cut.exhausted))
        ],
        "roots": _grown(seen, asked),
    }


def node_view(node: Node, seen: PageState, asked: PageRequest) -> dict[str, Any]:
    """Return one question of the tree, without those below it."""
    given = node.assessment if node.answer else None
    return {
        "number": node.number,
        "parent": node.parent,
        "kind": node.kind,
        "state": _state(node, seen),
        "question": _segments(node),
        "needs": _given(node),
        "query": shorten(node.query, LONGEST_NODE_QUESTION) if node.query not in ("", node.question) else "",
        "record_count": len(node.docids) if node.query else None,  # nothing was looked up
        "answer": shorten(node.answer, LONGEST_NODE_ANSWER) if node.answer else "",
        "source": node.source,
        "source_url": asked.record_url(node.source) if node.source else "",
        "assessment": given,
        # The reader's question is answered from all that the tree found, behind what was judged here.
        "provisional": node.parent is None and node.state == "answered" and given is not None and not given.valid,
        "children": [],
    }


def _grown(seen: PageState, asked: PageRequest) -> list[dict[str, Any]]:
    """Return the questions that stand below no other, each with those below it."""
    views = {number: node_view(node, seen, asked) for number, node in seen.nodes.items()}
    roots: list[dict[str, Any]] = []
    for number, node in seen.nodes.items():
        above = views.get(node.parent) if node.parent is not None and node.parent < number else None
        (above["children"] if above is not None else roots).append(views[number])
    return roots


def _given(node: Node) -> list[int]:
    """Return the questions whose answers were put into this one; the reader's own, number 0, is none of them."""
    return [number for number in node.needs if number] if node.state in ("answered", "unanswered") else []


def _state(node: Node, seen: PageState) -> NodeState | Literal["retrieved"]:
    """Return how far a question is; of one that was looked up and no more, all that is known is that it was found."""
    if node.parent is None:
        # What one search left open is what the tree grows for.
        return "open" if node.state == "unanswered" and seen.timings is None else node.state
    return "retrieved" if node.state == "answered" and not node.answer else node.state


def _segments(node: Node) -> list[tuple[str, int | None]]:
    """Return the question in pieces, each with the number of the question whose answer it is the place of, if it is."""
    pieces: list[tuple[str, int | None]] = []
    for piece in _pieces(shorten(node.question, LONGEST_NODE_QUESTION)):
        number = int(piece[5:-1]) if _SLOT.fullmatch(piece) else None
        pieces.append((piece, number if number in node.needs else None))
    return pieces


def _pieces(text: str) -> Iterable[str]:
    return filter(None, _SLOT.split(text))


def _cut(cut: Truncated) -> dict[str, str]:
    return {"resource": cut.exhausted, "allowed": f"{cut.allowed:g}"}


WIDTH = 100.0
"""The width of every drawing."""

ROW = 16.0
"""The height of a record's row in the drawing of the ranking."""


@dataclass(frozen=True, slots=True)
class DiagramLine:
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


def ranking_lines(records: Sequence[RankedRecord], cited: Collection[str]) -> list[DiagramLine]:
    """Return the records' lines, the best first.

    The left side has a row for each record shown, in the order before re-ranking: a hundredth candidate would
    otherwise press all others together.
    """
    rows = {rank: row for row, rank in enumerate(sorted(each.candidate_rank for each in records))}
    return [
        DiagramLine(
            each.candidate_rank, each.rank, _middle(rows[each.candidate_rank]), _middle(row), each.record.docid in cited
        )
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
