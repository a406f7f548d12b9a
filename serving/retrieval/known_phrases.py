"""Find phrases of a question that the index knows: compounds, phrases of its glossary, and names.

The words of a phrase become one keyword (강화학습, not 강화 and 학습; Mechanical Turk), so that no shorter query asks
for a part alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from shrag.indexing.bm25 import idf
from shrag.indexing.query import And, any_of
from shrag.indexing.search_engine import SearchEngine
from shrag.indexing.translation.query_translation import AnalyzedQuestion, QuerySegment
from shrag.serving.retrieval.query_terms import QueryTerm, content_terms, join_terms

# Two words are a name if at least this share of the documents with the rarer word has both words. Share of relevant
# records among the candidates of multihop-en, with no query of the single words: 0.780 without names, 0.782 with this
# value, 0.779 with 0.5, 0.775 with all capitalized neighbors.
_TOGETHER = 0.8
_MOST_DOCUMENTS = 100
"""Most documents of the rarer word of a name; pairs with a more frequent one are not looked up."""


class _Range(NamedTuple):
    """The positions of a phrase among a question's segments, and its term in the index, empty if it has none."""

    start: int
    end: int
    whole: str = ""


def join_known_phrases(
    question: AnalyzedQuestion, keywords: Sequence[QueryTerm], engine: SearchEngine
) -> list[QueryTerm]:
    """Return the keywords with the phrases that the index knows joined, in the order of the question.

    If phrases overlap, the longest one is joined. A word that the question also has outside of a phrase stays a keyword
    of its own too.
    """
    by_terms = {word.terms: word for word in keywords}
    segments = [segment for segment in question.segments if segment.is_content and content_terms(segment) in by_terms]
    phrases: dict[tuple[tuple[str, ...], ...], QueryTerm] = {}
    taken: set[int] = set()
    inside: Counter[tuple[str, ...]] = Counter()
    for start, end, whole in sorted(
        _known_ranges(question, segments, engine), key=lambda each: (each.start - each.end, each.start, not each.whole)
    ):
        parts = [by_terms[content_terms(segment)] for segment in segments[start:end]]
        key = tuple(part.terms for part in parts)
        if len(set(key)) < 2 or not taken.isdisjoint(range(start, end)):
            continue
        taken.update(range(start, end))
        inside.update(key)
        earlier = phrases.get(key)
        phrases[key] = (
            earlier._replace(frequency=earlier.frequency + 1)
            if earlier is not None
            else _phrase(question, segments[start:end], parts, whole)
        )
    single = [
        word._replace(frequency=word.frequency - inside[word.terms])
        for word in keywords
        if word.frequency > inside[word.terms]
    ]
    return sorted([*phrases.values(), *single], key=lambda word: (word.start, -word.end))


def _phrase(
    question: AnalyzedQuestion, segments: Sequence[QuerySegment], parts: Sequence[QueryTerm], whole: str
) -> QueryTerm:
    """Return the phrase of ``parts``; its idf is that of its own term, or of its rarest part if it has none."""
    contents = question.statistics.contents
    start, end = segments[0].start, segments[-1].end
    joined = join_terms(parts)
    shared = set.intersection(*({each.text for each in part.translations} for part in parts))
    return joined._replace(
        text=question.text[start:end],
        terms=(whole, *joined.terms) if whole else joined.terms,
        idf=idf(contents.document_frequencies[whole], contents.documents) if whole else max(part.idf for part in parts),
        frequency=1,
        translations=tuple(
            each._replace(weight=each.weight * len(parts)) for each in parts[0].translations if each.text in shared
        ),
        start=start,
        end=end,
        whole=whole,
    )


def _known_ranges(
    question: AnalyzedQuestion, segments: Sequence[QuerySegment], engine: SearchEngine
) -> Iterator[_Range]:
    yield from _compounds(question, segments)
    adjacent = [not question.text[left.end : right.start].strip(" -") for left, right in pairwise(segments)]
    yield from _glossary_phrases(segments, adjacent)
    yield from _names(question, segments, adjacent, engine)


def _compounds(question: AnalyzedQuestion, segments: Sequence[QuerySegment]) -> Iterator[_Range]:
    """Yield the parts of each compound that is a term of the index: 강화 and 학습 of 강화학습."""
    for compound in question.segments:
        token = compound.tokens[0]
        if compound.is_compound and question.statistics.contents.document_frequencies[token.term]:
            inside = [n for n, each in enumerate(segments) if token.start <= each.start and each.end <= token.end]
            if inside:
                yield _Range(inside[0], inside[-1] + 1, token.term)


def _glossary_phrases(segments: Sequence[QuerySegment], adjacent: Sequence[bool]) -> Iterator[_Range]:
    """Yield the neighboring words that the glossary translates as one phrase: reinforcement learning."""
    for start, segment in enumerate(segments):
        for size in {round(1 / each.share) for each in segment.translations}:
            phrase = segments[start : start + size]
            if 1 < size == len(phrase) and all(adjacent[start : start + size - 1]):
                texts = ({each.text for each in part.translations if each.share < 1} for part in phrase)
                if set.intersection(*texts):
                    yield _Range(start, start + size)


def _names(
    question: AnalyzedQuestion, segments: Sequence[QuerySegment], adjacent: Sequence[bool], engine: SearchEngine
) -> Iterator[_Range]:
    """Yield the capitalized neighbors that nearly always occur together in the index: Mechanical Turk."""
    frequencies = question.statistics.contents.document_frequencies
    capital = [question.text[segment.start].isupper() for segment in segments]
    rarer: dict[int, int] = {}
    for position, is_adjacent in enumerate(adjacent):
        if is_adjacent and capital[position] and capital[position + 1]:
            pair = [content_terms(segment) for segment in segments[position : position + 2]]
            rarer[position] = min(max(frequencies[term] for term in terms) for terms in pair)
    rarer = {position: having for position, having in rarer.items() if 1 < having <= _MOST_DOCUMENTS}
    if not rarer:
        return
    queries = [And(tuple(any_of(content_terms(segment)) for segment in segments[n : n + 2])) for n in rarer]
    both = engine.count_hits(queries, _MOST_DOCUMENTS)
    together = {
        position for (position, having), found in zip(rarer.items(), both, strict=True) if found >= _TOGETHER * having
    }
    for position in sorted(together):
        if position - 1 not in together:
            end = position + 1
            while end in together:
                end += 1
            yield _Range(position, end + 1)
