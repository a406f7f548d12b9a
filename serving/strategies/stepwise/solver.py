"""Solver of the steps of a question, each from its own retrieved records.

Algorithm 1 of the RAISE paper searches for a step when its turn comes. No query depends on an earlier solution, so here
all steps are searched in parallel; they are solved in order, since a solution depends on those before it.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from shrag.indexing.analyzed_record import to_passage
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Node, Purpose
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import LONGEST_QUESTION, parse_question
from shrag.serving.search_settings import Candidates
from shrag.serving.strategies.decomposition.coordination import parse_sentence, split_coordination
from shrag.serving.strategies.planning.plan import Plan
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER
from shrag.serving.strategies.planning.subquery import SubqueryResult, find, find_all
from shrag.serving.strategies.stepwise.model_steps import (
    QUERY_WRITERS,
    SolvedStep,
    StepWriter,
    SubQuestion,
    is_readable,
    notes_text,
    plan_substeps,
    solve_step,
    write_principle,
)
from shrag.serving.strategies.stepwise.similarity_threshold import Similarity, model_vectors
from shrag.serving.strategies.stepwise.variants import Variant

RECORDS = 5
"""Records from which a step is solved. The paper's ten are passages of 100 words; an abstract has twice that."""


@dataclass(frozen=True, slots=True)
class SimilarityThreshold:
    """Least similarity of a record to the query that found it."""

    similarity: Similarity
    threshold: float

    def filter_records(self, found: SubqueryResult) -> SubqueryResult:
        """Return ``found`` with only the records that reach the threshold."""
        passages = {each.record.docid: to_passage(each) for each in found.candidates}
        records = found.ranking.records
        values = self.similarity.of(found.question.text, [passages[ranked.record.docid] for ranked in records])
        return found.only(ranked for ranked, value in zip(records, values, strict=True) if value >= self.threshold)


@dataclass(slots=True)
class _Step:
    """A step in its current state: its node, its query, the principle behind it, and what was found."""

    node: Node
    question: SubQuestion
    query: str = ""
    principle: str = ""
    found: SubqueryResult | None = None


class StepSolver:
    """Solves one question step by step. Without a model its parts are searched for, and nothing is solved."""

    def __init__(self, variant: Variant, plan: Plan, threshold: SimilarityThreshold | None) -> None:
        self._variant = variant
        self._plan = plan
        self._model = plan.resources.model
        self._threshold = threshold
        by_vectors = variant.searches and model_vectors(plan.resources.index) is not None
        self._candidates: Candidates = "hybrid" if by_vectors else "lexical"
        self._steps: list[_Step] = []
        self._solved: list[SolvedStep] = []
        self._first: SubqueryResult | None = None

    def solve(self) -> Generator[Event, None, None]:
        """Yield the nodes of the steps: when they are planned, when they have been searched for, when solved."""
        if not self._variant.searches and not self._plan.request.answered:
            return
        yield from self._plan_steps()
        if self._variant.searches:
            yield from self._search()
        if self._model is not None and self._plan.request.answered:
            if self._variant.principle:
                yield from self._write_each(write_principle, "query", "principle")
            for step in self._steps:
                yield from self._solve(step)

    def found(self) -> list[SubqueryResult]:
        """Return what was found: for the user's question first, then for each step that is another question."""
        first = [self._first] if self._first is not None else []
        others = [step.found for step in self._steps if step.found is not None and step.found is not self._first]
        return [*first, *others]

    def notes(self) -> str:
        """Return the solved steps for the model that writes the answer; empty where none was solved."""
        solved = any(step.solution for step in self._solved)
        return notes_text(self._solved, self._plan.question.language) if solved else ""

    def _plan_steps(self) -> Generator[Event, None, None]:
        """Decompose the question while it is searched for as it is."""
        plan = self._plan
        with plan.timer.stage("plan"), ThreadPoolExecutor(1, thread_name_prefix="plan") as worker:
            searching = None
            if self._variant.searches:
                searching = worker.submit(find, plan.question, plan.request, plan.resources, self._candidates)
            questions, events = self._decompose()
        yield from events
        if searching is not None:
            self._first = searching.result()
            yield from self._first.model_events
            plan.root = replace(plan.root, query=plan.question.text, docids=self._first.hits.candidates)
            yield plan.root
        self._steps = [_Step(Node(number, 0, "step", each.question), each) for number, each in enumerate(questions, 1)]
        yield from [step.node for step in self._steps]

    def _decompose(self) -> tuple[list[SubQuestion], list[Event]]:
        question = self._plan.question
        if not self._variant.decomposes:
            return [SubQuestion(question.text, question.text)], []
        steps, events = attempt("decompose", self._model, partial(plan_substeps, question))
        return steps or [SubQuestion(part, part) for part in split_coordination(question, parse_sentence)], events

    def _search(self) -> Generator[Event, None, None]:
        """Search for all steps in parallel; a step that is the user's question has what that found."""
        plan, own = self._plan, self._variant.query == "question"
        for step in self._steps:
            step.query = step.question.question if own else step.question.query
        writer = QUERY_WRITERS.get(self._variant.query)
        if writer is not None and self._model is not None:
            yield from self._write_each(writer, "hypothesis" if self._variant.query == "passage" else "query", "query")
        with plan.timer.stage("search"):
            others = [step for step in self._steps if not own or step.query != plan.question.text]
            questions = [parse_question(step.query[:LONGEST_QUESTION]) for step in others]
            found = find_all(questions, plan.request, plan.resources_without_model, self._candidates)
            for step, one in zip(others, found, strict=True):
                step.found = self._threshold.filter_records(one) if self._threshold is not None else one
        for step in self._steps:
            step.found = step.found or self._first
            if step.found is not None:
                step.node = step.found.update_node(step.node, step.query)
            yield step.node

    def _write_each(self, writer: StepWriter, purpose: Purpose, name: str) -> Generator[Event, None, None]:
        """Set the field ``name`` of each step to what the model writes, in parallel; where it fails, leave it."""
        question = self._plan.question
        with self._plan.timer.stage("queries"):
            written = parallel_map(
                lambda step: attempt(purpose, self._model, partial(writer, step.question, question)), self._steps
            )
        for step, (text, events) in zip(self._steps, written, strict=True):
            yield from events
            if text and is_readable(text):
                setattr(step, name, text)

    def _solve(self, step: _Step) -> Generator[Event, None, None]:
        records = step.found.best(RECORDS) if step.found is not None else []
        text = step.question.question
        with self._plan.timer.stage("steps"):
            work = partial(solve_step, text, step.principle, self._plan.question, self._solved, records)
            solution, events = attempt("step", self._model, work)
        yield from events
        answer, docid = solution or NO_ANSWER
        self._solved.append(SolvedStep(text, answer, step.principle))
        step.node = replace(step.node, state="answered" if answer else "unanswered", answer=answer, source=docid)
        yield step.node
