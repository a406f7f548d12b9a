"""Solve sub-steps, each from its own retrieved records.

Algorithm 1 of the RAISE paper looks a step up when its turn comes. Nothing that a step is looked up by depends on an
earlier solution, so here all of them are looked up side by side; what a step comes to depends on those before it.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from shrag.indexing.analyzed_record import to_passage
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Node, Purpose
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import LONGEST_QUESTION, Request, parse_question
from shrag.serving.search_settings import Candidates
from shrag.serving.strategies.decomposition.coordination import parse_sentence, split_coordination
from shrag.serving.strategies.planning.subquery import SubqueryResult, find, find_all
from shrag.serving.strategies.stepwise.model_steps import (
    MAKERS,
    Maker,
    SubQuestion,
    Worked,
    notes_text,
    readable,
    settle,
    step_back,
    take_apart,
)
from shrag.serving.strategies.stepwise.similarity_threshold import Similarity, model_vectors
from shrag.serving.strategies.stepwise.variants import Way
from shrag.serving.strategy import Resources, StageTimer

RECORDS = 5
"""Records of a step that it is settled from. The paper's ten are passages of 100 words; an abstract has twice that."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What lets a step's records through: those whose ``similarity`` to what found them is at least ``threshold``."""

    similarity: Similarity
    threshold: float

    def sift(self, found: SubqueryResult) -> SubqueryResult:
        """Return ``found`` with those records alone; their places are counted anew."""
        records = [ranked.record.docid for ranked in found.ranking.records]
        passages = {each.record.docid: to_passage(each) for each in found.candidates}
        near = self.similarity.of(found.question.text, [passages[docid] for docid in records])
        kept = [ranked for ranked, value in zip(found.ranking.records, near, strict=True) if value >= self.threshold]
        return found.only(kept)


@dataclass(slots=True)
class _Pace:
    """A step on its way: the node it is shown as, what it is looked up by, what lies behind it, what was found."""

    node: Node
    step: SubQuestion
    lookup: str = ""
    principle: str = ""
    found: SubqueryResult | None = None


class StepSolver:
    """Works one question out; not to be shared. Without a ``model`` its parts are looked up and nothing is settled."""

    def __init__(
        self,
        way: Way,
        request: Request,
        resources: Resources,
        model: RationedModel | None,
        gate: Gate | None,
        timer: StageTimer,
    ) -> None:
        self._way = way
        self._request = request
        self._question = request.question
        self._resources = resources
        self._model = model
        self._gate = gate
        self._timer = timer
        self._own: Candidates = "hybrid" if way.looks_up and model_vectors(resources.index) is not None else "lexical"
        self._paces: list[_Pace] = []
        self._worked: list[Worked] = []
        self._first: SubqueryResult | None = None
        self.root = Node(0, None, "question", self._question.text)

    def steps(self) -> Generator[Event, None, None]:
        """Yield the question, then its steps: as they come up, as they are looked up, and as they are settled."""
        yield self.root
        if not self._way.looks_up and not self._request.answered:
            return
        yield from self._plan()
        if self._way.looks_up:
            yield from self._look_up()
        if self._model is not None and self._request.answered:
            if self._way.principle:
                yield from self._make_each(step_back, "query", "principle")
            for pace in self._paces:
                yield from self._settle(pace, self._model)

    def found(self) -> list[SubqueryResult]:
        """Return what was found: for the reader's question first, then for each step that is another question."""
        found = [self._first, *(pace.found for pace in self._paces)]
        return [one for place, one in enumerate(found) if one is not None and (not place or one is not self._first)]

    def notes(self) -> str:
        """Return what was worked out, for who writes the answer; empty where nothing was."""
        settled = any(worked.solution for worked in self._worked)
        return notes_text(self._worked, self._question.language) if settled else ""

    def _plan(self) -> Generator[Event, None, None]:
        """Take the question apart while it is searched for as it is."""
        with self._timer.stage("plan"), ThreadPoolExecutor(1, thread_name_prefix="plan") as worker:
            searching = None
            if self._way.looks_up:
                searching = worker.submit(find, self._question, self._request, self._resources, self._own)
            steps, told = self._take_apart()
        yield from told
        if searching is not None:
            self._first = searching.result()
            yield from self._first.model_events
            self.root = replace(self.root, query=self._question.text, docids=self._first.hits.candidates)
            yield self.root
        self._paces = [_Pace(Node(number, 0, "step", step.question), step) for number, step in enumerate(steps, 1)]
        yield from [pace.node for pace in self._paces]

    def _take_apart(self) -> tuple[list[SubQuestion], list[Event]]:
        if not self._way.parts:
            return [SubQuestion(self._question.text, self._question.text)], []
        steps, told = None, list[Event]()
        if self._model is not None:
            steps, told = attempt("decompose", partial(take_apart, self._question, self._model))
        if not steps:
            steps = [SubQuestion(part, part) for part in split_coordination(self._question, parse_sentence)]
        return steps, told

    def _look_up(self) -> Generator[Event, None, None]:
        """Find each step's records, all side by side; a step that is the reader's own question has found them."""
        for pace in self._paces:
            pace.lookup = pace.step.question if self._way.lookup == "question" else pace.step.query
        maker = MAKERS.get(self._way.lookup)
        if maker is not None:
            purpose: Purpose = "hypothesis" if self._way.lookup == "passage" else "query"
            yield from self._make_each(maker, purpose, "lookup")
        with self._timer.stage("search"):
            known = self._question.text if self._way.lookup == "question" else ""
            others = [pace for pace in self._paces if pace.lookup != known]
            # What is looked up by is a model's already, or the step's own words: no keywords are asked for.
            wordless = replace(self._resources, model=None)
            questions = [parse_question(pace.lookup[:LONGEST_QUESTION]) for pace in others]
            found = find_all(questions, self._request, wordless, self._own)
            for pace, one in zip(others, found, strict=True):
                pace.found = self._gate.sift(one) if self._gate is not None else one
            for pace in self._paces:
                pace.found = pace.found or self._first
        for pace in self._paces:
            if pace.found is not None:
                pace.node = pace.found.looked_up(pace.node, pace.lookup)
            yield pace.node

    def _make_each(self, maker: Maker, purpose: Purpose, name: str) -> Generator[Event, None, None]:
        """Have the model make a text for every step, side by side; where it fails, the step keeps what it has."""
        model = self._model
        if model is None:
            return
        with self._timer.stage("queries"):
            made = parallel_map(
                lambda pace: attempt(purpose, partial(maker, pace.step, self._question, model)), self._paces
            )
        for pace, (text, told) in zip(self._paces, made, strict=True):
            yield from told
            if text and readable(text):
                setattr(pace, name, text)

    def _settle(self, pace: _Pace, model: RationedModel) -> Generator[Event, None, None]:
        records = pace.found.best(RECORDS) if pace.found is not None else []
        with self._timer.stage("steps"):
            solution, told = attempt(
                "step",
                partial(settle, pace.step.question, pace.principle, self._question, self._worked, records, model),
            )
        yield from told
        text, docid = solution or ("", "")
        self._worked.append(Worked(pace.step.question, text, pace.principle))
        pace.node = replace(pace.node, state="answered" if text else "unanswered", answer=text, source=docid)
        yield pace.node
