"""LLM policy for tree nodes.

A step that the model fails in is done by rules, and that is told. Prompts are our own; what each does is appendix B of
the Tree-of-Question paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.models.errors import ModelError
from shrag.serving.errors import BudgetExceeded
from shrag.serving.events import Assessment, Event, ModelCall, Purpose
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.request_model import fallback_events
from shrag.serving.llm.structured_call import PromptCall, ask
from shrag.serving.request import Question
from shrag.serving.strategies.planning.answer_slots import AnswerSpan, looking_back, pick_span
from shrag.serving.strategies.planning.sub_answers import Response, respond
from shrag.serving.strategies.planning.subquery import SubqueryResult, write_query
from shrag.serving.strategies.tree.policy import MOST_BRANCHES, RECORDS, Branches, Hand

_Made = TypeVar("_Made")

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class _Assessment(msgspec.Struct, frozen=True):
    coherence: Annotated[int, msgspec.Meta(ge=1, le=10)]
    answerability: Annotated[int, msgspec.Meta(ge=0, le=100)]
    valid: bool


class _Branches(msgspec.Struct, frozen=True):
    kind: Literal["bridging", "intersection", "comparison", "hybrid"]
    questions: Annotated[list[_Text], msgspec.Meta(max_length=2 * MOST_BRANCHES)]


class ModelHand:
    """Implements :class:`~shrag.serving.strategies.tree.policy.Hand`; ``rules`` do what the model fails in."""

    def __init__(self, model: RationedModel, rules: Hand) -> None:
        self._model = model
        self._rules = rules

    def query(self, question: Question) -> tuple[Question, list[Event]]:
        """See :class:`~shrag.serving.strategies.tree.policy.Hand`."""
        return self._or_rules("query", lambda: write_query(question, self._model), lambda: self._rules.query(question))

    def sift(self, question: Question, found: SubqueryResult) -> SubqueryResult:
        """Return all of it, since the evaluator judges, but for a question that rules made: that goes by theirs."""
        return self._rules.sift(question, found)

    def respond(self, question: Question, found: SubqueryResult) -> tuple[Response, list[Event]]:
        """See :class:`~shrag.serving.strategies.tree.policy.Hand`."""
        return self._or_rules(
            "step",
            lambda: respond(question, found.best(RECORDS), self._model),
            lambda: self._rules.respond(question, found),
        )

    def assess(self, question: Question, response: Response, found: SubqueryResult) -> tuple[Assessment, list[Event]]:
        """See :class:`~shrag.serving.strategies.tree.policy.Hand`.

        A missing answer is not valid; the model is not asked about it.
        """
        if not response.text:
            return Assessment(1, 0, 0.5, valid=False), []

        def work() -> tuple[Assessment, list[ModelCall]]:
            values = {"question": question.text, "query": found.question.text, "response": response.text}
            made, calls = ask(
                self._model, PromptCall("evaluate", "evaluate", question.language, values, 96), _Assessment
            )
            overall = (made.coherence + made.answerability / 10) / 2
            return Assessment(made.coherence, made.answerability, overall, made.valid, self._model.name), calls

        return self._or_rules("evaluate", work, lambda: self._rules.assess(question, response, found))

    def branch(self, question: Question, found: SubqueryResult) -> tuple[Branches, list[Event]]:
        """See :class:`~shrag.serving.strategies.tree.policy.Hand`.

        A question depends on earlier ones only, so that there is no cycle.
        """

        def work() -> tuple[Branches, list[ModelCall]]:
            values = {"question": question.text, "most": str(MOST_BRANCHES)}
            made, calls = ask(self._model, PromptCall("decompose", "branch", question.language, values), _Branches)
            texts = [plain_line(text) for text in made.questions][:MOST_BRANCHES]
            kept = [text for text in dict.fromkeys(texts) if text and text != question.text]
            return Branches(made.kind, tuple(looking_back(text, number) for number, text in enumerate(kept, 1))), calls

        return self._or_rules("decompose", work, lambda: self._rules.branch(question, found))

    def span(self, question: Question, found: SubqueryResult) -> tuple[AnswerSpan, list[Event]]:
        """See :class:`~shrag.serving.strategies.tree.policy.Hand`."""
        return self._or_rules(
            "step",
            lambda: pick_span(question, found.best(RECORDS), self._model),
            lambda: self._rules.span(question, found),
        )

    def _or_rules(
        self,
        purpose: Purpose,
        work: Callable[[], tuple[_Made, list[ModelCall]]],
        by_rules: Callable[[], tuple[_Made, list[Event]]],
    ) -> tuple[_Made, list[Event]]:
        try:
            made, calls = work()
        except BudgetExceeded:
            raise
        except ModelError as error:
            made, told = by_rules()
            return made, [*fallback_events(purpose, error), *told]
        return made, [*calls]
