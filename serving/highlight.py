"""Which characters of a text match the question: by morpheme, so that 검색 is found in 검색엔진을."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from shrag.corpora.sentences import split_sentences
from shrag.indexing.analysis import Analyzer


class Segment(NamedTuple):
    """A stretch of text that matches as a whole or not at all; the segments of a text, joined, are the text."""

    text: str
    matched: bool


def mark_matches(text: str, terms: AbstractSet[str], analyzer: Analyzer) -> list[Segment]:
    """Cut ``text`` into segments at the bounds of the tokens whose term is one of ``terms``."""
    (tokens,) = analyzer.tokens([text])
    segments: list[Segment] = []
    position = 0
    for start, end in _merged((token.start, token.end) for token in tokens if token.term in terms):
        if position < start:
            segments.append(Segment(text[position:start], matched=False))
        segments.append(Segment(text[start:end], matched=True))
        position = end
    if position < len(text):
        segments.append(Segment(text[position:], matched=False))
    return segments


def best_sentences(text: str, terms: AbstractSet[str], analyzer: Analyzer, most: int) -> str:
    """Return the ``most`` sentences with the most different ``terms``, in their order, gaps marked by an ellipsis."""
    spans = split_sentences(text)
    sentences = [text[span.start : span.end] for span in spans]
    found = [len(terms & set(sentence)) for sentence in analyzer.terms(sentences)]
    chosen = sorted(sorted(range(len(spans)), key=lambda place: (-found[place], place))[:most])
    return _join_with_gaps(sentences, chosen)


def _join_with_gaps(sentences: Sequence[str], chosen: Sequence[int]) -> str:
    parts: list[str] = []
    for before, place in zip([-1, *chosen], chosen, strict=False):
        if place > before + 1:
            parts.append("…")
        parts.append(sentences[place])
    if chosen and chosen[-1] < len(sentences) - 1:
        parts.append("…")
    return " ".join(parts)


def _merged(bounds: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join bounds, which come by rising start, that touch or overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in bounds:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
