"""Parse streamed model text into sections, sentences and citations.

Total for any text: marks of parts may be missing, doubled or in the other language, citations may stand before or
behind the full stop, and whatever markdown there is becomes plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from shrag.corpora.text.cleaning import plain_line
from shrag.corpora.text.sentences import split_sentences
from shrag.serving.events import Part, Sentence

_PARTS: dict[str, Part] = {
    "제목": "title",
    "title": "title",
    "서론": "introduction",
    "introduction": "introduction",
    "본론": "body",
    "main body": "body",
    "body": "body",
    "결론": "conclusion",
    "conclusion": "conclusion",
}
_REFUSALS = frozenset({"답변불가", "답변 불가", "no answer"})

_HEADING = re.compile(r"\s*(?:\*\*)?#{1,6}\s*([^#]*?)\s*#*(?:\*\*)?\s*:?\s*#*\s*")
_MARKED = re.compile(r"\s*#{2,6}\s*([^#]+?)\s*#{2,6}\s*(.*)")
_MARK = re.compile(r"\[\s*(?:기록|[Rr]ecords?)?\s*(\d{1,3}(?:\s*(?:[,;·~–-]|and|및)\s*\d{1,3})*)\s*\]")
_RANGE = re.compile(r"(\d+)\s*[~–-]\s*(\d+)")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\((?:[a-z]+:|//?|#|www\.)[^()\s]*\)", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)__?(?=\w)|(?<=\w)__?(?!\w)")
_SPACE_BEFORE_STOP = re.compile(r"\s+([.,!?。])")
_MARK_BEHIND_STOP = re.compile(r"(?<=[.!?。])(?=\[)")
_LONGEST_RANGE = 20
_MAY_END = re.compile(r"[.!?。…\n]")
_TOLD_BEHIND = 3
"""Characters behind the end of a sentence that tell that it is one."""


class Said(NamedTuple):
    """A sentence in its part."""

    part: Part
    sentence: Sentence


class AnswerReader:
    """Reads one answer. A sentence is given out once nothing that may follow belongs to it."""

    def __init__(self) -> None:
        self._text = ""
        self._said: list[Said] = []
        self._looked = 0

    @property
    def refused(self) -> bool:
        """Whether the model says that the records do not answer."""
        heading = _HEADING.fullmatch(self._text.strip().split("\n", 1)[0])
        return heading is not None and heading.group(1).casefold() in _REFUSALS

    def feed(self, piece: str) -> list[Said]:
        """Take a piece; return the sentences that are whole now."""
        self._text += piece
        # All of the text is read again each time: with every piece, of which a sentence has dozens, the time for an
        # answer would grow with the square of its length.
        behind = max(self._looked, len(self._text) - _TOLD_BEHIND)
        ended = _MAY_END.search(self._text, self._looked, behind)
        self._looked = behind
        return self._take(ended=False) if ended else []

    def end(self) -> list[Said]:
        """Say that nothing follows; return the sentences left."""
        return self._take(ended=True)

    def _take(self, *, ended: bool) -> list[Said]:
        if self.refused:
            return []
        found = list(_read(self._text if ended else _settled(self._text)))
        if not ended:
            # The last may go on, and marks that follow it may belong to the one before.
            found = found[:-2]
        new = found[len(self._said) :]
        self._said += new
        return new


def _settled(text: str) -> str:
    """Return ``text`` without a last line that may become a heading."""
    head, _, last = text.rpartition("\n")
    return head if last.lstrip().startswith(("#", "*")) or not last.strip() else text


def _read(text: str) -> Iterator[Said]:
    """Yield the sentences of a whole text."""
    part: Part = "body"
    lines: list[str] = []
    begun = False
    for line in text.split("\n"):
        heading, rest = _heading(line)
        if heading is None:
            lines.append(_BULLET.sub("", line, count=1) if _BULLET.match(line) else line)
            continue
        yield from _sentences(part, lines)
        named = _PARTS.get(heading.casefold())
        if named is None and not begun:
            # ##The title itself##, as the challenge has it in English.
            yield from _sentences("title", [heading])
        part, lines, begun = named or "body", [rest], True
    yield from _sentences(part, lines)


def _heading(line: str) -> tuple[str | None, str]:
    """Return the heading that a line is, and what stands behind it on the line; None where it is none."""
    marked = _MARKED.fullmatch(line)
    if marked is not None:
        return marked.group(1), marked.group(2)
    whole = _HEADING.fullmatch(line)
    return (whole.group(1), "") if whole is not None and whole.group(1) else (None, line)


def _sentences(part: Part, lines: list[str]) -> Iterator[Said]:
    text = " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", line)) for line in lines)
    text = plain_line(_MARK_BEHIND_STOP.sub(" ", text))
    if not text:
        return
    if part == "title":
        title = _without_marks(text)
        if re.search(r"\w", title):
            yield Said(part, Sentence(title, ()))
        return
    pending: Sentence | None = None
    for start, end in split_sentences(text):
        written = text[start:end]
        leading = _leading_marks(written)
        if pending is not None and leading and not pending.citations:
            pending = Sentence(pending.text, _numbers(written[:leading]))
            written = written[leading:].strip()
            if not written:
                continue
        if pending is not None:
            yield Said(part, pending)
        pending = Sentence(_without_marks(written), _numbers(written))
        if not re.search(r"\w", pending.text):
            pending = None
    if pending is not None:
        yield Said(part, pending)


def _leading_marks(written: str) -> int:
    """Return where the marks that a stretch begins with end, 0 where it begins with none."""
    place = 0
    while (mark := _MARK.match(written, place)) is not None:
        place = mark.end()
        while place < len(written) and written[place] in " .,":
            place += 1
    return place


def _numbers(text: str) -> tuple[int, ...]:
    """Return the records cited in ``text``, each once, in the order of their first mark."""
    found: dict[int, None] = {}
    for mark in _MARK.finditer(text):
        inside = mark.group(1)
        for match in _RANGE.finditer(inside):
            first, last = int(match.group(1)), int(match.group(2))
            found.update(dict.fromkeys(range(first, min(last, first + _LONGEST_RANGE) + 1)))
        found.update(dict.fromkeys(int(number) for number in re.findall(r"\d+", inside)))
    return tuple(found)


def _without_marks(text: str) -> str:
    return _SPACE_BEFORE_STOP.sub(r"\1", " ".join(_MARK.sub("", text).split()))
