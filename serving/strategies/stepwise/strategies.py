"""The strategies of the RAISE family: solve a question step by step, each step from its own records, then answer.

Algorithm 1 of the RAISE paper searches for a step when its turn comes. No query depends on an earlier solution, so here
all steps are searched in parallel; they are solved in order, since a solution depends on those before it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from shrag.indexing.analyzed_record import to_passage
from shrag.messages.text import Text
from shrag.serving.answering.answer import answer_closed_book
from shrag.serving.concurrency import parallel_map
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Event, Hits, Keywords, Node, Purpose, Queries, Ranking
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import LONGEST_QUESTION, Request, parse_question
from shrag.serving.search_settings import BUDGET, Candidates, refuse_unused
from shrag.serving.strategies.decomposition.coordination import split_coordination
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy, insert_final_root
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
from shrag.serving.strategies.stepwise.similarity_threshold import (
    CosineSimilarity,
    Similarity,
    learnt_threshold,
    model_vectors,
    open_similarity,
)
from shrag.serving.strategies.stepwise.variants import VARIANTS, Variant
from shrag.serving.strategy import Resources

RECORDS = 10
"""Records from which a step is solved, as in the paper (appendix B.3), unless settings say otherwise."""


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
    """Solves one question step by step. Without a model, the question's parts are searched for, but not solved."""

    def __init__(self, variant: Variant, plan: Plan, threshold: SimilarityThreshold | None) -> None:
        self._variant = variant
        self._plan = plan
        self._model = plan.resources.model
        self._threshold = threshold
        self._settings = plan.request.settings
        by_vectors = variant.searches and model_vectors(plan.resources.index) is not None
        self._candidates: Candidates = "hybrid" if by_vectors else "lexical"
        self._steps: list[_Step] = []
        self._solved: list[SolvedStep] = []
        self._first: SubqueryResult | None = None

    def solve(self) -> Generator[Event, None, None]:
        """Yield the nodes of the steps when these are planned, when they are searched for, and when they are solved."""
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
        """Decompose the question, and at the same time search for it as it is."""
        plan = self._plan
        works = [self._decompose, self._search_question] if self._variant.searches else [self._decompose]
        with plan.timer.stage("plan"):
            events = parallel_map(lambda work: work(), works)
        yield from chain.from_iterable(events)
        if self._first is not None:
            plan.root = replace(plan.root, query=plan.question.text, docids=self._first.docids)
            yield plan.root
        yield from [step.node for step in self._steps]

    def _decompose(self) -> Sequence[Event]:
        """Set the steps; return the events of the model's calls."""
        question = self._plan.question
        questions = [SubQuestion(question.text, question.text)]
        events: list[Event] = []
        if self._variant.decomposes:
            steps, events = attempt("decompose", self._model, partial(plan_substeps, question, self._settings.steps))
            questions = steps or [SubQuestion(part, part) for part in split_coordination(question)]
        self._steps = [_Step(Node(number, 0, "step", each.question), each) for number, each in enumerate(questions, 1)]
        return events

    def _search_question(self) -> Sequence[Event]:
        """Search for the user's question as it is; return the events of the model's calls."""
        plan = self._plan
        self._first = find(plan.question, plan.request, plan.resources, self._candidates)
        return self._first.model_events

    def _search(self) -> Generator[Event, None, None]:
        """Search for all steps in parallel; a step that equals the user's question takes the result of that."""
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
        """Set the field ``name`` of each step to the model's text, in parallel; if the model fails, leave it."""
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
        records = step.found.best(self._settings.step_records or RECORDS) if step.found is not None else []
        text = step.question.question
        with self._plan.timer.stage("steps"):
            work = partial(solve_step, text, step.principle, self._plan.question, self._solved, records)
            solution, events = attempt("step", self._model, work)
        yield from events
        answer, docid = solution or NO_ANSWER
        self._solved.append(SolvedStep(text, answer, step.principle))
        step.node = replace(step.node, state="answered" if answer else "unanswered", answer=answer, source=docid)
        yield step.node


class StepwiseStrategy(PlanStrategy):
    """Implements :class:`~shrag.serving.strategy.Strategy` by a :class:`StepSolver`.

    RAISE works without a model too: a question is decomposed by its coordination, each part is searched for by its own
    words, and records below the threshold are dropped. The other variants need a model.
    """

    def __init__(self, variant: Variant) -> None:
        needs_model = not variant.decomposes or variant.threshold is None
        limits = [name for name, used in (("steps", variant.decomposes), ("step_records", variant.searches)) if used]
        super().__init__(variant.name, self._solve, needs_model=needs_model, limits=limits)
        self._variant = variant

    def check(self, request: Request, resources: Resources) -> None:
        """See :class:`PlanStrategy`.

        Also raises :class:`StrategyUnavailable` if the threshold is a cosine and the index has no vectors of a model,
        and :class:`SettingRejected` for changed search settings of a variant that does not search.
        """
        if self._variant.searches or resources.model is None:
            super().check(request, resources)
        else:
            refuse_unused(request.settings, self.name, BUDGET | self._limits)
        if isinstance(self._variant.threshold, float) and model_vectors(resources.index) is None:
            raise StrategyUnavailable(
                Text(
                    "The strategy {name} needs vectors that a model made, and that model: build the index with "
                    "`shrag index {index} --encoder gte`, or ask with raise, whose threshold is learned.",
                    name=self.name,
                    index=resources.index.name,
                )
            )

    def _solve(self, plan: Plan) -> Generator[Event, None, None]:
        with plan.timer.stage("threshold"):
            threshold = self._threshold(plan.resources)
        solver = StepSolver(self._variant, plan, threshold)
        yield from solver.solve()
        if self._variant.searches:
            yield from plan.conclude(solver.found(), solver.notes())
            return
        yield Keywords((), ())
        yield Queries(())
        yield Hits((), (), ())
        yield Ranking((), "", reranker_is_model=False, reason="not_searched")
        rest = answer_closed_book(plan.request, plan.resources, plan.timer, solver.notes())
        yield from insert_final_root(plan.root, rest, answered=False)

    def _threshold(self, resources: Resources) -> SimilarityThreshold | None:
        threshold = self._variant.threshold
        if threshold is None:
            return None
        if isinstance(threshold, float):
            dense = model_vectors(resources.index)
            return SimilarityThreshold(CosineSimilarity(dense), threshold) if dense is not None else None
        similarity = open_similarity(resources.index, resources.reranker)
        return SimilarityThreshold(similarity, learnt_threshold(resources.index, similarity))


STEPWISE = tuple(map(StepwiseStrategy, VARIANTS))
"""RAISE and its baselines."""
