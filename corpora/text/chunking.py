"""Split long text into chunks that overlap by whole words, or into chunks of whole sentences."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

from shrag.corpora.text.sentences import TextSpan, split_sentences

LONGEST_CHUNK = 500
"""The length of the longest chunk in characters."""

LARGEST_OVERLAP = 120
"""The largest number of characters that a chunk repeats from the end of the previous chunk."""


def split_chunks(text: str, longest: int = LONGEST_CHUNK, overlap: int = LARGEST_OVERLAP) -> list[str]:
    """Return the chunks of a clean text in order; neighbors share up to ``overlap`` characters, in whole words.

    A chunk ends at the last end of a sentence that fits in it and lies after the shared beginning. If there is none, it
    ends at a space. It begins with as many of the last words of the previous chunk as fit in ``overlap`` characters;
    LangChain's splitters count the overlap in the same way. A word longer than ``longest`` is cut. Punctuation at the
    beginning of a chunk is dropped.

    >>> split_chunks("하나를 쟀다. 둘을 쟀다. 셋을 쟀다.", longest=18, overlap=4)
    ['하나를 쟀다. 둘을 쟀다.', '쟀다. 셋을 쟀다.']
    """
    ends = [sentence.end for sentence in split_sentences(text)]
    chunks: list[str] = []
    start = shared_until = 0
    while start < len(text):
        end = _chunk_end(text, start, shared_until, ends, longest)
        if chunk := _without_leading_punctuation(text[start:end]).rstrip():
            chunks.append(chunk)
        if end == len(text):
            break
        start, shared_until = _overlap_start(text, start, end, longest, overlap), end
    return chunks


def _chunk_end(text: str, start: int, shared_until: int, sentence_ends: list[int], longest: int) -> int:
    """Return where the chunk from ``start`` ends; it must reach beyond ``shared_until``."""
    last = start + longest
    if last >= len(text):
        return len(text)
    before = bisect_right(sentence_ends, last)
    if before and sentence_ends[before - 1] > shared_until:
        return sentence_ends[before - 1]
    space = text.rfind(" ", shared_until + 1, last + 1)
    return space if space > start else last


def _overlap_start(text: str, start: int, end: int, longest: int, overlap: int) -> int:
    """Return where the chunk after ``text[start:end]`` begins.

    It repeats as many of the last words of ``text[start:end]`` as ``overlap`` allows and as leave room for the next
    word.
    """
    next_word = end + text[end].isspace()
    space = text.find(" ", next_word)
    first = max(start + 1, end - overlap, (space if space >= 0 else len(text)) - longest)
    if first < end and text[first - 1] == " ":
        return first
    space = text.find(" ", first, end)
    return space + 1 if space >= 0 else next_word


def split_sentence_chunks(text: str, longest: int = LONGEST_CHUNK, overlap: int = LARGEST_OVERLAP) -> list[str]:
    """Return chunks of whole sentences; neighbors share whole sentences of up to ``overlap`` characters, often none.

    Only sentences longer than ``longest`` are cut, if possible at a space. Punctuation at the beginning of a chunk is
    dropped.

    >>> split_sentence_chunks("하나를 쟀다. 둘을 쟀다. 셋을 쟀다.", longest=18, overlap=8)
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
    """Return the index of the first piece of the next chunk, which must reach beyond ``last``."""
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
