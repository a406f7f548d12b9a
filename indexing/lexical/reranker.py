"""Rerank passages by BM25 and by the sentence that has most of the question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.bm25 import Bm25, FieldScores, idf
from shrag.indexing.glossary.query_translation import AnalyzedQuestion, BilingualLexicon, analyze_question, is_korean
from shrag.indexing.search_engine import SearchEngine
from shrag.models.reranker import Passage

SENTENCE_WEIGHT = 0.3
"""Weight of the best sentence beside BM25, both in units of idf.

Chosen on the development sets: right paragraph first on wiki-ko 0.914 without it and 0.932 with, on wiki-en 0.760 and
0.783; nDCG@10 on multihop-en 0.687 and 0.692, multihop-ko 0.827 and 0.823, CACM 0.499 and 0.498. It costs where
questions are long and ask for a topic rather than a fact: Cranfield 0.371 and 0.362.
"""

LONGEST_SENTENCE = 16
"""Most terms of a sentence; a longer one is split into overlapping pieces.

A text without recognised full stops is a single sentence, which would have all of the question's terms. nDCG@10 without
this limit and with it: Cranfield 0.360 and 0.369, CACM
0.498 both, multihop-en 0.692 and 0.694, and over 500 questions each wiki-en 0.871 and 0.870, wiki-ko 0.964 both,
multihop-ko 0.820 both. Of 16, 20, 24, 30 and 40 it is the best on Cranfield; elsewhere they hardly differ.
"""

_NEARLY_ALL = 0.8
_STEP = 0.01


class LexicalReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` with an index's analyzer and statistics.

    ``score = bm25(question, passage) + SENTENCE_WEIGHT · max over sentences of Σ idf(terms in the title or sentence)``
    """

    name = "BM25 + best sentence"
    is_model = False

    def __init__(
        self, analyzer: Analyzer, engine: SearchEngine, parameters: Bm25, lexicon: BilingualLexicon | None = None
    ) -> None:
        self.parameters = parameters
        self.lexicon = lexicon
        self._analyzer = analyzer
        self._engine = engine

    def without_glossary(self) -> LexicalReranker:
        """Return a re-ranker without translations of the question."""
        return LexicalReranker(self._analyzer, self._engine, self.parameters)

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; a passage that shares no term with the question scores 0."""
        analyzed = analyze_question(question, self._analyzer, self._engine, self.lexicon)
        return QuestionReranker(analyzed, self.parameters).score(question, passages)


@dataclass(frozen=True, slots=True)
class QuestionReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` for one analyzed question."""

    question: AnalyzedQuestion
    parameters: Bm25
    name = LexicalReranker.name
    is_model = LexicalReranker.is_model

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; raises ``ValueError`` for another question."""
        if question != self.question.text:
            raise ValueError(f"This re-ranker is for the question {self.question.text!r}, got {question!r}.")
        scorer = _Scorer(self.question, self.parameters)
        judged = [scorer.judge(passage) for passage in passages]
        if not any(each.translated for each in judged):
            return [each.score for each in judged]
        own_scores = (each.score for each in judged if not each.translated and scorer.share(each.held) >= _NEARLY_ALL)
        own = max(own_scores, default=math.inf)
        return [max(each.score, _behind(each.compensated, own)) if each.translated else each.score for each in judged]


class _Scorer:
    """One question's segments, their translations and what each weighs.

    A passage holds few of a question's terms. They are picked out of it once, and only the segments of the question
    that have one of them are added up: the others add nothing.
    """

    def __init__(self, question: AnalyzedQuestion, parameters: Bm25) -> None:
        contents = question.statistics.contents
        terms = [
            (
                Counter(token.term for token in segment.tokens),
                tuple((tuple(Counter(each.terms).items()), each.weight) for each in translations),
            )
            for segment, translations in zip(question.segments, question.translations, strict=True)
        ]
        self._segments = [_SegmentTerms(tuple(own.items()), translations) for own, translations in terms]
        # In a sentence each of the question's terms counts once, for the segment that has it first.
        counted: set[str] = set()
        self._first = []
        for own, translations in terms:
            if first := tuple((term, 1) for term in own if term not in counted):
                counted.update(own)
                self._first.append(_SegmentTerms(first, translations))
        self._korean = is_korean([term for segment in question.segments for term in segment.terms])
        self._is_translated = any(question.translations)
        self._compensation = question.compensation
        self._query = frozenset(contents.document_frequencies)
        title = question.statistics.title
        in_title = {term: idf(title.document_frequencies[term], title.documents) for term in self._query}
        self._in_contents = FieldScores(question.idf, contents.average_length, parameters)
        self._in_title = FieldScores(in_title, title.average_length, parameters)
        self._idf = question.idf
        self._weights = [max(self._idf[term] for term in own) for own, _ in terms]
        self._total_weight = sum(self._weights)
        self._title_boost = parameters.title_boost
        self._having = _having(self._segments)
        self._having_first = _having(self._first)
        self._sentences: dict[tuple[frozenset[str], bool], float] = {}

    def judge(self, passage: Passage) -> _Judged:
        in_query = self._query.__contains__
        title = list(filter(in_query, passage.title_terms))
        sentences = [list(filter(in_query, terms)) for terms in passage.sentence_terms]
        length = len(passage.title_terms) + sum(map(len, passage.sentence_terms))
        scores = self._in_contents.of(Counter(chain(title, *sentences)), length)
        for term, score in self._in_title.of(Counter(title), len(passage.title_terms)).items():
            scores[term] += self._title_boost * score
        # A document of the question's own language is judged by the question's own words.
        translated = self._is_translated and (
            is_korean(chain(passage.title_terms, *passage.sentence_terms)) != self._korean
        )
        total = _sum_segments(self._segments, self._having, scores, translated=translated)
        in_title = frozenset(title)
        # Most sentences hold few of the question's terms, and many hold the same.
        held = {in_title}
        for terms, found in zip(passage.sentence_terms, sentences, strict=True):
            if len(terms) > LONGEST_SENTENCE and len(found) > 1:
                held.update(map(in_title.union, _pieces(terms, self._query)))
            elif found:
                held.add(in_title.union(found))
        total += SENTENCE_WEIGHT * max(self._weigh(terms, translated) for terms in held)
        return _Judged(total, translated, total * self._compensation, scores)

    def share(self, terms: Mapping[str, float]) -> float:
        """Return the share of the question's idf that a passage of these terms holds in the question's own words."""
        held = sum(
            weight
            for weight, segment in zip(self._weights, self._segments, strict=True)
            if any(term in terms for term, _ in segment.own)
        )
        return held / self._total_weight if self._total_weight else 0.0

    def _weigh(self, terms: frozenset[str], translated: bool) -> float:
        """Return the idf of the question's segments that a sentence of these terms holds."""
        known = self._sentences.get((terms, translated))
        if known is None:
            held = {term: self._idf[term] for term in terms}
            known = _sum_segments(self._first, self._having_first, held, translated=translated)
            self._sentences[terms, translated] = known
        return known


class _Judged(NamedTuple):
    """A passage's ``score``; of one in the other language also the ``compensated`` score.

    ``held`` are the question's terms that it has.
    """

    score: float
    translated: bool
    compensated: float
    held: Mapping[str, float]


_TermCounts = tuple[tuple[str, int], ...]


class _SegmentTerms(NamedTuple):
    """A segment's terms with how often it has each, and its translations' with their weights."""

    own: _TermCounts
    translations: tuple[tuple[_TermCounts, float], ...]


def _behind(compensated: float, own: float) -> float:
    """Return the score of a passage of the other language, in its order but behind ``own``.

    Compensation must not lift it over what holds nearly all of the question in the question's own words.
    """
    return compensated if compensated < (1 - _STEP) * own else own * (1 - _STEP * own / compensated)


def _pieces(terms: Sequence[str], query: AbstractSet[str]) -> Iterable[AbstractSet[str]]:
    """Return the ``query`` terms of each overlapping piece of a long sentence, of the pieces that have any.

    A piece has :data:`LONGEST_SENTENCE` terms and begins in the middle of the one before.
    """
    half = LONGEST_SENTENCE // 2
    last = (len(terms) - half - 1) // half * half
    pieces: dict[int, set[str]] = {}
    for position, term in enumerate(terms):
        if term in query:
            block = position - position % half
            for start in (block - half, block):
                if 0 <= start <= last:
                    pieces.setdefault(start, set()).add(term)
    return pieces.values()


def _having(segments: Sequence[_SegmentTerms]) -> dict[str, tuple[int, ...]]:
    """Return, for each term, the positions of the segments that have it or are translated by it."""
    positions: dict[str, dict[int, None]] = {}
    for position, segment in enumerate(segments):
        for term, _ in chain(segment.own, *(terms for terms, _ in segment.translations)):
            positions.setdefault(term, {})[position] = None
    return {term: tuple(found) for term, found in positions.items()}


def _sum_segments(
    segments: Sequence[_SegmentTerms],
    having: Mapping[str, tuple[int, ...]],
    scores: Mapping[str, float],
    *,
    translated: bool,
) -> float:
    """Add up the segments, each by its own terms' scores or, where ``translated``, by those of its best translation."""
    total = 0.0
    # In the question's order, so that the sum is the same to the last bit however it was come by.
    for position in sorted({position for term in scores for position in having.get(term, ())}):
        own, translations = segments[position]
        best = _sum(scores, own)
        if translated:
            for terms, weight in translations:
                best = max(best, weight * _sum(scores, terms))
        total += best
    return total


def _sum(scores: Mapping[str, float], terms: _TermCounts) -> float:
    total = 0.0
    for term, count in terms:
        if term in scores:
            total += scores[term] * count
    return total
