"""Lexical reranker (BM25 + best sentence)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.bm25 import Bm25, FieldScores
from shrag.indexing.glossary.query_translation import (
    Phrasebook,
    Spoken,
    all_terms,
    carry_over,
    compensation,
    is_korean,
    weigh_translations,
)
from shrag.indexing.search_engine import SearchEngine, Statistics
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
        if not any(each.carried for each in judged):
            return [each.score for each in judged]
        whole = (each.score for each in judged if not each.carried and scorer.share(each.held) >= _NEARLY_ALL)
        own = max(whole, default=math.inf)
        return [max(each.score, _behind(each.made_up, own)) if each.carried else each.score for each in judged]


def _behind(made_up: float, own: float) -> float:
    """Return the score of a passage of the other language, in its order but behind ``own``.

    What was only made up for does not overtake what holds nearly all of the question in the question's own words.
    """
    return made_up if made_up < (1 - _STEP) * own else own * (1 - _STEP * own / made_up)


class _Judged(NamedTuple):
    """A passage's ``score``, and for one of the other language what it is ``made_up`` to.

    ``held`` are the question's terms that it has.
    """

    score: float
    carried: bool
    made_up: float
    held: Mapping[str, float]


_Terms = tuple[tuple[str, int], ...]


class _Word(NamedTuple):
    """A word's terms with how often it has each, and its translations' with their weights."""

    own: _Terms
    ways: tuple[tuple[_Terms, float], ...]


class _Scorer:
    """One question's words, their translations and what each weighs.

    A passage holds few of a question's terms, so they are picked out of it once, and only the words that have one of
    them are added up: the others add nothing.
    """

    def __init__(self, spoken: Sequence[Spoken], statistics: Statistics, parameters: Bm25) -> None:
        contents = statistics.contents
        words = [
            (
                Counter(token.term for token in each.tokens),
                tuple((tuple(Counter(way.terms).items()), way.weight) for way in ways),
            )
            for each, ways in zip(spoken, weigh_translations(spoken, contents), strict=True)
        ]
        self._words = [_Word(tuple(own.items()), ways) for own, ways in words]
        # In a sentence each of the question's terms counts once, for the word that has it first.
        counted: set[str] = set()
        self._first = []
        for own, ways in words:
            if first := tuple((term, 1) for term in own if term not in counted):
                counted.update(own)
                self._first.append(_Word(first, ways))
        self._korean = is_korean(term for each in spoken for term in each.terms)
        self._carried = any(each.translations for each in spoken)
        self._compensation = compensation(spoken, contents)
        self._asked = frozenset(contents.document_frequencies)
        self._in_contents = FieldScores(self._asked, contents, parameters)
        self._in_title = FieldScores(self._asked, statistics.title, parameters)
        self._idf = self._in_contents.idf
        self._weights = [max(self._idf[term] for term in own) for own, _ in words]
        self._whole = sum(self._weights)
        self._title_boost = parameters.title_boost
        self._having = _having(self._words)
        self._having_first = _having(self._first)
        self._sentences: dict[tuple[frozenset[str], bool], float] = {}

    def judge(self, passage: Passage) -> _Judged:
        asked = self._asked.__contains__
        title = list(filter(asked, passage.title_terms))
        sentences = [list(filter(asked, terms)) for terms in passage.sentence_terms]
        length = len(passage.title_terms) + sum(map(len, passage.sentence_terms))
        scores = self._in_contents.of(Counter(chain(title, *sentences)), length)
        for term, score in self._in_title.of(Counter(title), len(passage.title_terms)).items():
            scores[term] += self._title_boost * score
        # A document of the question's own language is judged by the question's own words.
        carried = self._carried and (is_korean(chain(passage.title_terms, *passage.sentence_terms)) != self._korean)
        total = _sum_of_words(self._words, self._having, scores, carried=carried)
        in_title = frozenset(title)
        # Most sentences hold few of the question's terms, and many hold the same.
        held = {in_title}
        for terms, found in zip(passage.sentence_terms, sentences, strict=True):
            if len(terms) > LONGEST_SENTENCE and len(found) > 1:
                held.update(map(in_title.union, _pieces(terms, self._asked)))
            elif found:
                held.add(in_title.union(found))
        total += SENTENCE_WEIGHT * max(self._weigh(terms, carried) for terms in held)
        return _Judged(total, carried, total * self._compensation, scores)

    def share(self, terms: Mapping[str, float]) -> float:
        """Return the share of the question's idf that a passage of these terms holds in the question's own words."""
        held = sum(
            weight
            for weight, word in zip(self._weights, self._words, strict=True)
            if any(term in terms for term, _ in word.own)
        )
        return held / self._whole if self._whole else 0.0

    def _weigh(self, terms: frozenset[str], carried: bool) -> float:
        """Return the idf of the question's words that a sentence of these terms holds."""
        known = self._sentences.get((terms, carried))
        if known is None:
            held = {term: self._idf[term] for term in terms}
            known = _sum_of_words(self._first, self._having_first, held, carried=carried)
            self._sentences[terms, carried] = known
        return known


def _pieces(terms: Sequence[str], asked: AbstractSet[str]) -> Iterable[AbstractSet[str]]:
    """Return the ``asked`` terms of each overlapping piece of a long sentence, of the pieces that have any.

    A piece has :data:`LONGEST_SENTENCE` terms and begins in the middle of the one before.
    """
    half = LONGEST_SENTENCE // 2
    last = (len(terms) - half - 1) // half * half
    pieces: dict[int, set[str]] = {}
    for place, term in enumerate(terms):
        if term in asked:
            begun = place - place % half
            for start in (begun - half, begun):
                if 0 <= start <= last:
                    pieces.setdefault(start, set()).add(term)
    return pieces.values()


def _having(words: Sequence[_Word]) -> dict[str, tuple[int, ...]]:
    """Return, for each term, the words that have it or are translated by it, by their places."""
    places: dict[str, dict[int, None]] = {}
    for place, word in enumerate(words):
        for term, _ in chain(word.own, *(way for way, _ in word.ways)):
            places.setdefault(term, {})[place] = None
    return {term: tuple(found) for term, found in places.items()}


def _sum_of_words(
    words: Sequence[_Word], having: Mapping[str, tuple[int, ...]], scores: Mapping[str, float], *, carried: bool
) -> float:
    """Add up the words, each by its own terms' scores or, where it is ``carried``, by those of its best translation."""
    total = 0.0
    # In the question's order, so that the sum is the same to the last bit however it was come by.
    for place in sorted({place for term in scores for place in having.get(term, ())}):
        own, ways = words[place]
        best = _sum(scores, own)
        if carried:
            for way, weight in ways:
                best = max(best, weight * _sum(scores, way))
        total += best
    return total


def _sum(scores: Mapping[str, float], terms: _Terms) -> float:
    total = 0.0
    for term, count in terms:
        if term in scores:
            total += scores[term] * count
    return total
