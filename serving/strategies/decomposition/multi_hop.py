"""Execute a chain of sub-questions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Node
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import Request, parse_question
from shrag.serving.strategies.decomposition.coordination import parse_sentence, split_coordination
from shrag.serving.strategies.planning.answer_slots import NO_SPAN, AnswerSpan, fill, needed, pick_span
from shrag.serving.strategies.planning.bridge_entities import arrivals, find_bridges
from shrag.serving.strategies.planning.subquery import SubqueryResult, find_all
from shrag.serving.strategy import Resources, StageTimer

RECORDS = 3
"""Records of a step that its answer is looked for in."""


def walk_steps(
    steps: Sequence[str], request: Request, resources: Resources, model: RationedModel, timer: StageTimer
) -> Generator[Event, None, list[SubqueryResult]]:
    """Yield each step as it is asked and answered; return what the steps found, in their order.

    Steps that wait for nothing are looked up side by side, and so are those that waited for the same. Only an answer
    that a later step needs is looked for. Where it is not found, the later step is asked without it.
    """
    awaited = {slot for step in steps for slot in needed(step)}
    spans: dict[int, AnswerSpan] = {}
    found: dict[int, SubqueryResult] = {}
    waiting = list(range(1, len(steps) + 1))
    yield from (Node(number, 0, "step", steps[number - 1], needs=needed(steps[number - 1])) for number in waiting)
    while waiting:
        ready = [number for number in waiting if all(slot in spans for slot in needed(steps[number - 1]))]
        waiting = [number for number in waiting if number not in ready]
        texts = {number: fill(steps[number - 1], {slot: span.text for slot, span in spans.items()}) for number in ready}
        with timer.stage("search"):
            asked = [number for number in ready if texts[number]]
            found |= zip(
                asked, find_all([parse_question(texts[one]) for one in asked], request, resources), strict=True
            )
        for number in asked:
            yield from found[number].model_events
        with timer.stage("steps"):
            wanted = [number for number in asked if number in awaited]
            picked = parallel_map(lambda one: _pick(one, model), [found[number] for number in wanted])
        for number, (span, told) in zip(wanted, picked, strict=True):
            yield from told
            spans[number] = span or NO_SPAN
        for number in ready:
            spans.setdefault(number, NO_SPAN)
            yield _walked(number, steps[number - 1], texts[number], found.get(number), spans[number], number in awaited)
    return [found[number] for number in sorted(found)]


def walk_bridges(
    first: SubqueryResult, request: Request, resources: Resources, timer: StageTimer
) -> Generator[Event, None, list[SubqueryResult]]:
    """Yield what ``first``, the question's own search, is taken apart into, and the second hops from all of it.

    Returns what they found, the parts before the hops; none where the question has one part and misses nothing.
    """
    analyzer = resources.index.analyzer
    with timer.stage("plan"):
        parts = split_coordination(first.question, parse_sentence)
    with timer.stage("search"):
        found = find_all([parse_question(part) for part in parts], request, resources)
    for number, one in enumerate(found, 1):
        yield from one.model_events
        yield one.looked_up(Node(number, 0, "part", one.question.text))
    wordless = replace(resources, model=None)  # a hop is names and words already: no keywords are asked for
    for parent, one in enumerate([first, *found][: len(parts) + 1]):
        with timer.stage("steps"):
            bridges = find_bridges(one, analyzer)
        with timer.stage("search"):
            hops = find_all([bridge.question(first.question.language) for bridge in bridges], request, wordless)
            reached = [arrivals(bridge, hop, analyzer) for bridge, hop in zip(bridges, hops, strict=True)]
        for bridge, hop in zip(bridges, reached, strict=True):
            if hop.ranking.records:
                found.append(hop)
                node = Node(len(found), parent, "step", hop.question.text, needs=(parent,))
                yield replace(hop.looked_up(node), answer=", ".join(bridge.names), source=bridge.docid)
    return found


def _pick(found: SubqueryResult, model: RationedModel) -> tuple[AnswerSpan | None, list[Event]]:
    """Return the answer to a step, None where the model fails, and what is to be told of it."""
    return attempt("step", lambda: pick_span(found.question, found.best(RECORDS), model))


def _walked(number: int, step: str, text: str, found: SubqueryResult | None, span: AnswerSpan, awaited: bool) -> Node:
    node = Node(number, 0, "step", text or step, "skipped", needed(step))
    if found is None:
        return node
    walked = replace(found.looked_up(node), answer=span.text, source=span.docid)
    return replace(walked, state="unanswered") if awaited and not span.text else walked
