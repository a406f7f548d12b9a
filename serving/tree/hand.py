"""What a tree of questions needs done at each node, by a language model or by rules."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from shrag.serving.events import Assessment, Event, NodeKind
from shrag.serving.planning.finding import Found
from shrag.serving.planning.integration import Span
from shrag.serving.planning.responding import Response
from shrag.serving.question import Question

RECORDS = 3
"""Records a node is answered from, as in the paper."""

MOST_BRANCHES = 6
"""Smaller questions one node may grow; the paper's largest example has seven below two kinds."""


class Branches(NamedTuple):
    """Smaller questions and what joins them. ``[ANS_n]`` in one is the place of the answer of the n-th of them."""

    kind: NodeKind
    questions: tuple[str, ...]


class Hand(Protocol):
    """Does the work at the nodes. Safe to share between threads.

    Every call returns what it made and what is to be told of it: the model's calls, or what was done without it. Raises
    :class:`~shrag.serving.errors.PlanSpent` where the plan has run out of calls or time.
    """

    def query(self, question: Question) -> tuple[Question, list[Event]]:
        """Return what is searched by to answer ``question``."""

    def sift(self, question: Question, found: Found) -> Found:
        """Return ``found`` with those records alone that count for ``question``."""

    def respond(self, question: Question, found: Found) -> tuple[Response, list[Event]]:
        """Answer ``question`` from the best records of ``found``."""

    def assess(self, question: Question, response: Response, found: Found) -> tuple[Assessment, list[Event]]:
        """Judge whether ``response`` answers ``question``."""

    def branch(self, question: Question, found: Found) -> tuple[Branches, list[Event]]:
        """Return the smaller questions that ``question`` is answered by, none where it cannot be made smaller."""

    def span(self, question: Question, found: Found) -> tuple[Span, list[Event]]:
        """Return the words of a record that ``question`` is answered by, for the places that wait for them."""
