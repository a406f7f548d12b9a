"""Measure trees of questions from their stored nodes, for tables 4 and 5 of the Tree-of-Question paper.

The user's question is answered and assessed again after each level of its tree. The tree ends when that answer is
valid. So if the root of a finished tree is valid, the tree's depth is the level at which the question was resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.serving.events import Node

LEVELS = (1, 2, 3, 4)
"""The levels of the paper's tables."""

VALID, RESOLVED = "valid_by_level_{}", "resolved_by_level_{}"

TREE_FIGURES = (*(VALID.format(level) for level in LEVELS), *(RESOLVED.format(level) for level in LEVELS[1:]))
"""The names of the measures.

- ``valid_by_level_n``: 1 if the question had a valid answer after n levels of its tree (table 4).
- ``resolved_by_level_n``: the same, over the questions whose first answer was not valid (table 5).
"""


def tree_figures(outcomes: Iterable[QuestionOutcome]) -> dict[str, dict[str, float]]:
    """Return figure → qid → value over the outcomes that have a tree; empty if none has one."""
    levels = {each.qid: resolved_level(each.nodes) for each in outcomes if has_tree(each.nodes)}
    failed = {qid: level for qid, level in levels.items() if level != 1}
    figures = {VALID.format(level): _reached(levels, level) for level in LEVELS}
    figures |= {RESOLVED.format(level): _reached(failed, level) for level in LEVELS[1:]}
    return {name: values for name, values in figures.items() if values}


def has_tree(nodes: Sequence[Node]) -> bool:
    """Return whether the nodes are a tree of questions. Only such a tree has an assessed root."""
    return bool(nodes) and nodes[0].assessment is not None


def resolved_level(nodes: Sequence[Node]) -> int | None:
    """Return the level after which the root of a tree had a valid answer; None if it never had one."""
    root = nodes[0]
    if root.assessment is None or not root.assessment.valid:
        return None
    depths = {root.number: 1}
    for node in nodes[1:]:  # parents come before their children
        if node.parent is not None:
            depths[node.number] = depths[node.parent] + 1
    return max(depths.values())


def _reached(levels: dict[str, int | None], most: int) -> dict[str, float]:
    return {qid: float(level is not None and level <= most) for qid, level in levels.items()}
