"""Fold events into what a page shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.serving.page.request import PageRequest
from shrag.serving.request import AnswerLanguage
from shrag.serving.results import AskResult, EventState


@dataclass(slots=True)
class PageState(EventState):
    """What has happened to a question so far; ``cached`` says that the answer was made for an earlier question."""

    question: str
    language: AnswerLanguage
    cached: bool = False
    _terms: frozenset[str] = field(default=frozenset(), init=False, repr=False)

    def matching_terms(self, analyzer: Analyzer) -> frozenset[str]:
        """Return the terms that a record's text is marked by: the question's, and its translations'; analysed once."""
        if not self._terms and self.keywords is not None:
            translations = [text for keyword in self.keywords.keywords for text in keyword.translations]
            self._terms = frozenset().union(*analyzer.terms([self.question, *translations]))
        return self._terms


def page_state_of(result: AskResult) -> PageState:
    """Return the state of a question that has been answered."""
    search = result.search
    return PageState(
        search.question.text,
        search.question.language,
        cached=search.timings.cached,
        keywords=search.keywords,
        queries=search.queries,
        hits=search.hits,
        ranking=search.ranking,
        answer=result.answer,
        timings=search.timings,
        nodes={node.number: node for node in search.nodes},
        truncated=search.truncated,
        model_calls=search.model_calls,
        fallbacks=search.fallbacks,
    )


def answer_language(seen: PageState, asked: PageRequest) -> AnswerLanguage:
    """Return the language of the answer, and of the questions asked on the way to it."""
    # A question of digits or signs alone is in no language: the reader's is the better guess.
    return asked.language if detect_language(seen.question) == "und" else seen.language
