"""How much of a text is shown: a field of ten megabytes must cost neither the reader nor the page more than a long one.

All lengths are in characters. What is cut ends in an ellipsis; the record's own page has the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from shrag.indexing.analysis import Analyzer
from shrag.serving.highlight import Segment, best_sentences, mark_matches

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
