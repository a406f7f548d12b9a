"""Plans: strategies that answer a question by several searches, with a budget of model calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from shrag.messages.text import Text
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.answering.answered_questions import AnsweredQuestion
from shrag.serving.errors import ModelNeeded
from shrag.serving.events import Answer, Budget, Event, Node, Timings, Truncated
from shrag.serving.llm.call_budget import BudgetedModel
from shrag.serving.request import Question, Request
from shrag.serving.search_settings import ANSWERING, BUDGET, SEARCH, SearchSettings, refuse_unused
from shrag.serving.strategies.planning.merging import merge
from shrag.serving.strategies.planning.subquery import SubqueryResult, find
from shrag.serving.strategy import Resources, require_vectors


@dataclass(slots=True)
class Plan:
    """One question that is being answered by several searches.

    Attributes:
        request: The request.
        resources: The index, the re-ranker and, within the plan's budget, the model if there is one.
        root: The node of the user's question in its current state.
        timer: Adds up the time of each stage.
    """

    request: Request
    resources: Resources
    root: Node
    timer: StageTimer = field(default_factory=StageTimer)

    @property
    def question(self) -> Question:
        """The user's question."""
        return self.request.question

    @property
    def resources_without_model(self) -> Resources:
        """The resources for a query that needs no keywords of a model, since a model or a record gave its words."""
        return replace(self.resources, model=None)

    def find_first(self) -> Generator[Event, None, SubqueryResult]:
        """Search for the user's question; yield the events of the model's calls and the updated root."""
        with self.timer.stage("search"):
            found = find(self.question, self.request, self.resources)
        yield from found.model_events
        self.root = replace(self.root, query=self.question.text, docids=found.docids)
        yield self.root
        return found

    def conclude(
        self, found: Sequence[SubqueryResult], notes: str = "", answered: Sequence[AnsweredQuestion] = ()
    ) -> Generator[Event, None, None]:
        """Yield the merged search, the answer if one is wanted, the final root and the timings.

        Args:
            found: What the searches found; the first was for the user's question.
            notes: What was worked out on the way, for the model that writes the answer.
            answered: The sub-questions with their answers, for the same model. The records of the answers rank early.
        """
        with self.timer.stage("ranking"):
            merged = merge(found, self.request, [each.docid for each in answered if each.answer])
        yield from merged.events
        asked = replace(merged, terms=found[0].terms)  # the answer is to the user's question, not to sub-questions
        rest = answer(self.request, asked, self.resources, self.timer, notes, answered)
        yield from insert_final_root(self.root, rest, answered=bool(merged.ranking.records))


Steps = Callable[[Plan], Generator[Event, None, None]]
"""Does the work of a plan behind its first event, the root, and yields the other events."""


class PlanStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy` by the ``steps`` of a plan."""

    def __init__(
        self,
        name: str,
        steps: Steps,
        *,
        needs_model: bool = False,
        limits: Collection[str] = (),
    ) -> None:
        """Make the strategy ``name``.

        Args:
            name: Its name in requests.
            steps: What it does.
            needs_model: Whether it refuses to work without a language model.
            limits: The settings that it uses beside those of the search, the answer and the budget.
        """
        self.name = name
        self._steps = steps
        self._needs_model = needs_model
        self._limits = frozenset(limits)

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        self.check(request, resources)
        return report_once(self._run(request, with_budget(resources, request.settings)))

    def check(self, request: Request, resources: Resources) -> None:
        """Raise an error if the request cannot be served.

        Raises:
            SettingRejected: The request changes a setting that the strategy does not use.
            ModelNeeded: There is no language model.
            StrategyUnavailable: The request asks for vectors, and there are none.
        """
        refuse_unused(request.settings, self.name, SEARCH | ANSWERING | BUDGET | self._limits)
        if self._needs_model and resources.model is None:
            raise ModelNeeded(
                Text(
                    "The strategy {name} needs a language model, and none is set: name one in [llm], or ask "
                    "with another strategy.",
                    name=self.name,
                )
            )
        if request.settings.candidates in {"dense", "hybrid"}:
            require_vectors(
                resources.index, Text("the strategy {name}", name=self.name), Text("ask with another strategy")
            )

    def _run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        plan = Plan(request, resources, Node(0, None, "question", request.question.text))
        yield plan.root
        yield from self._steps(plan)


def with_budget(resources: Resources, settings: SearchSettings) -> Resources:
    """Return the resources with the model, if there is one, within a budget of its own, which the settings give."""
    if resources.model is None:
        return resources
    return replace(resources, model=BudgetedModel(resources.model, settings.calls, settings.seconds))


def report_once(events: Generator[Event, None, None]) -> Generator[Event, None, None]:
    """Yield ``events``, but only the first :class:`Truncated` of each budget, however many steps it stopped."""
    reported: set[Budget] = set()
    with closing(events):
        for event in events:
            if isinstance(event, Truncated):
                if event.exhausted in reported:
                    continue
                reported.add(event.exhausted)
            yield event


def insert_final_root(root: Node, rest: Iterable[Event], *, answered: bool) -> Generator[Event, None, None]:
    """Yield ``rest`` with the root in its final state before the timings.

    The state is that of the answer in ``rest``, or ``answered`` if there is no answer.
    """
    for event in rest:
        if isinstance(event, Answer):
            answered = not event.reason
        if isinstance(event, Timings):
            yield replace(root, state="answered" if answered else "unanswered")
        yield event
