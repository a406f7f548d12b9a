"""The strategies direct, cot-query, previous-context and self-ask: baselines of the Tree-of-Question paper.

direct and cot-query search once; cot-query writes its query after a chain of thought (Wei et al. 2022).
previous-context is IRCoT (Trivedi et al. 2023), self-ask is by Press et al. (2023); the prompts are our own. Both end
when the model has enough, repeats itself or fails, when the budget is used up, or after as many searches as the setting
``steps`` allows.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.multiple_choice import question_values
from shrag.serving.events import Event, ModelCall, Node
from shrag.serving.llm.request_model import attempt
from shrag.serving.llm.structured_call import PromptCall, call_model, fence_records, remove_fence_marks
from shrag.serving.request import LONGEST_QUESTION, Question, parse_question
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER
from shrag.serving.strategies.planning.subquery import SubqueryResult, find, question_key, write_query
from shrag.serving.strategies.stepwise.model_steps import NOTHING, SolvedStep, is_readable, notes_text, solve_step

RECORDS = 3
"""Records of a search that the model reads, as in the Tree-of-Question paper, unless settings say otherwise."""


class ReasonedQuery(msgspec.Struct, frozen=True):
    """A search query and the chain of thought that led to it."""

    reasoning: Annotated[str, msgspec.Meta(max_length=1_500)]
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class _FollowUp(msgspec.Struct, frozen=True):
    follow_up: Annotated[str, msgspec.Meta(max_length=300)]


class Thought(msgspec.Struct, frozen=True):
    """The next sentence of a chain of thought; ``done`` says that it holds the answer."""

    thought: Annotated[str, msgspec.Meta(max_length=600)]
    done: bool


def reason_query(question: Question, model: LanguageModel) -> tuple[ReasonedQuery, list[ModelCall]]:
    """Return the query that the model writes after its reasoning; the question if the query is empty."""
    call = PromptCall("query", "reasoned_query", question.language, {"question": question.text}, max_tokens=768)
    reply, calls = call_model(model, call, ReasonedQuery)
    return ReasonedQuery(plain_line(reply.reasoning), plain_line(reply.query) or question.text), calls


def write_follow_up(
    question: Question, solved: Sequence[SolvedStep], model: LanguageModel
) -> tuple[str, list[ModelCall]]:
    """Return the question that must be answered next; empty if the solved steps are enough."""
    values = question_values(question) | {"worked": notes_text(solved, question.language) or NOTHING}
    call = PromptCall("query", "followup", question.language, values, max_tokens=192)
    reply, calls = call_model(model, call, _FollowUp)
    return plain_line(reply.follow_up), calls


def write_thought(
    question: Question, thoughts: Sequence[str], records: Sequence[Record], model: LanguageModel
) -> tuple[Thought, list[ModelCall]]:
    """Return the thought that follows ``thoughts``, given the records that the last one found."""
    values = question_values(question) | {
        "thoughts": remove_fence_marks("\n".join(thoughts)) or NOTHING,
        "records": fence_records(records, question.language) or NOTHING,
        "count": str(len(records)),
    }
    call = PromptCall("step", "thought", question.language, values, max_tokens=384)
    reply, calls = call_model(model, call, Thought)
    return Thought(plain_line(reply.thought), reply.done), calls


def self_ask(plan: Plan) -> Generator[Event, None, None]:
    """Answer one follow-up question after the other, each from the records of its own search."""
    first = yield from plan.find_first()
    model, question = plan.resources.model, plan.question
    found = [first]
    solved: list[SolvedStep] = []
    asked = {question_key(question.text), ""}
    for number in range(1, plan.request.settings.steps + 1):
        with plan.timer.stage("queries"):
            text, events = attempt("query", model, partial(write_follow_up, question, solved))
        yield from events
        if text is None or question_key(text) in asked:
            break
        asked.add(question_key(text))
        node = Node(number, 0, "step", text)
        yield node
        node, one = _search(node, plan)
        found.append(one)
        with plan.timer.stage("steps"):
            work = partial(solve_step, text, "", question, solved, one.best(_records(plan)))
            solution, events = attempt("step", model, work)
        yield from events
        answer, docid = solution or NO_ANSWER
        solved.append(SolvedStep(text, answer))
        yield replace(node, state="answered" if answer else "unanswered", answer=answer, source=docid)
    notes = notes_text(solved, question.language) if any(each.solution for each in solved) else ""
    yield from plan.conclude(found, notes)


def previous_context(plan: Plan) -> Generator[Event, None, None]:
    """Continue a chain of thought; the words of each thought find the records for the next one."""
    first = yield from plan.find_first()
    found = [first]
    thoughts: list[str] = []
    for number in range(1, plan.request.settings.steps + 1):
        with plan.timer.stage("steps"):
            work = partial(write_thought, plan.question, thoughts, found[-1].best(_records(plan)))
            thought, events = attempt("step", plan.resources.model, work)
        yield from events
        if thought is None or not is_readable(thought.thought) or thought.thought in thoughts:
            break
        thoughts.append(thought.thought)
        node = Node(number, 0, "step", thought.thought, state="answered")
        if not thought.done:
            yield replace(node, state="open")
            node, one = _search(node, plan)
            found.append(one)
        yield node
        if thought.done:
            break
    yield from plan.conclude(found, remove_fence_marks("\n".join(thoughts)))


def direct(plan: Plan) -> Generator[Event, None, None]:
    """Search once, by a query that the model writes."""
    with plan.timer.stage("queries"):
        query, events = attempt("query", plan.resources.model, partial(write_query, plan.question))
    yield from events
    yield from _search_once(query or plan.question, plan)


def cot_query(plan: Plan) -> Generator[Event, None, None]:
    """Search once, by a query that the model writes after a chain of thought; the answer's prompt has that chain."""
    with plan.timer.stage("queries"):
        reasoned, events = attempt("query", plan.resources.model, partial(reason_query, plan.question))
    yield from events
    query = parse_question(reasoned.query) if reasoned is not None else plan.question
    yield from _search_once(query, plan, remove_fence_marks(reasoned.reasoning) if reasoned is not None else "")


_TURNS = ("steps", "step_records")

ITERATIVE = (
    PlanStrategy("direct", direct, needs_model=True),
    PlanStrategy("cot-query", cot_query, needs_model=True),
    PlanStrategy("previous-context", previous_context, needs_model=True, limits=_TURNS),
    PlanStrategy("self-ask", self_ask, needs_model=True, limits=_TURNS),
)


def _records(plan: Plan) -> int:
    return plan.request.settings.step_records or RECORDS


def _search_once(query: Question, plan: Plan, notes: str = "") -> Generator[Event, None, None]:
    with plan.timer.stage("search"):
        found = find(query, plan.request, plan.resources_without_model)
    plan.root = replace(plan.root, query=found.question.text, docids=found.docids)
    yield plan.root
    yield from plan.conclude([found], notes)


def _search(node: Node, plan: Plan) -> tuple[Node, SubqueryResult]:
    """Search for the node's question; return the updated node and what was found."""
    with plan.timer.stage("search"):
        question = parse_question(node.question[:LONGEST_QUESTION])
        found = find(question, plan.request, plan.resources_without_model)
    return found.update_node(node), found
