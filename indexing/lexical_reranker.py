"""Re-ranking without a model: BM25 of the whole question, and how much of it one sentence holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import chain
from typing import NamedTuple

from shrag.indexing.analysis import Analyzer
from shrag.indexing.bm25 import Bm25, idf, term_scores
from shrag.indexing.carrying import (
    Phrasebook,
    Spoken,
    all_terms,
    carry_over,
    compensation,
    is_korean,
    weigh_translations,
)
from shrag.indexing.engine import FieldStatistics, SearchEngine, Statistics
from shrag.models.reranker import Passage

SENTENCE_WEIGHT = 0.3
"""Weight of the best sentence beside BM25, both in units of idf.

Chosen on the development sets: right paragraph first on wiki-ko 0.914 without it and 0.932 with, on wiki-en 0.760 and
0.783; nDCG@10 on multihop-en 0.687 and 0.692, multihop-ko 0.827 and 0.823, CACM 0.499 and 0.498. It costs where
questions are long and ask for a topic rather than a fact: Cranfield 0.371 and 0.362.
"""

LONGEST_SENTENCE = 16
"""Terms that one sentence may count with; a longer stretch counts by overlapping pieces of as many.

A text without full stops, or with full stops that are not seen as such, is one sentence to the index: the best sentence
was the whole abstract then, whatever its length. nDCG@10 without this and with it: Cranfield 0.360 and 0.369, CACM
0.498 both, multihop-en 0.692 and 0.694, and over 500 questions each wiki-en 0.871 and 0.870, wiki-ko 0.964 both,
multihop-ko 0.820 both. Of 16, 20, 24, 30 and 40 it is the best on Cranfield; elsewhere they hardly differ.
"""

_NEARLY_ALL = 0.8
_STEP = 0.01


class LexicalReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` over one index's analyser and statistics.

    ``score = bm25(question, passage) + SENTENCE_WEIGHT · max over sentences of Σ idf(terms in the title or sentence)``
    """

    name = "BM25 + best sentence"
    is_model = False

    def __init__(
        self, analyzer: Analyzer, engine: SearchEngine, parameters: Bm25, glossary: Phrasebook | None = None
    ) -> None:
        self._analyzer = analyzer
        self._engine = engine
        self._parameters = parameters
        self._glossary = glossary

    def without_glossary(self) -> LexicalReranker:
        """Return one that ranks by the question's own words alone."""
        return LexicalReranker(self._analyzer, self._engine, self._parameters)

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; a passage that shares no term with the question scores 0."""
        (tokens,) = self._analyzer.tokens([question])
        spoken = carry_over(tokens, self._glossary)
        statistics = self._engine.statistics(all_terms(spoken))
        scorer = _Scorer(spoken, statistics, self._parameters)
        judged = [scorer.judge(passage) for passage in passages]
        own = max((each.score for each in judged if not each.carried and each.held >= _NEARLY_ALL), default=math.inf)
        return [max(each.score, _behind(each.made_up, own)) if each.carried else each.score for each in judged]


def _behind(made_up: float, own: float) -> float:
    """Return the score of a passage of the other language, in its order but behind ``own``.

    What was only made up for does not overtake what holds nearly all of the question in the question's own words.
    """
    return made_up if made_up < (1 - _STEP) * own else own * (1 - _STEP * own / made_up)


class _Judged(NamedTuple):
    """A passage's ``score``, and for one of the other language what it is ``made_up`` to.

    ``held`` is the share of the question's idf that it holds in the question's own words.
    """

    score: float
    carried: bool
    made_up: float
    held: float


class _Scorer:
    """One question's words, their translations and what each weighs."""

    def __init__(self, spoken: Sequence[Spoken], statistics: Statistics, parameters: Bm25) -> None:
        self._statistics = statistics
        self._parameters = parameters
        self._words = [
            (
                Counter(token.term for token in each.tokens),
                [(Counter(way.terms), way.weight) for way in ways],
            )
            for each, ways in zip(spoken, weigh_translations(spoken, statistics.contents), strict=True)
        ]
        # In a sentence each of the question's terms counts once, for the word that has it first.
        counted: set[str] = set()
        self._first = []
        for own, ways in self._words:
            if first := {term: 1 for term in own if term not in counted}:
                counted.update(first)
                self._first.append((first, ways))
        contents = statistics.contents
        self._korean = is_korean(term for each in spoken for term in each.terms)
        self._carried = any(each.translations for each in spoken)
        self._compensation = compensation(spoken, contents)
        self._idf = {
            term: idf(frequency, contents.documents) for term, frequency in contents.document_frequencies.items()
        }
        self._weights = [(max(map(self._idf.__getitem__, own)), own) for own, _ in self._words]
        self._whole = sum(weight for weight, _ in self._weights)
        self._asked = frozenset(self._idf)
        self._held = cache(self._weigh)

    def judge(self, passage: Passage) -> _Judged:
        contents = [*passage.title_terms, *chain.from_iterable(passage.sentence_terms)]
        scores = self._term_scores(contents, self._statistics.contents, 1.0)
        for term, score in self._term_scores(
            passage.title_terms, self._statistics.title, self._parameters.title_boost
        ).items():
            scores[term] = scores.get(term, 0.0) + score
        # A document of the question's own language is judged by the question's own words.
        carried = self._carried and is_korean(contents) != self._korean
        total = sum(
            max([_sum(scores, own), *(weight * _sum(scores, way) for way, weight in ways if carried)])
            for own, ways in self._words
        )
        total += SENTENCE_WEIGHT * self._best_sentence(passage, carried=carried)
        return _Judged(total, carried, total * self._compensation, self._held_share(frozenset(contents)))

    def _held_share(self, terms: AbstractSet[str]) -> float:
        held = sum(weight for weight, own in self._weights if not terms.isdisjoint(own))
        return held / self._whole if self._whole else 0.0

    def _term_scores(self, terms: Sequence[str], field: FieldStatistics, weight: float) -> dict[str, float]:
        return {
            term: weight * score
            for term, score in term_scores(self._idf.keys(), terms, field, self._parameters).items()
        }

    def _best_sentence(self, passage: Passage, *, carried: bool) -> float:
        """Return the largest idf of the question's words that the title and one sentence hold together."""
        in_title = self._asked.intersection(passage.title_terms)
        # Most sentences hold few of the question's terms, and many hold the same.
        held = {
            in_title,
            *(
                in_title | self._asked.intersection(piece)
                for terms in passage.sentence_terms
                for piece in _pieces(terms)
            ),
        }
        return max(self._held(terms, carried) for terms in held)

    def _weigh(self, terms: frozenset[str], carried: bool) -> float:
        held = {term: self._idf[term] for term in terms}
        return sum(
            max([_sum(held, first), *(weight * _sum(held, way) for way, weight in ways if carried)])
            for first, ways in self._first
        )


def _pieces(terms: Sequence[str]) -> Iterable[Sequence[str]]:
    """Yield a sentence's terms; those of a longer one than sentences are in overlapping pieces."""
    if len(terms) <= LONGEST_SENTENCE:
        return (terms,)
    half = LONGEST_SENTENCE // 2
    return (terms[start : start + LONGEST_SENTENCE] for start in range(0, len(terms) - half, half))


def _sum(scores: Mapping[str, float], terms: Mapping[str, int]) -> float:
    return sum(scores.get(term, 0.0) * count for term, count in terms.items())
