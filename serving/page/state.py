"""The state of a page: the events of its question so far, the answer's language, and the terms to highlight."""

from __future__ import annotations

from dataclasses import dataclass, field

from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.request_framing import framing_spans
from shrag.indexing.translation.query_translation import least_distinctive_idf
from shrag.serving.events import Keyword, Keywords
from shrag.serving.page.request import PageRequest
from shrag.serving.request import AnswerLanguage
from shrag.serving.results import EventState


@dataclass(slots=True)
class PageState(EventState):
    """The events of a question so far; ``cached`` says whether the answer was made for an earlier question."""

    question: str
    language: AnswerLanguage
    cached: bool = False
    _terms: frozenset[str] = field(default=frozenset(), init=False, repr=False)

    def matching_terms(self, analyzer: Analyzer) -> frozenset[str]:
        """Return the terms to highlight: those of the distinctive keywords and of their translations.

        If there are no such keywords, they are the terms of the question. They are analyzed once.
        """
        if not self._terms and self.keywords is not None:
            keywords = _distinctive_keywords(self.keywords, self.language)
            own = {term for keyword in keywords for term in keyword.terms}
            translated = analyzer.terms([text for keyword in keywords for text in keyword.translations])
            self._terms = frozenset(own or content_terms(self.question, analyzer)).union(*translated)
        return self._terms


def _distinctive_keywords(keywords: Keywords, language: AnswerLanguage) -> list[Keyword]:
    """Return the keywords that say what the question is about: all of them, if they are in a model's order.

    In a Korean question, a word in Latin letters is such a keyword, however frequent it is in English records.
    """
    if keywords.order == "model":
        return list(keywords.keywords)
    least = least_distinctive_idf(keyword.weight for keyword in keywords.keywords)
    return [
        keyword
        for keyword in keywords.keywords
        if keyword.weight >= least or (language == "ko" and detect_language(keyword.text) == "en")
    ]


def content_terms(question: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the terms of a question without those that only frame the request; all terms if no others remain."""
    (tokens,) = analyzer.tokens([question])
    framing = framing_spans(question)
    contents = [
        token.term for token in tokens if not any(start <= token.start and token.end <= end for start, end in framing)
    ]
    return frozenset(contents or [token.term for token in tokens])


def tree_language(state: PageState, request: PageRequest) -> AnswerLanguage:
    """Return the language of the tree's questions."""
    # A question of only digits or signs is in no language. Then the interface's language is the better guess.
    return request.language if detect_language(state.question) == "und" else state.language
