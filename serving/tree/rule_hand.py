"""Growing a tree without a model: overlap judges, coordination and names branch."""

from __future__ import annotations

from shrag.corpora.sentences import split_sentences
from shrag.indexing.analysis import Analyzer
from shrag.serving.decomposition.coordination import parse_sentence, split_coordination
from shrag.serving.events import Assessment, Event
from shrag.serving.planning.bridges import Bridge, arrivals, find_bridges
from shrag.serving.planning.finding import Found
from shrag.serving.planning.integration import Span
from shrag.serving.planning.responding import NO_RESPONSE, Response
from shrag.serving.question import Question
from shrag.serving.tree.hand import RECORDS, Branches
from shrag.serving.words import matched_share

VALID_SHARE = 0.9
"""Share of a question, by idf, that a record's title and one sentence of it hold where they answer it."""


class RuleHand:
    """Implements :class:`~shrag.serving.tree.hand.Hand`, for one question."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._bridges: dict[str, Bridge] = {}

    def query(self, question: Question) -> tuple[Question, list[Event]]:
        """Return the question itself."""
        return question, []

    def sift(self, question: Question, found: Found) -> Found:
        """Keep of what a bridge was searched by the records that it leads to."""
        bridge = self._bridges.get(question.text)
        return arrivals(bridge, found, self._analyzer) if bridge else found

    def respond(self, question: Question, found: Found) -> tuple[Response, list[Event]]:
        """Return the sentence that, with its record's title, holds most of the question."""
        best, share = NO_RESPONSE, 0.0
        for analysed in found.records(RECORDS):
            record = analysed.record
            sentences = [record.text[start:end] for start, end in split_sentences(record.text)]
            title, *terms = (frozenset(each) for each in self._analyzer.terms([record.title, *sentences]))
            for sentence, held in zip(sentences, terms, strict=True):
                if (held_share := matched_share(found.words, title | held)) > share:
                    best, share = Response(sentence, record.docid), held_share
        return best, []

    def assess(self, question: Question, response: Response, found: Found) -> tuple[Assessment, list[Event]]:
        """Judge by the share of the question that the response and its record's title hold.

        A bridge that leads to a record has done what it is for.
        """
        title = next((each.record.title for each in found.pool if each.record.docid == response.docid), "")
        terms = frozenset().union(*map(frozenset, self._analyzer.terms([title, response.text])))
        share = matched_share(found.words, terms) if response.text else 0.0
        percent = round(100 * share)
        coherence = max(1, round(10 * share))
        arrived = question.text in self._bridges and bool(found.ranking.records)
        return Assessment(coherence, percent, (coherence + percent / 10) / 2, arrived or share >= VALID_SHARE), []

    def branch(self, question: Question, found: Found) -> tuple[Branches, list[Event]]:
        """Branch by what the question joins, else by the names that its best records bring."""
        parts = split_coordination(question, parse_sentence)
        if parts:
            return Branches("comparison", tuple(parts)), []
        if question.text in self._bridges:
            return Branches("bridging", ()), []  # names of names lead anywhere
        bridges = {bridge.question(question.language).text: bridge for bridge in find_bridges(found, self._analyzer)}
        self._bridges |= bridges
        return Branches("bridging", tuple(bridges)), []

    def span(self, question: Question, found: Found) -> tuple[Span, list[Event]]:
        """Return none: what rules branch waits for nothing."""
        return Span("", ""), []
