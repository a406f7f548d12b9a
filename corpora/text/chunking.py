"""Split long text into overlapping chunks of whole sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from shrag.corpora.text.sentences import TextSpan, split_sentences

LONGEST_CHUNK = 500
"""Most characters of a chunk."""

LARGEST_OVERLAP = 120
"""Most characters that a chunk repeats from the end of the one before."""


def split_chunks(text: str, longest: int = LONGEST_CHUNK, overlap: int = LARGEST_OVERLAP) -> list[str]:
    """Return the chunks of a clean text in order.

    A chunk ends at the end of a sentence; only a sentence longer than ``longest`` is cut, at a space if it has one. A
    chunk begins with the last sentences of the one before, up to ``overlap`` characters. Punctuation at the
    beginning of a chunk is dropped.

    >>> split_chunks("하나를 쟀다. 둘을 쟀다. 셋을 쟀다.", longest=18, overlap=8)
    ['하나를 쟀다. 둘을 쟀다.', '둘을 쟀다. 셋을 쟀다.']
    """
    pieces = [piece for sentence in split_sentences(text) for piece in _cut(text, sentence, longest)]
    chunks: list[str] = []
    first = 0
    while first < len(pieces):
        last = first
        while last + 1 < len(pieces) and pieces[last + 1].end - pieces[first].start <= longest:
            last += 1
        chunk = _without_leading_punctuation(text[pieces[first].start : pieces[last].end])
        if chunk:
            chunks.append(chunk)
        first = _next_first(pieces, first, last, longest, overlap)
    return chunks


def _next_first(pieces: list[TextSpan], first: int, last: int, longest: int, overlap: int) -> int:
    """Return the index of the piece that the next chunk begins with; that chunk must reach beyond ``last``."""
    begin = last + 1
    if begin == len(pieces):
        return begin
    while (
        begin - 1 > first
        and pieces[last].end - pieces[begin - 1].start <= overlap
        and pieces[last + 1].end - pieces[begin - 1].start <= longest
    ):
        begin -= 1
    return begin


def _cut(text: str, sentence: TextSpan, longest: int) -> Iterator[TextSpan]:
    start, end = sentence
    while end - start > longest:
        space = text.rfind(" ", start + 1, start + longest + 1)
        cut = space if space > start else start + longest
        yield TextSpan(start, cut)
        start = cut + (space > start)
    if start < end:
        yield TextSpan(start, end)


def _without_leading_punctuation(chunk: str) -> str:
    start = 0
    while start < len(chunk) and (chunk[start].isspace() or unicodedata.category(chunk[start]).startswith("P")):
        start += 1
    return chunk[start:]
