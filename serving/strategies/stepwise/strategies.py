"""RAISE family as strategies."""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.answering.answer import answer_closed_book
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Event, Hits, Keywords, Queries, Ranking
from shrag.serving.llm.call_budget import Ration, RationedModel
from shrag.serving.request import Request
from shrag.serving.search_settings import refuse_unused
from shrag.serving.strategies.planning.plan import (
    closing_with,
    conclude,
    need_candidates,
    need_model,
    ration,
    told_once,
)
from shrag.serving.strategies.stepwise.similarity_threshold import (
    CosineSimilarity,
    LearntThresholds,
    model_vectors,
    open_similarity,
)
from shrag.serving.strategies.stepwise.solver import Gate, StepSolver
from shrag.serving.strategies.stepwise.variants import WAYS, Way
from shrag.serving.strategy import Resources, StageTimer


class StepwiseStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: the steps of a question, and an answer from all of them.

    RAISE works without a model too: a question is taken apart by what it joins, each part is looked up by its own
    words, and records below the threshold are dropped. The others are nothing without a model, and say so.
    """

    def __init__(self, way: Way, thresholds: LearntThresholds, ration: Ration | None = None) -> None:
        self._way = way
        self._thresholds = thresholds
        self._ration = ration

    @property
    def name(self) -> str:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        return self._way.name

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`.

        Raises :class:`ModelNeeded` without a model, but for RAISE, :class:`StrategyUnavailable` where a threshold is a
        cosine of a model's vectors and the index has none, and :class:`SettingRejected` for settings where nothing is
        looked up.
        """
        if not (self._way.parts and self._way.threshold is not None):
            need_model(self.name, resources)
        if isinstance(self._way.threshold, float) and model_vectors(resources.index) is None:
            raise StrategyUnavailable(
                f"The strategy {self.name} needs vectors that a model made, and that model: build the index with "
                f"`shrag index {resources.index.name} --encoder gte`, or ask with raise, whose threshold is learnt."
            )
        if self._way.looks_up:
            need_candidates(self.name, request, resources)
        else:
            refuse_unused(request.settings, self.name)
        return told_once(self._run(request, *ration(resources, self._ration)))

    def _run(self, request: Request, resources: Resources, model: RationedModel | None) -> Generator[Event, None, None]:
        timer = StageTimer()
        with timer.stage("threshold"):
            gate = self._gate(resources)
        walk = StepSolver(self._way, request, resources, model, gate, timer)
        yield from walk.steps()
        if self._way.looks_up:
            yield from conclude(walk.root, walk.found(), request, resources, timer, walk.notes())
        else:
            yield from _conclude_closed_book(walk, request, resources, timer)

    def _gate(self, resources: Resources) -> Gate | None:
        threshold = self._way.threshold
        if threshold is None:
            return None
        if isinstance(threshold, float):
            dense = model_vectors(resources.index)
            return Gate(CosineSimilarity(dense), threshold) if dense is not None else None
        similarity = open_similarity(resources.index, resources.reranker)
        return Gate(similarity, self._thresholds.of(resources.index, similarity))


def stepwise_strategies() -> tuple[StepwiseStrategy, ...]:
    """Return RAISE and its baselines; they share what is learnt of an index."""
    thresholds = LearntThresholds()
    return tuple(StepwiseStrategy(way, thresholds) for way in WAYS)


def _conclude_closed_book(
    walk: StepSolver, request: Request, resources: Resources, timer: StageTimer
) -> Generator[Event, None, None]:
    """Yield a search in which nothing was looked for, the model's own answer, and the timings."""
    yield Keywords((), ())
    yield Queries(())
    yield Hits((), (), ())
    yield Ranking((), "", reranker_is_model=False, reason="not_searched")
    yield from closing_with(walk.root, answer_closed_book(request, resources, timer, walk.notes()), answered=False)
