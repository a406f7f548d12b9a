"""A question as an index understands it: tokens, translations and term statistics, computed once for each question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shrag.indexing.analysis.analyzer import Analyzer, Token
from shrag.indexing.glossary.query_translation import (
    BilingualLexicon,
    QuerySegment,
    Translation,
    all_terms,
    translate_query,
    weight_translations,
)
from shrag.indexing.search_engine import SearchEngine, Statistics


@dataclass(frozen=True, slots=True)
class AnalyzedQuestion:
    """A question's tokens and what queries, ranking and extracts need to know of them.

    Attributes:
        text: The question.
        tokens: Its tokens by rising start, stop words left out.
        segments: The tokens in groups that share characters, compounds last.
        translations: The weighted translations of each segment, the surest first.
        statistics: Document frequencies of all terms of the segments and of their translations.
        lexicon: What it was translated by, None where it was not.
    """

    text: str
    tokens: tuple[Token, ...]
    segments: tuple[QuerySegment, ...]
    translations: tuple[tuple[Translation, ...], ...]
    statistics: Statistics
    lexicon: BilingualLexicon | None

    @property
    def terms(self) -> list[str]:
        """The terms of the question in its order, repeated ones too."""
        return [token.term for token in self.tokens]


def analyze_question(
    text: str, analyzer: Analyzer, engine: SearchEngine, lexicon: BilingualLexicon | None = None
) -> AnalyzedQuestion:
    """Analyse and translate a question, or another text that is compared with records; no lexicon, no translation."""
    (tokens,) = analyzer.tokens([text])
    segments = translate_query(tokens, lexicon)
    statistics = engine.statistics(all_terms(segments))
    weighted: Sequence[tuple[Translation, ...]] = weight_translations(segments, statistics.contents)
    return AnalyzedQuestion(text, tuple(tokens), tuple(segments), tuple(weighted), statistics, lexicon)
