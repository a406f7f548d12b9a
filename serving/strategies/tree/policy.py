"""Policies of the nodes of a question tree: what is done for each question, by rules or by a language model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec

from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.serving.errors import BudgetExceeded
from shrag.serving.events import Assessment, Event, ModelCall, NodeKind, Purpose, overall_assessment
from shrag.serving.llm.request_model import fallback_events
from shrag.serving.llm.structured_call import PromptCall, call_model
from shrag.serving.request import Question
from shrag.serving.retrieval.query_terms import matched_share
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.decomposition.coordination import split_coordination
from shrag.serving.strategies.planning.answer_slots import distinct_questions
from shrag.serving.strategies.planning.bridge_entities import Bridge, filter_by_bridge, find_bridges
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER, SubAnswer, extract_span, respond
from shrag.serving.strategies.planning.subquery import SubqueryResult, write_query

RECORDS = 3
"""Records from which a node is answered, as in the Tree-of-Question paper, unless settings say otherwise."""

VALID_SHARE = 0.9
"""Least share of a question, weighted by idf, that a valid response and its record's title hold together."""

_MOST_LISTED = 24  # a reply with more questions is invalid

_Result = TypeVar("_Result")
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class ChildQuestions(NamedTuple):
    """Smaller questions, and how they make up their parent; ``[ANS_n]`` is a slot for the answer of the n-th one."""

    kind: NodeKind
    questions: tuple[str, ...]


class RulePolicy:
    """Answers the nodes of one tree by rules, without a model.

    Use one policy for each tree: :meth:`decompose` remembers the questions that it makes for bridge entities, and
    :meth:`filter_records` and :meth:`assess` treat those differently. A bridge entity is a new name in a found record.
    It leads to a second search, for what that record lacks. All methods but :meth:`filter_records` also return the
    events to report; here there are none. ``records`` is the number of records from which a node is answered.
    """

    def __init__(self, analyzer: Analyzer, settings: SearchSettings) -> None:
        self._analyzer = analyzer
        self.records = settings.step_records or RECORDS
        self._bridges: dict[str, Bridge] = {}

    def write_query(self, question: Question) -> tuple[Question, list[Event]]:
        """Return the query to search by for ``question``: itself."""
        return question, []

    def filter_records(self, question: Question, found: SubqueryResult) -> SubqueryResult:
        """Return ``found`` with all records, or for a bridge entity's question those to which the bridge leads."""
        bridge = self._bridges.get(question.text)
        return filter_by_bridge(bridge, found, self._analyzer) if bridge else found

    def respond(self, question: Question, found: SubqueryResult) -> tuple[SubAnswer, list[Event]]:
        """Return the sentence of the best records that, with its record's title, holds most of the question."""
        best, best_share = NO_ANSWER, 0.0
        for analyzed in found.records(self.records):
            record, title = analyzed.record, frozenset(analyzed.title_terms)
            for (start, end), terms in zip(split_sentences(record.text), analyzed.sentence_terms, strict=True):
                if (share := matched_share(found.terms, title.union(terms))) > best_share:
                    best, best_share = SubAnswer(record.text[start:end], record.docid), share
        return best, []

    def assess(self, question: Question, response: SubAnswer, found: SubqueryResult) -> tuple[Assessment, list[Event]]:
        """Judge a response by the share of the question's words that the response and its record's title hold.

        The response to the question of a bridge is valid if the bridge leads to a record.
        """
        title = next((each.record.title for each in found.candidates if each.record.docid == response.docid), "")
        terms = frozenset().union(*map(frozenset, self._analyzer.terms([title, response.text])))
        share = matched_share(found.terms, terms) if response.text else 0.0
        percent = round(100 * share)
        coherence = max(1, round(10 * share))
        reached = question.text in self._bridges and bool(found.ranking.records)
        overall = overall_assessment(coherence, percent)
        return Assessment(coherence, percent, overall, reached or share >= VALID_SHARE), []

    def decompose(self, question: Question, found: SubqueryResult) -> tuple[ChildQuestions, list[Event]]:
        """Return the coordinated parts of the question, else questions for the bridge entities of its best records.

        The question of a bridge entity gets none of the latter: a second bridge may lead anywhere.
        """
        parts = split_coordination(question)
        if parts:
            return ChildQuestions("comparison", tuple(parts)), []
        if question.text in self._bridges:
            return ChildQuestions("bridging", ()), []
        bridges = {bridge.question(question.language).text: bridge for bridge in find_bridges(found, self._analyzer)}
        self._bridges |= bridges
        return ChildQuestions("bridging", tuple(bridges)), []

    def extract_span(self, question: Question, found: SubqueryResult) -> tuple[SubAnswer, list[Event]]:
        """Return the words of a record that answer the question, for slots: none, since rules make no slots."""
        return NO_ANSWER, []


class _Assessment(msgspec.Struct, frozen=True):
    coherence: Annotated[int, msgspec.Meta(ge=1, le=10)]
    answerability: Annotated[int, msgspec.Meta(ge=0, le=100)]
    valid: bool


class _Branches(msgspec.Struct, frozen=True):
    kind: Literal["bridging", "intersection", "comparison", "hybrid"]
    questions: Annotated[list[_Text], msgspec.Meta(max_length=_MOST_LISTED)]


class ModelPolicy(RulePolicy):
    """Answers the nodes of one tree by a model (the paper's appendix B; the prompts are our own).

    If the model fails, the rules do the work, and the events say so. Methods that call the model raise
    :class:`~shrag.serving.errors.BudgetExceeded` if its budget is used up.
    """

    def __init__(self, model: LanguageModel, analyzer: Analyzer, settings: SearchSettings) -> None:
        super().__init__(analyzer, settings)
        self._model = model
        self._most_children = settings.tree_children

    def write_query(self, question: Question) -> tuple[Question, list[Event]]:
        """Return the model's search query."""
        return self._or_rules("query", partial(write_query, question), partial(super().write_query, question))

    def respond(self, question: Question, found: SubqueryResult) -> tuple[SubAnswer, list[Event]]:
        """Return the model's answer from the best records."""
        work = partial(respond, question, found.best(self.records))
        return self._or_rules("step", work, partial(super().respond, question, found))

    def assess(self, question: Question, response: SubAnswer, found: SubqueryResult) -> tuple[Assessment, list[Event]]:
        """Have the model judge a response; an empty one is not valid, without a call."""
        if not response.text:
            return Assessment(1, 0, overall_assessment(1, 0), valid=False), []

        def work(model: LanguageModel) -> tuple[Assessment, list[ModelCall]]:
            values = {"question": question.text, "query": found.question.text, "response": response.text}
            call = PromptCall("evaluate", "evaluate", question.language, values, max_tokens=96)
            reply, calls = call_model(model, call, _Assessment)
            overall = overall_assessment(reply.coherence, reply.answerability)
            return Assessment(reply.coherence, reply.answerability, overall, reply.valid, model.name), calls

        return self._or_rules("evaluate", work, partial(super().assess, question, response, found))

    def decompose(self, question: Question, found: SubqueryResult) -> tuple[ChildQuestions, list[Event]]:
        """Return the model's smaller questions; a slot stands for the answer of an earlier one only."""

        def work(model: LanguageModel) -> tuple[ChildQuestions, list[ModelCall]]:
            values = {"question": question.text, "most": str(self._most_children)}
            reply, calls = call_model(model, PromptCall("decompose", "branch", question.language, values), _Branches)
            questions = distinct_questions(reply.questions[: self._most_children], question.text)
            return ChildQuestions(reply.kind, tuple(questions)), calls

        return self._or_rules("decompose", work, partial(super().decompose, question, found))

    def extract_span(self, question: Question, found: SubqueryResult) -> tuple[SubAnswer, list[Event]]:
        """Return the words of a record with which the model answers; empty if no record has them."""
        work = partial(extract_span, question, found.best(self.records))
        return self._or_rules("step", work, partial(super().extract_span, question, found))

    def _or_rules(
        self,
        purpose: Purpose,
        work: Callable[[LanguageModel], tuple[_Result, list[ModelCall]]],
        rules: Callable[[], tuple[_Result, list[Event]]],
    ) -> tuple[_Result, list[Event]]:
        try:
            result, calls = work(self._model)
        except BudgetExceeded:
            raise
        except ModelError as error:
            result, events = rules()
            return result, [*fallback_events(purpose, error), *events]
        return result, [*calls]
