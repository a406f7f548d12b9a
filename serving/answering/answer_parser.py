"""Parser of an answer that a model streams: parts, sentences and citations.

Any text can be parsed: headings may be missing, repeated or in the other language, citations may be before or behind
the full stop, and markdown becomes plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrag.corpora.text.cleaning import plain_line
from shrag.corpora.text.sentences import split_sentences
from shrag.serving.events import AnswerPart, AnswerSentence, Sentence

_PARTS: dict[str, AnswerPart] = {
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

_HEADING_MARK = re.compile(r"\s*+(?:\*\*)?#{1,6}+\s*+")
_HEADING_END = re.compile(r"(?:#++(?:\*\*)?\s*+:?\s*+#*+\s*+)?")
_OPENING = re.compile(r"\s*+#{2,6}+")
_CLOSING = re.compile(r"#{2,6}+\s*+")
_CITATION = re.compile(r"\[\s*(?:문헌|[Rr]ecords?)?\s*(\d{1,3}(?:\s*(?:[,;·~–-]|and|및)\s*\d{1,3})*)\s*\]")
_RANGE = re.compile(r"(\d+)\s*[~–-]\s*(\d+)")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\((?:[a-z]+:|//?|#|www\.)[^()\s]*\)", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)__?(?=\w)|(?<=\w)__?(?!\w)")
_SPACE_BEFORE_STOP = re.compile(r"\s+([.,!?。])")
_CITATION_BEHIND_STOP = re.compile(r"(?<=[.!?。])(?=\[)")
_LONGEST_RANGE = 20
_MAY_END = re.compile(r"[.!?。…\n]")
_LOOKAHEAD = 3
"""Characters behind the end of a sentence that show that it has ended."""


class AnswerParser:
    """Parses one answer; a sentence is complete once no later text can belong to it."""

    def __init__(self) -> None:
        self._text = ""
        self._count = 0
        self._searched = 0

    @property
    def refused(self) -> bool:
        """Whether the model answered that the records hold no answer."""
        return _heading_line(self._text.strip().split("\n", 1)[0]).casefold() in _REFUSALS

    def feed(self, piece: str) -> list[AnswerSentence]:
        """Add a piece of the text; return the sentences that are complete now."""
        self._text += piece
        # Parsing starts at the beginning of the text. Parsing after every piece would take quadratic time, so the text
        # is parsed only when a sentence may have ended.
        until = max(self._searched, len(self._text) - _LOOKAHEAD)
        ended = _MAY_END.search(self._text, self._searched, until)
        self._searched = until
        # The last sentence may go on, or turn out to be a citation that belongs to the sentence before it.
        return self._new(list(_parse(_complete_lines(self._text)))[:-2]) if ended else []

    def end(self) -> list[AnswerSentence]:
        """Return the remaining sentences of the text, which is complete."""
        return self._new(list(_parse(self._text)))

    def _new(self, sentences: list[AnswerSentence]) -> list[AnswerSentence]:
        new = [] if self.refused else sentences[self._count :]
        self._count += len(new)
        return new


def _complete_lines(text: str) -> str:
    """Return ``text`` without a last line that may become a heading."""
    head, _, last = text.rpartition("\n")
    return head if last.lstrip().startswith(("#", "*")) or not last.strip() else text


def _parse(text: str) -> Iterator[AnswerSentence]:
    """Yield the sentences of a text."""
    part: AnswerPart = "body"
    lines: list[str] = []
    any_heading = False
    for line in text.split("\n"):
        heading, rest = _heading(line)
        if heading is None:
            lines.append(_BULLET.sub("", line, count=1) if _BULLET.match(line) else line)
            continue
        yield from _sentences(part, lines)
        named = _PARTS.get(heading.casefold())
        if named is None and not any_heading:
            # ##The title itself##, the form of English answers in the ScienceON AI Challenge.
            yield from _sentences("title", [heading])
        part, lines, any_heading = named or "body", [rest], True
    yield from _sentences(part, lines)


def _heading(line: str) -> tuple[str | None, str]:
    """Return a line's heading, None where it has none, and the rest of the line."""
    opening = _OPENING.match(line)
    if opening is not None:
        text, _, _ = line[opening.end() :].partition("#")
        closing = _CLOSING.match(line, opening.end() + len(text))
        if text and closing is not None:
            return text.strip(), line[closing.end() :]
    whole = _heading_line(line)
    return (whole, "") if whole else (None, line)


def _heading_line(line: str) -> str:
    """Return the text of a line that is only a heading, without its marks; empty for any other line.

    >>> _heading_line("## Title ##"), _heading_line("**# Title**:"), _heading_line("## C# is a language")
    ('Title', 'Title', '')
    """
    mark = _HEADING_MARK.match(line)
    if mark is None:
        return ""
    text, _, _ = line[mark.end() :].partition("#")
    end = line[mark.end() + len(text) :]
    if not _HEADING_END.fullmatch(end):
        return ""
    text = text.rstrip()
    if not end.rstrip().strip("#"):
        text = text.removesuffix(":").rstrip().removesuffix("**").rstrip()
    return text


def _sentences(part: AnswerPart, lines: list[str]) -> Iterator[AnswerSentence]:
    text = " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", line)) for line in lines)
    text = plain_line(_CITATION_BEHIND_STOP.sub(" ", text))
    if not text:
        return
    if part == "title":
        title = _without_citations(text)
        if re.search(r"\w", title):
            yield AnswerSentence(part, Sentence(title, ()))
        return
    pending: Sentence | None = None
    for start, end in split_sentences(text):
        written = text[start:end]
        leading = _leading_citations(written)
        if pending is not None and leading and not pending.citations:
            pending = Sentence(pending.text, _numbers(written[:leading]))
            written = written[leading:].strip()
            if not written:
                continue
        if pending is not None:
            yield AnswerSentence(part, pending)
        pending = Sentence(_without_citations(written), _numbers(written))
        if not re.search(r"\w", pending.text):
            pending = None
    if pending is not None:
        yield AnswerSentence(part, pending)


def _leading_citations(written: str) -> int:
    """Return where the citations at the beginning of a sentence end, 0 where there are none."""
    end = 0
    while (citation := _CITATION.match(written, end)) is not None:
        end = citation.end()
        while end < len(written) and written[end] in " .,":
            end += 1
    return end


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of the records cited in ``text``, each once, in the order of the text."""
    found: dict[int, None] = {}
    for citation in _CITATION.finditer(text):
        inside = citation.group(1)
        for match in _RANGE.finditer(inside):
            first, last = int(match.group(1)), int(match.group(2))
            found.update(dict.fromkeys(range(first, min(last, first + _LONGEST_RANGE) + 1)))
        found.update(dict.fromkeys(int(number) for number in re.findall(r"\d+", inside)))
    return tuple(found)


def _without_citations(text: str) -> str:
    return _SPACE_BEFORE_STOP.sub(r"\1", " ".join(_CITATION.sub("", text).split()))
