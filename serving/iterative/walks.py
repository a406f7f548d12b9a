"""From one lookup to the next: by a follow-up question and its answer, or by the thought that the records lead to.

Each ends where the model has enough, says nothing new or fails, where the plan has run out, and after
:data:`MOST_TURNS` lookups. What was found until then counts.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

from shrag.serving.events import Event, Node
from shrag.serving.evidence_text import unfenced
from shrag.serving.fallback import attempt
from shrag.serving.iterative.model_turns import follow_up, think
from shrag.serving.planning.finding import Found, find
from shrag.serving.planning.question_key import question_key
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.question import LONGEST_QUESTION, read_question
from shrag.serving.stepwise.model_steps import readable, settle
from shrag.serving.stepwise.notes import Worked, notes_text
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources

MOST_TURNS = 5
"""Lookups after the reader's own question's."""

RECORDS = 3
"""Records of a lookup that the model reads, as in the Tree-of-Question paper."""


class Walked(NamedTuple):
    """What the lookups found, in their order, and what was worked out, for who writes the answer."""

    found: list[Found]
    notes: str


class Walk(Protocol):
    """Looks up what the model says next, from ``first``, the search for the reader's own question, on."""

    def __call__(
        self, first: Found, request: Request, resources: Resources, model: RationedModel, watch: Stopwatch
    ) -> Generator[Event, None, Walked]:
        """Yield each turn as it comes up and as it is settled; return what came of them."""


def ask_oneself(
    first: Found, request: Request, resources: Resources, model: RationedModel, watch: Stopwatch
) -> Generator[Event, None, Walked]:
    """See :class:`Walk`. Each turn is a follow-up question, answered from its own records before the next is asked."""
    question = request.question
    found: list[Found] = []
    worked: list[Worked] = []
    asked = {question_key(question.text), ""}
    for number in range(1, MOST_TURNS + 1):
        with watch.stage("queries"):
            text, told = attempt("query", partial(follow_up, question, worked, model))
        yield from told
        if text is None or question_key(text) in asked:
            break
        asked.add(question_key(text))
        node = Node(number, 0, "step", text)
        yield node
        node, one = _look_up(node, request, resources, watch)
        found.append(one)
        with watch.stage("steps"):
            solution, told = attempt("step", partial(settle, text, "", question, worked, one.best(RECORDS), model))
        yield from told
        solved, docid = solution or ("", "")
        worked.append(Worked(text, solved))
        yield replace(node, state="answered" if solved else "unanswered", answer=solved, source=docid)
    settled = any(each.solution for each in worked)
    return Walked(found, notes_text(worked, question.language) if settled else "")


def think_aloud(
    first: Found, request: Request, resources: Resources, model: RationedModel, watch: Stopwatch
) -> Generator[Event, None, Walked]:
    """See :class:`Walk`. Each turn is the next thought, and what it is followed by is found by its own words."""
    found = [first]
    thoughts: list[str] = []
    for number in range(1, MOST_TURNS + 1):
        with watch.stage("steps"):
            thought, told = attempt("step", partial(think, request.question, thoughts, found[-1].best(RECORDS), model))
        yield from told
        if thought is None or not readable(thought.text) or thought.text in thoughts:
            break
        thoughts.append(thought.text)
        node = Node(number, 0, "step", thought.text, state="answered")
        if not thought.done:
            yield replace(node, state="open")
            node, one = _look_up(node, request, resources, watch)
            found.append(one)
        yield node
        if thought.done:
            break
    return Walked(found[1:], unfenced("\n".join(thoughts)))


def _look_up(node: Node, request: Request, resources: Resources, watch: Stopwatch) -> tuple[Node, Found]:
    # The words are a model's already: no keywords are asked for.
    with watch.stage("search"):
        found = find(read_question(node.question[:LONGEST_QUESTION]), request, replace(resources, model=None))
    return found.looked_up(node), found
