"""Re-ranking without a model: BM25 of the whole question, and how much of it one sentence holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from shrag.indexing.analysis import Analyzer
from shrag.indexing.bm25 import Bm25, bm25_score, idf
from shrag.indexing.engine import SearchEngine
from shrag.models.reranker import Passage

SENTENCE_WEIGHT = 0.3
"""Weight of the best sentence beside BM25, both in units of idf.

Chosen on the development sets: right paragraph first on wiki-ko 0.914 without it and 0.932 with, on wiki-en 0.760 and
0.783; nDCG@10 on multihop-en 0.687 and 0.692, multihop-ko 0.827 and 0.823, CACM 0.499 and 0.498. It costs where
questions are long and ask for a topic rather than a fact: Cranfield 0.371 and 0.362.
"""


class LexicalReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` over one index's analyser and statistics.

    ``score = bm25(question, passage) + SENTENCE_WEIGHT · max over sentences of Σ idf(terms in the title or sentence)``
    """

    name = "BM25 + best sentence"
    is_model = False

    def __init__(self, analyzer: Analyzer, engine: SearchEngine, parameters: Bm25) -> None:
        self._analyzer = analyzer
        self._engine = engine
        self._parameters = parameters

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; a passage that shares no term with the question scores 0."""
        (question_terms,) = self._analyzer.terms([question])
        query = Counter(question_terms)
        parameters = self._parameters
        statistics = self._engine.statistics(list(query))
        contents, title = statistics.contents, statistics.title
        weights = {term: idf(contents.document_frequencies[term], contents.documents) for term in query}
        return [
            bm25_score(
                query, [*passage.title_terms, *chain.from_iterable(passage.sentence_terms)], contents, parameters
            )
            + parameters.title_boost * bm25_score(query, passage.title_terms, title, parameters)
            + SENTENCE_WEIGHT * _best_sentence(passage, weights)
            for passage in passages
        ]


def _best_sentence(passage: Passage, weights: Mapping[str, float]) -> float:
    """Return the largest Σ weight of the question's terms that the title and one sentence hold together."""
    in_title = weights.keys() & set(passage.title_terms)
    in_sentences = [weights.keys() & set(terms) for terms in passage.sentence_terms]
    return max(sum(weights[term] for term in in_title | terms) for terms in [set(), *in_sentences])
