"""Multi-hop search: sub-questions whose text needs the answers of earlier ones."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from shrag.serving.answering.answered_questions import AnsweredQuestion
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Node
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import LONGEST_QUESTION, parse_question
from shrag.serving.strategies.decomposition.coordination import split_coordination
from shrag.serving.strategies.planning.answer_slots import fill_slots, find_slots
from shrag.serving.strategies.planning.bridge_entities import filter_by_bridge, find_bridges
from shrag.serving.strategies.planning.plan import Plan
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER, SubAnswer, extract_span, respond
from shrag.serving.strategies.planning.subquery import SubqueryResult, find_all

RECORDS = 3
"""Records of a step from which its answer is extracted."""


class AnsweredSteps(NamedTuple):
    """The search result of each step that was searched for, and the steps with their answers."""

    found: list[SubqueryResult]
    answered: list[AnsweredQuestion]


def run_chain(steps: Sequence[str], plan: Plan) -> Generator[Event, None, AnsweredSteps]:
    """Search for each of a model's steps, with the answers of earlier steps in its slots.

    Steps are searched in parallel once the answers that they need are there. An answer that a later step needs is
    extracted from a record; without one, the later step is searched without it. The other steps are answered too if the
    user's question is. Yields the nodes of the steps as they change, and the model's calls.
    """
    awaited = {slot for step in steps for slot in find_slots(step)}
    answers: dict[int, SubAnswer] = {}
    found: dict[int, SubqueryResult] = {}
    waiting = {number: Node(number, 0, "step", step, needs=find_slots(step)) for number, step in enumerate(steps, 1)}
    yield from waiting.values()
    while waiting:
        ready = [node for node in waiting.values() if all(slot in answers for slot in node.needs)]
        texts = {slot: known.text for slot, known in answers.items()}
        filled = {node.number: text for node in ready if (text := fill_slots(node.question, texts))}
        with plan.timer.stage("search"):
            questions = [parse_question(text[:LONGEST_QUESTION]) for text in filled.values()]
            results = find_all(questions, plan.request, plan.resources)
        found |= zip(filled, results, strict=True)
        for one in results:
            yield from one.model_events
        with plan.timer.stage("steps"):
            wanted = [number for number in filled if number in awaited or plan.request.answered]
            asked = parallel_map(
                lambda step: answer_step(step[1], plan, extract=step[0] in awaited),
                [(number, found[number]) for number in wanted],
            )
        for number, (answer, events) in zip(wanted, asked, strict=True):
            yield from events
            answers[number] = answer or NO_ANSWER
        for node in ready:
            del waiting[node.number]
            answer = answers.setdefault(node.number, NO_ANSWER)
            if node.number not in filled:
                yield replace(node, state="skipped")
                continue
            done = found[node.number].update_node(replace(node, question=filled[node.number]))
            done = replace(done, answer=answer.text, source=answer.docid)
            yield replace(done, state="unanswered") if node.number in wanted and not answer.text else done
    numbers = sorted(found)
    answered = [AnsweredQuestion(found[number].question.text, *answers[number]) for number in numbers]
    return AnsweredSteps([found[number] for number in numbers], answered)


def answer_step(one: SubqueryResult, plan: Plan, *, extract: bool = False) -> tuple[SubAnswer | None, list[Event]]:
    """Return a step's answer in a sentence or two, or with ``extract`` in the words of a record, and its events."""
    work = partial(extract_span if extract else respond, one.question, one.best(RECORDS))
    return attempt("step", plan.resources.model, work)


def follow_bridges(first: SubqueryResult, plan: Plan) -> Generator[Event, None, list[SubqueryResult]]:
    """Search for the coordinated parts of a question, and for second hops from all records found, without a model.

    ``first`` is the result for the question itself. Yields the nodes of the parts and of the hops that reached a
    record, and the model's calls. Returns their results, the parts before the hops.
    """
    analyzer = plan.resources.index.analyzer
    with plan.timer.stage("plan"):
        parts = split_coordination(first.question)
    with plan.timer.stage("search"):
        found = find_all([parse_question(part) for part in parts], plan.request, plan.resources)
    for number, one in enumerate(found, 1):
        yield from one.model_events
        yield one.update_node(Node(number, 0, "part", one.question.text))
    for parent, one in enumerate([first, *found]):
        with plan.timer.stage("steps"):
            bridges = find_bridges(one, analyzer)
        with plan.timer.stage("search"):
            questions = [bridge.question(first.question.language) for bridge in bridges]
            hops = find_all(questions, plan.request, plan.resources_without_model)
            reached = [filter_by_bridge(bridge, hop, analyzer) for bridge, hop in zip(bridges, hops, strict=True)]
        for bridge, hop in zip(bridges, reached, strict=True):
            if hop.ranking.records:
                found.append(hop)
                node = Node(len(found), parent, "step", hop.question.text, needs=(parent,))
                yield replace(hop.update_node(node), answer=", ".join(bridge.names), source=bridge.docid)
    return found
