"""Shorten texts and highlight matches in them. All lengths are in characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analysis.analyzer import Analyzer, Token


class Segment(NamedTuple):
    """A part of a text that is highlighted or not. The joined segments of a text are the text."""

    text: str
    matched: bool


class AbstractPart(NamedTuple):
    """A part of an abstract, as segments, and whether the answer quotes it."""

    quoted: bool
    segments: list[Segment]


def mark_matches(text: str, terms: AbstractSet[str], analyzer: Analyzer) -> list[Segment]:
    """Cut ``text`` into segments at the bounds of those whole words that have one of ``terms``."""
    (tokens,) = analyzer.tokens([text])
    segments: list[Segment] = []
    position = 0
    for start, end in _merged(_matched_words(text, tokens, terms)):
        if position < start:
            segments.append(Segment(text[position:start], matched=False))
        segments.append(Segment(text[start:end], matched=True))
        position = end
    if position < len(text):
        segments.append(Segment(text[position:], matched=False))
    return segments


def best_sentences(text: str, terms: AbstractSet[str], analyzer: Analyzer, most: int) -> str:
    """Return the ``most`` sentences with the most different ``terms``, in text order. An ellipsis marks each gap."""
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


def _matched_words(text: str, tokens: Iterable[Token], terms: AbstractSet[str]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the words that have one of ``terms``.

    Tokens that touch or overlap are one word, together with the letters directly before them (``우리`` of
    ``우리나라``). A predicate is marked with its ending; a noun is marked without its particles.
    """
    before = 0
    for word in _touching(tokens):
        end = max(token.end for token in word)
        if any(token.term in terms for token in word):
            is_predicate = any(token.kind == "predicate" and token.end == end for token in word)
            yield _word_start(text, word[0].start, before), _word_end(text, end) if is_predicate else end
        before = end


def _word_start(text: str, start: int, before: int) -> int:
    """Return where the word around ``start`` begins: ``start`` itself if a token within it ends at ``before``."""
    first = start
    while first > before and text[first - 1].isalnum():
        first -= 1
    return start if 0 < before == first and text[before - 1].isalnum() else first


def _word_end(text: str, end: int) -> int:
    while end < len(text) and text[end].isalnum():
        end += 1
    return end


def _touching(tokens: Iterable[Token]) -> list[list[Token]]:
    """Group tokens that touch or overlap. They must come in the order of their starts."""
    words: list[list[Token]] = []
    end = -1
    for token in tokens:
        if token.start <= end:
            words[-1].append(token)
        else:
            words.append([token])
        end = max(end, token.end)
    return words


def _merged(bounds: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join bounds that touch or overlap. They must come in the order of their starts."""
    merged: list[tuple[int, int]] = []
    for start, end in bounds:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


LONGEST_TITLE = 300
LONGEST_NAME = 100
"""Maximum characters of an author, a journal or a keyword."""

LONGEST_PASSAGE = 600

LONGEST_ABSTRACT = 4_000
"""Maximum characters of a quoted record's abstract. Of a longer one, only the quoted sentences are shown."""

READ_FOR_PASSAGE = 20_000
"""How much of a text is read to choose the passage to show. An analyzer reads some 80,000 new characters a second."""

PART = 20_000
"""How many characters of a text one page of a record shows."""

_SENTENCES = 2
_BEFORE_MATCH = 120
_ELLIPSIS = "…"


def shorten(text: str, most: int) -> str:
    """Return ``text`` if it has at most ``most`` characters, else its beginning and an ellipsis, ``most`` in all.

    It is cut at a space if the last fifth has one. Raises ValueError if ``most`` is less than 1.

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
    """Return the first ``most`` names, and the number of the others.

    >>> join_names(["Kim", "Lee", "Park"], 2)
    'Kim, Lee +1'
    """
    listed = list(names)
    shown = ", ".join(shorten(name, LONGEST_NAME) for name in listed[:most])
    return f"{shown} +{len(listed) - most}" if len(listed) > most else shown


def matched_passage(text: str, terms: AbstractSet[str], analyzer: Analyzer) -> list[Segment]:
    """Return the sentences with the most ``terms``, highlighted, in at most :data:`LONGEST_PASSAGE` characters.

    A longer passage is shown from shortly before its first match.
    """
    passage = best_sentences(text[:READ_FOR_PASSAGE], terms, analyzer, _SENTENCES)
    if len(text) > READ_FOR_PASSAGE and not passage.endswith(_ELLIPSIS):
        passage = f"{passage} {_ELLIPSIS}"
    segments = mark_matches(passage, terms, analyzer)
    if len(passage) <= LONGEST_PASSAGE:
        return segments
    return _window(segments)


def _window(segments: list[Segment]) -> list[Segment]:
    """Return the segments around the first match, cut to :data:`LONGEST_PASSAGE` characters."""
    before = 0
    for segment in segments:
        if segment.matched:
            break
        before += len(segment.text)
    else:
        before = 0
    begin = max(0, before - _BEFORE_MATCH)
    end = begin + LONGEST_PASSAGE - 2 * len(_ELLIPSIS)
    gap = Segment(_ELLIPSIS, matched=False)
    before_gap, after_gap = [gap] if begin else [], [gap] if end < sum(len(each.text) for each in segments) else []
    return [*before_gap, *_cut(segments, begin, end), *after_gap]


def _cut(segments: Iterable[Segment], begin: int, end: int) -> list[Segment]:
    """Return the part of the segments from ``begin`` to ``end``."""
    shown: list[Segment] = []
    position = 0
    for segment in segments:
        start, stop = max(begin, position), min(end, position + len(segment.text))
        if start < stop:
            shown.append(Segment(segment.text[start - position : stop - position], segment.matched))
        position += len(segment.text)
    return shown


def abstract_parts(
    text: str, sentences: Sequence[str], terms: AbstractSet[str], analyzer: Analyzer
) -> list[AbstractPart]:
    """Divide an abstract into the parts that an answer quotes and the rest, with the matches highlighted.

    Args:
        text: The abstract.
        sentences: The quoted sentences, in their order. Adjacent sentences are one part.
        terms: The terms to highlight.
        analyzer: The analyzer of the index.

    Returns:
        The parts; joined, they are the text. If the text has more than :data:`LONGEST_ABSTRACT` characters, ellipses
        replace what is not quoted. If the text lacks one of the sentences, there is one part with all the sentences.
    """
    spans = _find_in_order(text, sentences)
    if spans is None:
        return [AbstractPart(quoted=True, segments=mark_matches(" ".join(sentences), terms, analyzer))]
    if len(text) > LONGEST_ABSTRACT:
        text, spans = _elide(text, spans)
    segments = mark_matches(text, terms, analyzer)
    parts: list[AbstractPart] = []
    position = 0
    for start, end in [*spans, (len(text), len(text))]:
        if position < start:
            parts.append(AbstractPart(quoted=False, segments=_cut(segments, position, start)))
        if start < end:
            parts.append(AbstractPart(quoted=True, segments=_cut(segments, start, end)))
        position = end
    return parts


def _find_in_order(text: str, sentences: Iterable[str]) -> list[tuple[int, int]] | None:
    """Return the bounds of the sentences in a text, joined if adjacent; None if the text lacks a sentence."""
    spans: list[tuple[int, int]] = []
    position = 0
    for sentence in sentences:
        start = text.find(sentence, position)
        if start < 0:
            return None
        end = start + len(sentence)
        if spans and not text[position:start].strip():
            start = spans.pop()[0]
        spans.append((start, end))
        position = end
    return spans


def _elide(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """Replace the text outside of the spans by ellipses. Return the new text and the bounds of the spans in it."""
    parts: list[str] = []
    found: list[tuple[int, int]] = []
    position = length = 0
    for start, end in spans:
        gap = _elided(text[position:start])
        parts += [gap, text[start:end]]
        length += len(gap)
        found.append((length, length + end - start))
        length += end - start
        position = end
    return "".join([*parts, _elided(text[position:])]), found


def _elided(text: str) -> str:
    return f" {_ELLIPSIS} " if text.strip() else text
