"""The strategies of the RAISE family: solve a question step by step, then answer from all steps."""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.answering.answer import answer_closed_book
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Event, Hits, Keywords, Queries, Ranking
from shrag.serving.llm.call_budget import CallBudget
from shrag.serving.request import Request
from shrag.serving.search_settings import refuse_unused
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy, insert_final_root
from shrag.serving.strategies.stepwise.similarity_threshold import (
    CosineSimilarity,
    LearntThresholds,
    model_vectors,
    open_similarity,
)
from shrag.serving.strategies.stepwise.solver import SimilarityThreshold, StepSolver
from shrag.serving.strategies.stepwise.variants import VARIANTS, Variant
from shrag.serving.strategy import Resources


class StepwiseStrategy(PlanStrategy):
    """Implements :class:`~shrag.serving.strategy.Strategy` by a :class:`StepSolver`.

    RAISE works without a model too: a question is decomposed by its coordination, each part is searched for by its own
    words, and records below the threshold are dropped. The other variants need a model.
    """

    def __init__(self, variant: Variant, thresholds: LearntThresholds, budget: CallBudget | None = None) -> None:
        needs_model = not variant.decomposes or variant.threshold is None
        super().__init__(variant.name, self._solve, needs_model=needs_model, budget=budget)
        self._variant = variant
        self._thresholds = thresholds

    def check(self, request: Request, resources: Resources) -> None:
        """See :class:`PlanStrategy`.

        Raises :class:`StrategyUnavailable` also where the threshold is a cosine and no model's vectors are there, and
        :class:`SettingRejected` for changed settings of a variant that does not search.
        """
        if self._variant.searches or resources.model is None:
            super().check(request, resources)
        else:
            refuse_unused(request.settings, self.name)
        if isinstance(self._variant.threshold, float) and model_vectors(resources.index) is None:
            raise StrategyUnavailable(
                f"The strategy {self.name} needs vectors that a model made, and that model: build the index with "
                f"`shrag index {resources.index.name} --encoder gte`, or ask with raise, whose threshold is learnt."
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
        return SimilarityThreshold(similarity, self._thresholds.of(resources.index, similarity))


def stepwise_strategies() -> tuple[StepwiseStrategy, ...]:
    """Return RAISE and its baselines; they share the thresholds learnt from an index."""
    thresholds = LearntThresholds()
    return tuple(StepwiseStrategy(variant, thresholds) for variant in VARIANTS)
