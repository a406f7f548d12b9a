"""Self-ask and iterative-retrieval baselines.

The prompts are our own, after self-ask (Press et al. 2023) and IRCoT (Trivedi et al. 2023), two baselines of the
Tree-of-Question paper. What comes back is bounded and cleaned, and nothing of it is trusted further than that.

Each ends where the model has enough, says nothing new or fails, where the plan has run out, and after
:data:`MOST_TURNS` lookups. What was found until then counts.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple, Protocol

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.serving.answering.multiple_choice import choices_text
from shrag.serving.events import Event, ModelCall, Node
from shrag.serving.llm.call_budget import Ration, RationedModel
from shrag.serving.llm.request_model import attempt
from shrag.serving.llm.structured_call import PromptCall, ask, fence_records, unfenced
from shrag.serving.request import LONGEST_QUESTION, Question, Request, parse_question
from shrag.serving.strategies.planning.plan import conclude, need_candidates, ration_needed, told_once
from shrag.serving.strategies.planning.subquery import SubqueryResult, find, find_first, question_key, write_query
from shrag.serving.strategies.stepwise.model_steps import NOTHING, Worked, notes_text, readable, settle
from shrag.serving.strategy import Resources, StageTimer


class Thought(NamedTuple):
    """The next sentence of a chain of thought; ``done`` says that it holds the answer."""

    text: str
    done: bool


class _FollowUp(msgspec.Struct, frozen=True):
    follow_up: Annotated[str, msgspec.Meta(max_length=300)]


class _Thought(msgspec.Struct, frozen=True):
    thought: Annotated[str, msgspec.Meta(max_length=600)]
    done: bool


def follow_up(question: Question, worked: Sequence[Worked], model: RationedModel) -> tuple[str, list[ModelCall]]:
    """Return the question that has to be answered next, empty where what was worked out is enough.

    Raises as :func:`~shrag.serving.llm.structured_call.ask` does, like :func:`think`.
    """
    values = {
        "question": question.text,
        "choices": choices_text(question.choices, question.language),
        "worked": notes_text(worked, question.language) or NOTHING,
    }
    made, calls = ask(model, PromptCall("query", "followup", question.language, values, max_tokens=192), _FollowUp)
    return plain_line(made.follow_up), calls


def think(
    question: Question, thoughts: Sequence[str], records: Sequence[Record], model: RationedModel
) -> tuple[Thought, list[ModelCall]]:
    """Return the thought that comes after ``thoughts``, given the ``records`` that the last of them found."""
    values = {
        "question": question.text,
        "choices": choices_text(question.choices, question.language),
        "thoughts": unfenced("\n".join(thoughts)) or NOTHING,
        "records": fence_records(records, question.language) or NOTHING,
        "count": str(len(records)),
    }
    made, calls = ask(model, PromptCall("step", "thought", question.language, values, max_tokens=384), _Thought)
    return Thought(plain_line(made.thought), made.done), calls


MOST_TURNS = 5
"""Lookups after the reader's own question's."""

RECORDS = 3
"""Records of a lookup that the model reads, as in the Tree-of-Question paper."""


class Walked(NamedTuple):
    """What the lookups found, in their order, and what was worked out, for who writes the answer."""

    found: list[SubqueryResult]
    notes: str


class IterativePolicy(Protocol):
    """Looks up what the model says next, from ``first``, the search for the reader's own question, on."""

    def __call__(
        self, first: SubqueryResult, request: Request, resources: Resources, model: RationedModel, timer: StageTimer
    ) -> Generator[Event, None, Walked]:
        """Yield each turn as it comes up and as it is settled; return what came of them."""


def ask_oneself(
    first: SubqueryResult, request: Request, resources: Resources, model: RationedModel, timer: StageTimer
) -> Generator[Event, None, Walked]:
    """See :class:`IterativePolicy`.

    Each turn is a follow-up question, answered from its own records before the next is asked.
    """
    question = request.question
    found: list[SubqueryResult] = []
    worked: list[Worked] = []
    asked = {question_key(question.text), ""}
    for number in range(1, MOST_TURNS + 1):
        with timer.stage("queries"):
            text, told = attempt("query", partial(follow_up, question, worked, model))
        yield from told
        if text is None or question_key(text) in asked:
            break
        asked.add(question_key(text))
        node = Node(number, 0, "step", text)
        yield node
        node, one = _look_up(node, request, resources, timer)
        found.append(one)
        with timer.stage("steps"):
            solution, told = attempt("step", partial(settle, text, "", question, worked, one.best(RECORDS), model))
        yield from told
        solved, docid = solution or ("", "")
        worked.append(Worked(text, solved))
        yield replace(node, state="answered" if solved else "unanswered", answer=solved, source=docid)
    settled = any(each.solution for each in worked)
    return Walked(found, notes_text(worked, question.language) if settled else "")


def think_aloud(
    first: SubqueryResult, request: Request, resources: Resources, model: RationedModel, timer: StageTimer
) -> Generator[Event, None, Walked]:
    """See :class:`IterativePolicy`.

    Each turn is the next thought, and what it is followed by is found by its own words.
    """
    found = [first]
    thoughts: list[str] = []
    for number in range(1, MOST_TURNS + 1):
        with timer.stage("steps"):
            thought, told = attempt("step", partial(think, request.question, thoughts, found[-1].best(RECORDS), model))
        yield from told
        if thought is None or not readable(thought.text) or thought.text in thoughts:
            break
        thoughts.append(thought.text)
        node = Node(number, 0, "step", thought.text, state="answered")
        if not thought.done:
            yield replace(node, state="open")
            node, one = _look_up(node, request, resources, timer)
            found.append(one)
        yield node
        if thought.done:
            break
    return Walked(found[1:], unfenced("\n".join(thoughts)))


def _look_up(node: Node, request: Request, resources: Resources, timer: StageTimer) -> tuple[Node, SubqueryResult]:
    # The words are a model's already: no keywords are asked for.
    with timer.stage("search"):
        found = find(parse_question(node.question[:LONGEST_QUESTION]), request, replace(resources, model=None))
    return found.looked_up(node), found


class DirectStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: one query that a model writes is searched for, once."""

    name = "direct"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises :class:`ModelNeeded` without a model."""
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *ration_needed(self.name, resources)))

    def _run(self, request: Request, resources: Resources, model: RationedModel) -> Generator[Event, None, None]:
        timer = StageTimer()
        root = Node(0, None, "question", request.question.text)
        yield root
        with timer.stage("queries"):
            query, told = attempt("query", partial(write_query, request.question, model))
        yield from told
        with timer.stage("search"):
            found = find(query or request.question, request, replace(resources, model=None))
        root = replace(root, query=found.question.text, docids=found.hits.candidates)
        yield root
        yield from conclude(root, [found], request, resources, timer)


class IterativeStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: the question is searched for, then what comes up, in turn.

    ``walk`` says what comes up.
    """

    def __init__(self, name: str, walk: IterativePolicy, ration: Ration | None = None) -> None:
        self._name = name
        self._walk = walk
        self._ration = ration

    @property
    def name(self) -> str:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        return self._name

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises :class:`ModelNeeded` without a model."""
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *ration_needed(self.name, resources, self._ration)))

    def _run(self, request: Request, resources: Resources, model: RationedModel) -> Generator[Event, None, None]:
        timer = StageTimer()
        root = Node(0, None, "question", request.question.text)
        yield root
        root, first = yield from find_first(root, request, resources, timer)
        walked = yield from self._walk(first, request, resources, model, timer)
        yield from conclude(root, [first, *walked.found], request, resources, timer, walked.notes)


ITERATIVE = (
    DirectStrategy(),
    IterativeStrategy("previous-context", think_aloud),
    IterativeStrategy("self-ask", ask_oneself),
)
