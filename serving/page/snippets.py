"""Truncate texts and highlight matches. All lengths are in characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer


class Segment(NamedTuple):
    """A part of a text that is highlighted or not; the segments of a text, joined, are the text."""

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
    chosen = sorted(sorted(range(len(spans)), key=lambda position: (-found[position], position))[:most])
    return _join_with_gaps(sentences, chosen)


def _join_with_gaps(sentences: Sequence[str], chosen: Sequence[int]) -> str:
    parts: list[str] = []
    for before, position in zip([-1, *chosen], chosen, strict=False):
        if position > before + 1:
            parts.append("…")
        parts.append(sentences[position])
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


LONGEST_TITLE = 300
LONGEST_NAME = 100
"""Of an author, a journal, a word that matches."""

LONGEST_PASSAGE = 600

READ_FOR_PASSAGE = 20_000
"""How much of a text the passage shown is chosen from. An analyser reads some 80,000 new characters a second."""

PART = 20_000
"""How much of a text one page of a record shows."""

_SENTENCES = 2
_BEFORE_MATCH = 120
_ELLIPSIS = "…"


def shorten(text: str, most: int) -> str:
    """Return ``text`` where it has at most ``most`` characters, else its beginning and an ellipsis, ``most`` in all.

    It is cut at a space where the last fifth has one. Raises ValueError where ``most`` leaves no room.

    >>> shorten("graphene films", 10), shorten("graphene", 8)
    ('graphene…', 'graphene')
    """
    if most < 1:
        raise ValueError(f"most is {most}: a text is shown by 1 character or more.")
    if len(text) <= most:
        return text
    space = text.rfind(" ", most - 1 - most // 5, most)
    return text[: space if space > 0 else most - 1].rstrip() + _ELLIPSIS


def join_names(names: Iterable[str], most: int) -> str:
    """Return ``most`` of the names, and how many there are beyond them.

    >>> join_names(["Kim", "Lee", "Park"], 2)
    'Kim, Lee +1'
    """
    listed = list(names)
    shown = ", ".join(shorten(name, LONGEST_NAME) for name in listed[:most])
    return f"{shown} +{len(listed) - most}" if len(listed) > most else shown


def matched_passage(text: str, terms: AbstractSet[str], analyzer: Analyzer) -> list[Segment]:
    """Return the sentences that have most of ``terms``, marked, at most :data:`LONGEST_PASSAGE` characters.

    A sentence longer than that is shown from shortly before its first match.
    """
    passage = best_sentences(text[:READ_FOR_PASSAGE], terms, analyzer, _SENTENCES)
    if len(text) > READ_FOR_PASSAGE and not passage.endswith(_ELLIPSIS):
        passage = f"{passage} {_ELLIPSIS}"
    segments = mark_matches(passage, terms, analyzer)
    if len(passage) <= LONGEST_PASSAGE:
        return segments
    return _window(segments)


def _window(segments: list[Segment]) -> list[Segment]:
    """Return the segments around the first match, cut to size."""
    before = 0
    for segment in segments:
        if segment.matched:
            break
        before += len(segment.text)
    else:
        before = 0
    begin = max(0, before - _BEFORE_MATCH)
    room = LONGEST_PASSAGE - 2 * len(_ELLIPSIS)
    shown = [Segment(_ELLIPSIS, matched=False)] if begin else []
    position = 0
    for segment in segments:
        start, end = max(begin, position), min(begin + room, position + len(segment.text))
        if start < end:
            shown.append(Segment(segment.text[start - position : end - position], segment.matched))
        position += len(segment.text)
    return [*shown, Segment(_ELLIPSIS, matched=False)] if begin + room < position else shown
