"""Pack a question for Java, which scores records where their terms are stored (``java/shrag/QuestionScorer.java``)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from shrag.indexing.bm25 import Bm25

TermCounts = tuple[tuple[str, int], ...]


class SegmentTerms(NamedTuple):
    """A segment's terms with their counts, and the terms of its translations with the translations' weights."""

    own: TermCounts
    translations: tuple[tuple[TermCounts, float], ...]


@dataclass(frozen=True, slots=True)
class QuestionWeights:
    """What :class:`~shrag.indexing.lexical.reranker.QuestionReranker` counts in a record, and how much it weighs.

    Attributes:
        parameters: The parameters of BM25.
        contents_length: The mean length of the contents, in terms.
        title_length: The mean length of titles, in terms.
        in_contents: The idf of each of the question's terms in the contents.
        in_title: The idf of each of these terms in titles.
        segments: The segments of the question that count.
        segment_idf: The idf of each segment's rarest term.
        most_of_word: The most that a segment counts, in units of that idf.
        first: The same segments; a term counts only in the first segment that has it.
        sentence_weight: The weight of the best sentence.
        longest_sentence: The most terms of a sentence; longer ones are read in pieces.
        pairs: The pairs of terms that may follow each other, each with its positions in ``position_weights``.
        position_weights: The weight of two words that follow each other in the question, by the position of the first.
        pair_weight: The weight of all pairs.
    """

    parameters: Bm25
    contents_length: float
    title_length: float
    in_contents: Mapping[str, float]
    in_title: Mapping[str, float]
    segments: Sequence[SegmentTerms]
    segment_idf: Sequence[float]
    most_of_word: float
    first: Sequence[SegmentTerms]
    sentence_weight: float
    longest_sentence: int
    pairs: Mapping[tuple[str, str], Sequence[int]]
    position_weights: Sequence[float]
    pair_weight: float


class RecordScore(NamedTuple):
    """A record's score for a question.

    Attributes:
        total: The score by which records are ranked.
        words: The score by BM25, not damped, and by the best sentence, without pairs. The confidence is learned from
            it.
    """

    total: float
    words: float


class RecordScorer(Protocol):
    """Scores the stored records of an index for a question. Thread-safe."""

    def score_records(self, question: PackedQuestion, docids: Sequence[str]) -> list[RecordScore]:
        """Return the scores of each record, in the order of ``docids``.

        Raises:
            ValueError: A docid is not in the index.
        """


class PackedQuestion(NamedTuple):
    """The question's terms, and its integers and floats in the order in which Java reads them, in native byte order."""

    terms: tuple[str, ...]
    integers: bytes
    numbers: bytes


def pack_question(weights: QuestionWeights) -> PackedQuestion:
    """Return a question for :meth:`RecordScorer.score_records`."""
    terms = tuple(weights.in_contents)
    number = {term: position for position, term in enumerate(terms)}
    integers = array("i", [weights.longest_sentence])
    numbers = array("d", [weights.parameters.k1, weights.parameters.b, weights.contents_length, weights.title_length])
    numbers.extend((weights.parameters.title_boost, weights.most_of_word, weights.sentence_weight, weights.pair_weight))
    numbers.extend(weights.in_contents.values())
    numbers.extend([weights.in_title[term] for term in terms])

    def add_counts(counts: TermCounts) -> None:
        integers.append(len(counts))
        for term, count in counts:
            integers.extend((number[term], count))

    for segments in (weights.segments, weights.first):
        integers.append(len(segments))
        for own, translations in segments:
            add_counts(own)
            integers.append(len(translations))
            for counts, weight in translations:
                add_counts(counts)
                numbers.append(weight)
    numbers.extend(weights.segment_idf)
    integers.append(len(weights.position_weights))
    numbers.extend(weights.position_weights)
    integers.append(len(weights.pairs))
    for (one, other), positions in weights.pairs.items():
        integers.extend((number[one], number[other], len(positions), *positions))
    return PackedQuestion(terms, integers.tobytes(), numbers.tobytes())
