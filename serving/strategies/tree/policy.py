"""NodePolicy protocol and the rule-based policy."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.serving.events import Assessment, Event, NodeKind
from shrag.serving.request import Question
from shrag.serving.retrieval.query_terms import matched_share
from shrag.serving.strategies.decomposition.coordination import parse_sentence, split_coordination
from shrag.serving.strategies.planning.answer_slots import AnswerSpan
from shrag.serving.strategies.planning.bridge_entities import Bridge, arrivals, find_bridges
from shrag.serving.strategies.planning.sub_answers import NO_RESPONSE, Response
from shrag.serving.strategies.planning.subquery import SubqueryResult

RECORDS = 3
"""Records a node is answered from, as in the paper."""

MOST_BRANCHES = 6
"""Smaller questions one node may grow; the paper's largest example has seven below two kinds."""


class Branches(NamedTuple):
    """Smaller questions and what joins them. ``[ANS_n]`` in one is the place of the answer of the n-th of them."""

    kind: NodeKind
    questions: tuple[str, ...]


class Hand(Protocol):
    """Does the work at the nodes. Safe to share between threads.

    Every call returns what it made and what is to be told of it: the model's calls, or what was done without it. Raises
    :class:`~shrag.serving.errors.BudgetExceeded` where the plan has run out of calls or time.
    """

    def query(self, question: Question) -> tuple[Question, list[Event]]:
        """Return what is searched by to answer ``question``."""

    def sift(self, question: Question, found: SubqueryResult) -> SubqueryResult:
        """Return ``found`` with those records alone that count for ``question``."""

    def respond(self, question: Question, found: SubqueryResult) -> tuple[Response, list[Event]]:
        """Answer ``question`` from the best records of ``found``."""

    def assess(self, question: Question, response: Response, found: SubqueryResult) -> tuple[Assessment, list[Event]]:
        """Judge whether ``response`` answers ``question``."""

    def branch(self, question: Question, found: SubqueryResult) -> tuple[Branches, list[Event]]:
        """Return the smaller questions that ``question`` is answered by, none where it cannot be made smaller."""

    def span(self, question: Question, found: SubqueryResult) -> tuple[AnswerSpan, list[Event]]:
        """Return the words of a record that ``question`` is answered by, for the places that wait for them."""


VALID_SHARE = 0.9
"""Share of a question, by idf, that a record's title and one sentence of it hold where they answer it."""


class RuleHand:
    """Implements :class:`~shrag.serving.strategies.tree.policy.Hand`, for one question."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._bridges: dict[str, Bridge] = {}

    def query(self, question: Question) -> tuple[Question, list[Event]]:
        """Return the question itself."""
        return question, []

    def sift(self, question: Question, found: SubqueryResult) -> SubqueryResult:
        """Keep of what a bridge was searched by the records that it leads to."""
        bridge = self._bridges.get(question.text)
        return arrivals(bridge, found, self._analyzer) if bridge else found

    def respond(self, question: Question, found: SubqueryResult) -> tuple[Response, list[Event]]:
        """Return the sentence that, with its record's title, holds most of the question."""
        best, share = NO_RESPONSE, 0.0
        for analysed in found.records(RECORDS):
            record = analysed.record
            sentences = [record.text[start:end] for start, end in split_sentences(record.text)]
            title, *terms = (frozenset(each) for each in self._analyzer.terms([record.title, *sentences]))
            for sentence, held in zip(sentences, terms, strict=True):
                if (held_share := matched_share(found.terms, title | held)) > share:
                    best, share = Response(sentence, record.docid), held_share
        return best, []

    def assess(self, question: Question, response: Response, found: SubqueryResult) -> tuple[Assessment, list[Event]]:
        """Judge by the share of the question that the response and its record's title hold.

        A bridge that leads to a record has done what it is for.
        """
        title = next((each.record.title for each in found.candidates if each.record.docid == response.docid), "")
        terms = frozenset().union(*map(frozenset, self._analyzer.terms([title, response.text])))
        share = matched_share(found.terms, terms) if response.text else 0.0
        percent = round(100 * share)
        coherence = max(1, round(10 * share))
        arrived = question.text in self._bridges and bool(found.ranking.records)
        return Assessment(coherence, percent, (coherence + percent / 10) / 2, arrived or share >= VALID_SHARE), []

    def branch(self, question: Question, found: SubqueryResult) -> tuple[Branches, list[Event]]:
        """Branch by what the question joins, else by the names that its best records bring."""
        parts = split_coordination(question, parse_sentence)
        if parts:
            return Branches("comparison", tuple(parts)), []
        if question.text in self._bridges:
            return Branches("bridging", ()), []  # names of names lead anywhere
        bridges = {bridge.question(question.language).text: bridge for bridge in find_bridges(found, self._analyzer)}
        self._bridges |= bridges
        return Branches("bridging", tuple(bridges)), []

    def span(self, question: Question, found: SubqueryResult) -> tuple[AnswerSpan, list[Event]]:
        """Return none: what rules branch waits for nothing."""
        return AnswerSpan("", ""), []
