"""Rerank passages by BM25, by their best sentence, and by words that follow each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, pairwise, product

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.light_words import LIGHT_WEIGHT
from shrag.indexing.analyzed_record import AnalyzedRecord, to_passage
from shrag.indexing.bm25 import Bm25, FieldScores, idf
from shrag.indexing.lexical.packed_question import (
    QuestionWeights,
    RecordScore,
    RecordScorer,
    SegmentTerms,
    TermCounts,
    pack_question,
)
from shrag.indexing.search_engine import SearchEngine
from shrag.indexing.translation.phrase_translation import BilingualLexicon
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question
from shrag.models.reranker import Passage

SENTENCE_WEIGHT = 0.3
"""Weight of the best sentence beside BM25, both in units of idf.

Chosen on the development sets, without / with the best sentence:

- right paragraph first: wiki-ko 0.914 / 0.932, wiki-en 0.760 / 0.783
- nDCG@10: multihop-en 0.687 / 0.692, multihop-ko 0.827 / 0.823, CACM 0.499 / 0.498
"""

SENTENCE_WORDS = 6
"""Words of a question up to which the best sentence has its whole weight.

For a longer question of ``n`` words it has ``SENTENCE_WORDS / n`` of its weight. A longer question asks for a topic
rather than a fact, and no single sentence holds a topic. nDCG@10 with the whole weight / with this one:

- Cranfield 0.369 / 0.371, CACM 0.502 / 0.506, other sets equal
"""

LONGEST_SENTENCE = 16
"""Most terms of a sentence; a longer one is split into overlapping pieces.

A text without recognized full stops is a single sentence, which would have all of the question's terms. nDCG@10
without / with this limit:

- Cranfield 0.360 / 0.369, CACM 0.498 / 0.498, multihop-en 0.692 / 0.694
- 500 questions each: wiki-en 0.871 / 0.870, wiki-ko 0.964 / 0.964, multihop-ko 0.820 / 0.820

Of 16, 20, 24, 30 and 40, this is the best value on Cranfield; elsewhere they hardly differ.
"""


PAIR_WEIGHT = 0.2
"""Weight of two words that follow each other in the question and in a passage, in units of the commoner one's idf.

This is the ordered window of the sequential dependence model (Metzler and Croft 2005). Like the weight of the best
sentence, it is less for long questions: with the whole weight Cranfield falls to 0.338. Right paragraph first without /
with pairs:

- wiki-ko 0.931 / 0.937, wiki-en 0.774 / 0.785
- multihop-en 0.819 / 0.827, multihop-ko 0.855 / 0.848
- Cranfield 0.360 / 0.356, CACM 0.673 / 0.673
- questions of four language pairs 0.750 / 0.750
"""


MOST_OF_WORD = 1.2
"""The most that a word of the question counts, in units of its idf.

A single term can reach about as much: 1 in the contents and 0.2 (``title_boost``) in the title. *GPT-4* or *long-term*
is searched for as three terms, which together would count three times. Below the limit, ``x`` times the idf counts as
``x ** 0.75``. So a record that has more of the question's words ranks before a record that has fewer of them more
often. Right record first without / with limit and power:

- questions of four language pairs 0.774 / 0.798
- 699 titles in the other language 0.516 / 0.564
- the demonstration 0.872 / 0.897
- wiki-ko and wiki-en in one index 0.936 / 0.936 and 0.776 / 0.786, alone 0.939 / 0.941 and 0.777 / 0.789
- multihop-ko and multihop-en, alone 0.851 / 0.857 and 0.827 / 0.823
- Cranfield 0.356 / 0.347, CACM 0.673 / 0.635, pubmed-qa 0.958 / 0.958

With a power of 0.5 Cranfield and multihop-ko fall further. A smaller ``k1`` finds fewer records in the other language
(0.494 of the titles with 0.5).
"""


class LexicalReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` with an index's analyzer and statistics.

    ``score = Σ damped bm25(word, passage) + w · max over sentences of Σ idf(words in the title or sentence) + p · Σ min
    idf (pairs of words)``; ``w`` is :data:`SENTENCE_WEIGHT` and ``p`` is :data:`PAIR_WEIGHT`, both less for long
    questions. :data:`MOST_OF_WORD` says how BM25 is damped.

    In all sums, and in every passage alike, a word of the question counts in its own language or by its best
    translation, whichever scores higher. So the scores of passages in two languages are on one scale. Nothing makes up
    for words that have no translation. Words that only frame the request do not count, and light words (*actually*)
    count little. The words of a compound count (딥러닝: 딥, 러닝), but not the compound itself, since only passages in
    Korean can have it. ``docs/en/explanation/strategies.md`` describes what else was tried.
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
    """Implements :class:`~shrag.models.reranker.Reranker` for one analyzed question.

    With a ``scorer``, :meth:`score_records` lets it score the records where their terms are stored.
    """

    question: AnalyzedQuestion
    parameters: Bm25
    pair_weight: float = PAIR_WEIGHT
    scorer: RecordScorer | None = None
    name = LexicalReranker.name
    is_model = LexicalReranker.is_model

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; raises ``ValueError`` for another question."""
        if question != self.question.text:
            raise ValueError(f"This re-ranker is for the question {self.question.text!r}, got {question!r}.")
        return [each.total for each in self._score_passages(passages)]

    def score_records(self, records: Sequence[AnalyzedRecord]) -> list[RecordScore]:
        """Return the scores of records of the index, equal to the last bit to those of their passages."""
        if self.scorer is None:
            return self._score_passages(list(map(to_passage, records)))
        return self.scorer.score_records(pack_question(self._weights()), [each.record.docid for each in records])

    def _score_passages(self, passages: Sequence[Passage]) -> list[RecordScore]:
        return list(map(PassageScorer(self._weights()).score, passages))

    def _weights(self) -> QuestionWeights:
        return weigh_question(self.question, self.parameters, self.pair_weight)


def weigh_question(question: AnalyzedQuestion, parameters: Bm25, pair_weight: float = PAIR_WEIGHT) -> QuestionWeights:
    """Return the parts of a question that count in a record, with their weights."""
    contents, title = question.statistics.contents, question.statistics.title
    terms = [
        (
            Counter(token.term for token in segment.tokens),
            tuple((tuple(Counter(each.terms).items()), each.weight) for each in translations),
        )
        for segment, translations in zip(question.segments, question.translations, strict=True)
        if segment.is_content
    ]
    segments = [SegmentTerms(tuple(own.items()), translations) for own, translations in terms]
    # In a sentence each of the question's terms counts once, for the segment that has it first.
    counted: set[str] = set()
    in_sentence = []
    for own, translations in terms:
        if first := tuple((term, 1) for term in own if term not in counted):
            counted.update(own)
            in_sentence.append(SegmentTerms(first, translations))
    light = question.light
    weights = {term: LIGHT_WEIGHT if term in light else 1.0 for term in question.idf}
    in_contents = {term: weights[term] * of_term for term, of_term in question.idf.items()}
    highest = [max(in_contents[term] for term in own) for own, _ in terms]
    of_length = min(1.0, SENTENCE_WORDS / max(1, len(terms)))
    return QuestionWeights(
        parameters=parameters,
        contents_length=contents.average_length,
        title_length=title.average_length,
        in_contents=in_contents,
        in_title={
            term: weight * idf(title.document_frequencies[term], title.documents) for term, weight in weights.items()
        },
        segments=segments,
        segment_idf=highest,
        most_of_word=MOST_OF_WORD,
        first=in_sentence,
        sentence_weight=SENTENCE_WEIGHT * of_length,
        longest_sentence=LONGEST_SENTENCE,
        pairs=_pairs(segments) if pair_weight else {},
        position_weights=[min(pair) for pair in pairwise(highest)],
        pair_weight=pair_weight * of_length,
    )


class PassageScorer:
    """Scores passages for one question.

    A passage has few of a question's terms. They are picked out of it once. Then only the segments of the question that
    have one of them are added up, because the others add nothing.
    """

    def __init__(self, weights: QuestionWeights) -> None:
        self._weights = weights
        self._in_contents = FieldScores(weights.in_contents, weights.contents_length, weights.parameters)
        self._in_title = FieldScores(weights.in_title, weights.title_length, weights.parameters)
        self._having = _having(weights.segments)
        self._having_first = _having(weights.first)
        self._sentences: dict[frozenset[str], float] = {}

    def score(self, passage: Passage) -> RecordScore:
        """Return the scores of a passage."""
        weights, idfs = self._weights, self._weights.in_contents
        in_query = idfs.__contains__
        title = list(filter(in_query, passage.title_terms))
        sentences = [list(filter(in_query, terms)) for terms in passage.sentence_terms]
        length = len(passage.title_terms) + sum(map(len, passage.sentence_terms))
        scores = self._in_contents.of(Counter(chain(title, *sentences)), length)
        for term, score in self._in_title.of(Counter(title), len(passage.title_terms)).items():
            scores[term] += weights.parameters.title_boost * score
        words = damped = 0.0
        for position, score in _best_scores(weights.segments, self._having, scores):
            words += score
            damped += _damp(score, weights.segment_idf[position], weights.most_of_word)
        in_title = frozenset(title)
        # Most sentences hold few of the question's terms, and many hold the same.
        held = {in_title}
        for terms, found in zip(passage.sentence_terms, sentences, strict=True):
            if len(terms) > LONGEST_SENTENCE and len(found) > 1:
                held.update(map(in_title.union, _pieces(terms, idfs.keys())))
            elif found:
                held.add(in_title.union(found))
        best_sentence = weights.sentence_weight * max(map(self._weigh, held))
        texts = [passage.title_terms, *passage.sentence_terms]
        pairs = weights.pair_weight and weights.pair_weight * self._weigh_pairs(texts, [title, *sentences])
        return RecordScore(damped + best_sentence + pairs, words + best_sentence)

    def _weigh(self, terms: frozenset[str]) -> float:
        """Return the total idf of the question's segments that a sentence with these terms has."""
        known = self._sentences.get(terms)
        if known is None:
            held = {term: self._weights.in_contents[term] for term in terms}
            known = 0.0
            for _, idf_held in _best_scores(self._weights.first, self._having_first, held):
                known += idf_held
            self._sentences[terms] = known
        return known

    def _weigh_pairs(self, texts: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
        """Return the weight of the question's pairs of words that follow each other in one of the texts.

        ``found`` are the terms of each text that are also terms of the question.
        """
        pairs = self._weights.pairs
        held: set[int] = set()
        for terms, among in zip(texts, found, strict=True):
            if len(among) < 2:
                continue
            # Terms that follow each other in the text also do so among its few terms of the question.
            near = pairs.keys() & chain(pairwise(among), zip(among, among[2:], strict=False))
            if near:
                for pair in near.intersection(pairwise(terms)):
                    held.update(pairs[pair])
                # A compound stands after the first of its parts: 딥, 딥러닝, 러닝.
                for pair in near.intersection(zip(terms, terms[2:], strict=False)):
                    if any(term.startswith("".join(pair)) for term in terms):
                        held.update(pairs[pair])
        return sum([self._weights.position_weights[position] for position in sorted(held)])


def _pieces(terms: Sequence[str], query: AbstractSet[str]) -> Iterable[AbstractSet[str]]:
    """Return the ``query`` terms of each overlapping piece of a long sentence; pieces without any are left out.

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


def _having(segments: Sequence[SegmentTerms]) -> dict[str, tuple[int, ...]]:
    """Return, for each term, the positions of the segments that have it or are translated by it."""
    positions: dict[str, dict[int, None]] = {}
    for position, segment in enumerate(segments):
        for term, _ in chain(segment.own, *(terms for terms, _ in segment.translations)):
            positions.setdefault(term, {})[position] = None
    return {term: tuple(found) for term, found in positions.items()}


def _pairs(segments: Sequence[SegmentTerms]) -> dict[tuple[str, str], list[int]]:
    """Return pairs of terms of consecutive segments, in either language, with the positions of the first segments."""
    phrases = [
        {tuple([term for term, _ in terms]) for terms in (each.own, *(terms for terms, _ in each.translations))}
        for each in segments
    ]
    pairs: dict[tuple[str, str], list[int]] = {}
    for position, (first, second) in enumerate(pairwise(phrases)):
        for one, other in product(first, second):
            # Both may be translated by one phrase, or one of them by a part of it.
            longer = max(one, other, key=len)
            for pair in pairwise(longer) if set(longer) >= {*one, *other} else product(one, other):
                positions = pairs.setdefault(pair, [])
                if position not in positions[-1:]:
                    positions.append(position)
    return pairs


def _best_scores(
    segments: Sequence[SegmentTerms], having: Mapping[str, tuple[int, ...]], scores: Mapping[str, float]
) -> Iterator[tuple[int, float]]:
    """Yield the position of each segment that has ``scores``, by rising position, and the segment's score.

    A segment's score is that of its own terms or of its best translation, whichever is higher.
    """
    # In the question's order, so that sums are equal to the last bit in Python and Java.
    for position in sorted({position for term in scores for position in having.get(term, ())}):
        own, translations = segments[position]
        best = _sum(scores, own)
        for terms, weight in translations:
            best = max(best, weight * _sum(scores, terms))
        yield position, best


def _damp(score: float, idf_of_rarest: float, most: float) -> float:
    """Return ``min(score, most * idf) ** 0.75 * idf ** 0.25``: see :data:`MOST_OF_WORD`."""
    score = min(score, most * idf_of_rarest)
    # Square roots are equal to the last bit in every programming language; powers are not.
    return math.sqrt(score * math.sqrt(score * idf_of_rarest))


def _sum(scores: Mapping[str, float], terms: TermCounts) -> float:
    total = 0.0
    for term, count in terms:
        if term in scores:
            total += scores[term] * count
    return total
