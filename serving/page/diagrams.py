"""Template contexts of the question tree, and the geometry of the drawings in the trace.

Lengths are in the units of each drawing's ``viewBox``, so that drawings scale with the page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from shrag.serving.events import Budget, ModelCall, Node, NodeKind, NodeState, Purpose, RankedRecord
from shrag.serving.page.request import PageRequest
from shrag.serving.page.snippets import shorten
from shrag.serving.page.state import PageState, tree_language

LONGEST_NODE_QUESTION = 400
"""Characters that are shown of a node's question, and of its query."""

LONGEST_NODE_ANSWER = 600

_EXPLAINED_KINDS: tuple[NodeKind, ...] = ("bridging", "intersection", "comparison", "hybrid")
"""Kinds that the page explains, since their names do not explain themselves."""

_BUDGETS: tuple[Budget, ...] = get_args(Budget)

_SLOT = re.compile(r"(\[ANS_\d{1,3}\])")


def tree_view(state: PageState, request: PageRequest) -> dict[str, Any] | None:
    """Return the tree so far, or None if the question was not decomposed and no budget was exhausted.

    ``count`` is the number of questions below the reader's question, and ``done`` the number of those that are not
    open. ``explained_kinds`` are the kinds among them that the page explains.
    """
    if not state.nodes and not state.truncated:
        return None
    views = {number: node_view(node, state, request) for number, node in state.nodes.items()}
    roots: list[dict[str, Any]] = []
    for number, view in views.items():
        parent = view["parent"]
        is_child = parent is not None and parent < number and parent in views
        (views[parent]["children"] if is_child else roots).append(view)
    below = [node for node in state.nodes.values() if node.parent is not None]
    # Questions are processed in parallel, so the order in which budgets were exhausted means nothing to a reader.
    limits = sorted(dict.fromkeys(state.truncated), key=lambda each: _BUDGETS.index(each.exhausted))
    return {
        "language": tree_language(state, request),
        "complete": state.timings is not None,
        "count": len(below),
        "done": sum(node.state != "open" for node in below),
        "explained_kinds": [kind for kind in _EXPLAINED_KINDS if any(node.kind == kind for node in below)],
        "limits": [{"resource": each.exhausted, "allowed": f"{each.allowed:g}"} for each in limits],
        "roots": roots,
    }


def node_view(node: Node, state: PageState, request: PageRequest) -> dict[str, Any]:
    """Return one question of the tree, without its children."""
    assessment = node.assessment if node.answer else None
    return {
        "number": node.number,
        "parent": node.parent,
        "kind": node.kind,
        "state": _displayed_state(node, state),
        "question": _question_segments(node),
        # Number 0 is the reader's question, whose answer is never filled into another question.
        "needs": [number for number in node.needs if number] if node.state in ("answered", "unanswered") else [],
        "query": shorten(node.query, LONGEST_NODE_QUESTION) if node.query != node.question else "",
        "record_count": len(node.docids) if node.query else None,
        "answer": shorten(node.answer, LONGEST_NODE_ANSWER) if node.answer else "",
        "source": node.source,
        "source_url": request.record_url(node.source) if node.source else "",
        "assessment": assessment,
        # Provisional: the final answer to the reader's question is written later, from all records.
        "provisional": _is_provisional(node),
        "children": [],
    }


def _displayed_state(node: Node, state: PageState) -> NodeState | Literal["retrieved"]:
    if node.parent is None:
        # The first search did not answer the question, and the tree is being expanded: the question is still open.
        if node.state == "unanswered" and state.timings is None:
            return "open"
        return "retrieved" if _is_provisional(node) else node.state
    return "retrieved" if node.state == "answered" and not node.answer else node.state


def _is_provisional(node: Node) -> bool:
    """Return whether the tree's answer to the reader's question was judged to be no answer.

    Then the state of the node says only that records were found.
    """
    judged = node.assessment if node.answer else None
    return node.parent is None and node.state == "answered" and judged is not None and not judged.valid


def _question_segments(node: Node) -> list[tuple[str, int | None]]:
    """Split the question at its answer slots. Each slot comes with the number of the question that fills it."""
    segments: list[tuple[str, int | None]] = []
    for segment in filter(None, _SLOT.split(shorten(node.question, LONGEST_NODE_QUESTION))):
        number = int(segment[5:-1]) if _SLOT.fullmatch(segment) else None
        segments.append((segment, number if number in node.needs else None))
    return segments


WIDTH = 100.0
"""Width of every drawing."""

ROW = 16.0
"""Height of a record's row in the drawing of the ranking."""


class RankChange(NamedTuple):
    """A record's line from its row before re-ranking to its row after it; ``before`` and ``after`` are the ranks."""

    before: int
    after: int
    from_y: float
    to_y: float
    cited: bool


class ModelWork(NamedTuple):
    """The calls of the language model for one purpose: their number, their tokens and their milliseconds."""

    purpose: Purpose
    calls: int
    tokens: int
    milliseconds: float


class StageShare(NamedTuple):
    """A stage's segment of the time bar, and its milliseconds."""

    stage: str
    x: float
    width: float
    milliseconds: float


def bar_lengths(counts: Sequence[float]) -> list[float]:
    """Return a length for each count; the largest count has the length :data:`WIDTH`."""
    largest = max(counts, default=0)
    return [round(WIDTH * count / largest, 1) if largest > 0 else 0.0 for count in counts]


def rank_changes(records: Sequence[RankedRecord], cited: Collection[str]) -> list[RankChange]:
    """Return a line for each record, the best first. The left side has rows only for these records."""
    ranks = sorted(each.candidate_rank for each in records)
    y = [(row + 0.5) * ROW for row in range(len(records))]
    return [
        RankChange(
            each.candidate_rank, each.rank, y[ranks.index(each.candidate_rank)], y[row], each.record.docid in cited
        )
        for row, each in enumerate(records)
    ]


def stage_shares(seconds: Mapping[str, float]) -> list[StageShare]:
    """Return the segments of all stages, side by side in their order. Together they are :data:`WIDTH` wide."""
    total = sum(seconds.values())
    shares: list[StageShare] = []
    x = 0.0
    for stage, duration in seconds.items():
        width = WIDTH * duration / total if total > 0 else 0.0
        shares.append(StageShare(stage, round(x, 2), round(width, 2), duration * 1000))
        x += width
    return shares


def model_work(calls: Iterable[ModelCall]) -> list[ModelWork]:
    """Sum the model calls by purpose, in the order of each purpose's first call. Parallel calls count in full."""
    work: dict[Purpose, ModelWork] = {}
    for call in calls:
        before = work.get(call.stage, ModelWork(call.stage, 0, 0, 0.0))
        tokens = before.tokens + call.prompt_tokens + call.completion_tokens
        milliseconds = before.milliseconds + 1000 * call.seconds
        work[call.stage] = ModelWork(call.stage, before.calls + 1, tokens, milliseconds)
    return list(work.values())
