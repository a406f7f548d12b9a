"""Three ways to say which keyword matters most: tf-idf, a language model's own order, log-entropy (SHRAG paper, 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shrag.indexing.engine import SearchEngine
from shrag.serving.events import KeywordOrder
from shrag.serving.words import Word

_MOST_POSTINGS = 5_000
"""Documents of a term that its entropy is estimated over; a rarer term's is exact."""


def rank_keywords(words: Sequence[Word], order: KeywordOrder, engine: SearchEngine) -> list[tuple[Word, float]]:
    """Return the words with their weights, largest first, ties as they came.

    ``words`` come in the order a language model gave them, or else in that of the question.
    """
    if order == "model":
        return [(word, 1 / place) for place, word in enumerate(words, 1)]
    if order == "entropy":
        weights = [word.uses * log_entropy(word, engine) for word in words]
    else:
        weights = [word.uses * word.idf for word in words]
    return sorted(zip(words, weights, strict=True), key=lambda weighed: -weighed[1])


def log_entropy(word: Word, engine: SearchEngine) -> float:
    """Return how unevenly the index's documents use a word: 1 where one document has it, 0 where all do alike.

    ``g = 1 + Σ p log p / log N`` with ``p`` the share of the term's uses that a document has, and N documents. Source:
    Dumais, *Improving the retrieval of information from external sources*, Behavior Research Methods 23 (1991). Of
    several terms the most uneven one that the index has counts.
    """
    statistics = engine.statistics(word.terms).contents
    weights = [
        _log_entropy(engine.frequencies(term, _MOST_POSTINGS), documents, statistics.documents)
        for term in word.terms
        if (documents := statistics.document_frequencies[term])
    ]
    return max(weights, default=0.0)


def _log_entropy(frequencies: Sequence[int], having: int, documents: int) -> float:
    """``frequencies`` are those of the term's first documents, which stand for all ``having`` it."""
    if documents < 2:
        return 0.0
    total = sum(frequencies)
    entropy = -sum(count / total * math.log(count / total) for count in frequencies)
    # Uses spread over the documents not read as they are over those read.
    entropy += math.log(having / len(frequencies))
    return 1 - entropy / math.log(documents)
