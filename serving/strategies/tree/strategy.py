"""The strategy tree (Tree-of-Question)."""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.events import Event
from shrag.serving.llm.call_budget import CallBudget
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy
from shrag.serving.strategies.tree.policy import ModelPolicy, RulePolicy
from shrag.serving.strategies.tree.search import TreeLimits, TreeSearch


def tree_strategy(limits: TreeLimits | None = None, budget: CallBudget | None = None) -> PlanStrategy:
    """Return the strategy ``tree``; without a model, rules take the policy's decisions."""

    def search(plan: Plan) -> Generator[Event, None, None]:
        analyzer, model = plan.resources.index.analyzer, plan.resources.model
        policy = ModelPolicy(model, analyzer) if model is not None else RulePolicy(analyzer)
        tree = TreeSearch(plan, policy, limits or TreeLimits())
        yield from tree.run()
        yield from plan.conclude(tree.found())

    return PlanStrategy("tree", search, budget=budget)
