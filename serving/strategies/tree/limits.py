"""Limits of a question tree, from the settings of a request."""

from __future__ import annotations

from dataclasses import dataclass

from shrag.serving.search_settings import SearchSettings

RECORDS = 3
"""Records from which a node is answered, as in the Tree-of-Question paper."""

TREE_SETTINGS = frozenset({"step_records", "tree_depth", "tree_nodes", "tree_children"})
"""The names of the settings that limit a tree."""


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Limits of a tree.

    Attributes:
        depth: The most levels; the user's question is level 1.
        nodes: The most questions of the tree.
        children: The most smaller questions that a model may give one node.
        records: Records from which a node is answered.
    """

    depth: int
    nodes: int
    children: int
    records: int


def tree_limits(settings: SearchSettings) -> TreeLimits:
    """Return the limits that a request sets."""
    return TreeLimits(
        settings.tree_depth, settings.tree_nodes, settings.tree_children, settings.step_records or RECORDS
    )
