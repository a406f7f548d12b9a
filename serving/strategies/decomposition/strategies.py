"""The strategies decompose, chain and rewrite: a question is searched for together with questions made from it.

A model's plan is cut to the largest allowed length, and questions that repeat another one are dropped. A step may need
the answers of earlier steps only, so that no plan has a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.answered_questions import AnsweredQuestion
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, ModelCall, Node
from shrag.serving.llm.request_model import attempt
from shrag.serving.llm.structured_call import PromptCall, call_model, evidence_values
from shrag.serving.request import Question, parse_question
from shrag.serving.strategies.decomposition.coordination import split_coordination
from shrag.serving.strategies.decomposition.multi_hop import RECORDS, answer_step, follow_bridges, run_chain
from shrag.serving.strategies.planning.answer_slots import distinct_questions
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER
from shrag.serving.strategies.planning.subquery import SubqueryResult, find_all, question_key

MOST_PARTS, MOST_STEPS = 6, 6
"""Parts of a decomposition and steps of a chain, at most; the paper's prompt asks for three to six."""

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class _Parts(msgspec.Struct, frozen=True):
    questions: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=2 * MOST_PARTS)]


class _Steps(msgspec.Struct, frozen=True):
    steps: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=2 * MOST_STEPS)]


class _Rewritten(msgspec.Struct, frozen=True):
    question: _Text


def plan_parts(question: Question, model: LanguageModel) -> tuple[list[str], list[ModelCall]]:
    """Return the independent questions that make up ``question``, none if there is only one.

    Raises as :func:`~shrag.serving.llm.structured_call.call_model` does, like the other planners.
    """
    values = {"question": question.text, "most": str(MOST_PARTS)}
    reply, calls = call_model(model, PromptCall("decompose", "decompose", question.language, values), _Parts)
    return _others(reply.questions, question)[:MOST_PARTS], calls


def plan_steps(question: Question, model: LanguageModel) -> tuple[list[str], list[ModelCall]]:
    """Return the steps to the answer of ``question`` in order, none if there is only one.

    ``[ANS_n]`` in a step stands for the answer of an earlier step.
    """
    values = {"question": question.text, "most": str(MOST_STEPS)}
    reply, calls = call_model(model, PromptCall("decompose", "chain", question.language, values), _Steps)
    steps = distinct_questions(reply.steps, question.text)[:MOST_STEPS]
    return steps if len(steps) > 1 else [], calls


def plan_rewrite(
    question: Question, records: Sequence[Record], model: LanguageModel
) -> tuple[list[str], list[ModelCall]]:
    """Return ``question`` as a simpler one that includes what ``records`` say about it; none if it stays the same."""
    values = evidence_values(question, records)
    call = PromptCall("decompose", "rewrite", question.language, values | {"records": values["records"] or "–"})
    reply, calls = call_model(model, call, _Rewritten)
    return _others([reply.question], question), calls


def _others(texts: Iterable[str], question: Question) -> list[str]:
    """Return the texts that repeat neither the question nor an earlier text."""
    others: dict[str, str] = {}
    for text in texts:
        others.setdefault(question_key(text), plain_line(text))
    others.pop(question_key(question.text), None)
    others.pop("", None)  # text without a letter or a digit
    return list(others.values())


Planner = Callable[[Question, LanguageModel], tuple[list[str], list[ModelCall]]]


def decompose(plan: Plan) -> Generator[Event, None, None]:
    """Search in parallel for a question and its independent parts, which a model or the coordination rules find."""
    parts = yield from _ask_planner(plan_parts, plan)
    if parts is None:
        with plan.timer.stage("plan"):
            parts = split_coordination(plan.question)
    nodes = [Node(number, 0, "part", text) for number, text in enumerate(parts, 1)]
    yield from nodes
    with plan.timer.stage("search"):
        first, *found = find_all([plan.question, *map(parse_question, parts)], plan.request, plan.resources)
    yield from first.model_events
    plan.root = replace(plan.root, query=plan.root.question, docids=first.docids)
    yield plan.root
    for node, one in zip(nodes, found, strict=True):
        yield from one.model_events
        yield one.update_node(node)
    answered = yield from _answer_parts(nodes, found, plan)
    yield from plan.conclude([first, *found], answered=answered)


def _answer_parts(
    nodes: Sequence[Node], found: Sequence[SubqueryResult], plan: Plan
) -> Generator[Event, None, list[AnsweredQuestion]]:
    """Have the model answer each part from its records, in parallel, unless no answer is wanted."""
    if plan.resources.model is None or not plan.request.answered:
        return []
    with plan.timer.stage("steps"):
        responses = parallel_map(lambda one: answer_step(one, plan), found)
    answered: list[AnsweredQuestion] = []
    for node, one, (response, events) in zip(nodes, found, responses, strict=True):
        yield from events
        text, docid = response or NO_ANSWER
        answered.append(AnsweredQuestion(node.question, text, docid))
        done = replace(one.update_node(node), answer=text, source=docid)
        yield done if response is None or text else replace(done, state="unanswered")
    return answered


def rewrite(plan: Plan) -> Generator[Event, None, None]:
    """Search for a question, then for the simpler one that a model makes from it and from the records found."""
    first = yield from plan.find_first()
    records = first.best(RECORDS)
    rewritten = yield from _ask_planner(lambda question, model: plan_rewrite(question, records, model), plan)
    nodes = [Node(number, 0, "rewrite", text) for number, text in enumerate(rewritten or [], 1)]
    yield from nodes
    with plan.timer.stage("search"):
        found = find_all([parse_question(node.question) for node in nodes], plan.request, plan.resources)
    for node, one in zip(nodes, found, strict=True):
        yield from one.model_events
        yield one.update_node(node)
    yield from plan.conclude([first, *found])


def chain(plan: Plan) -> Generator[Event, None, None]:
    """Search for a question, then for a model's steps to its answer; without those, follow its bridge entities."""
    steps = yield from _ask_planner(plan_steps, plan)
    first = yield from plan.find_first()
    if steps is None:
        found = yield from follow_bridges(first, plan)
        yield from plan.conclude([first, *found])
        return
    done = yield from run_chain(steps, plan)
    yield from plan.conclude([first, *done.found], answered=done.answered)


DECOMPOSITION = (
    PlanStrategy("decompose", decompose),
    PlanStrategy("chain", chain),
    PlanStrategy("rewrite", rewrite, needs_model=True),
)


def _ask_planner(planner: Planner, plan: Plan) -> Generator[Event, None, list[str] | None]:
    """Return the questions that the model plans, None where there is no model or it fails."""
    with plan.timer.stage("plan"):
        questions, events = attempt("decompose", plan.resources.model, partial(planner, plan.question))
    yield from events
    return questions
