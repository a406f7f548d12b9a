"""Which lines of a paper are headings, and which of its sections are not worth searching."""

from __future__ import annotations

import re
from typing import NamedTuple

_MARKDOWN = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_NUMBER = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[IVX]{1,5}\.|[\u2160-\u216b]\.?|제\s*\d{1,2}\s*[장절]\.?|[A-Z]\.|[가-하]\.)\s+(?=\S)"
)
_SENTENCE_END = re.compile(r"[.!?,;:。…]$")
_STARTS_HEADING = re.compile("[A-Z\uac00-\ud7a3]")
_NOT_LETTERS = re.compile(r"[\W_\d]+")

_LONGEST = 100
_MOST_WORDS = 14

_KNOWN = frozenset(
    "abstract introduction background relatedwork relatedworks literaturereview theoreticalbackground preliminaries "
    "method methods methodology materialsandmethods approach model data dataset datasets experiment experiments "
    "experimentalsetup experimentalresults evaluation result results resultsanddiscussion discussion analysis summary "
    "conclusion conclusions conclusionandfuturework conclusionsandfuturework futurework limitations "
    "초록 요약 국문초록 국문요약 서론 머리말 들어가며 이론적배경 선행연구 관련연구 "
    "연구방법 연구설계 연구대상 재료및방법 실험 실험방법 실험결과 연구결과 결과 결과및고찰 "
    "결과및논의 논의 고찰 결론 결론및제언 맺음말 나가며 제언 한계".split()
)
_DROPPED = re.compile(
    r"(?:list of )?references?(?: cited)?|references? and notes|bibliography|works cited|literature cited|"
    r"acknowledge?ments?(?: .{0,40})?|(?:supplementary|supplemental|supporting) (?:materials?|information|data)|"
    r"appendi(?:x|ces)\b.{0,80}|참고문헌|인용문헌|참고자료|감사의[글말]|사사|부록.{0,60}|별첨.{0,60}",
    re.IGNORECASE,
)
_SPACED_HANGUL = re.compile("(?<=[\uac00-\ud7a3]) +(?=[\uac00-\ud7a3])")


class Heading(NamedTuple):
    """A section's title without its number. ``level`` is 1 for the outermost; a line that only looks like one has 9."""

    title: str
    level: int


LOOKS_LIKE_ONE = 9
"""The level of a short line that may be a heading: no number, no mark and no known name says so."""


def find_heading(line: str, *, by_length: bool) -> Heading | None:
    """Return what a line of a paper is the heading of, or None.

    Headings are known by Markdown's ``#``, by their number (``2.1``, ``II.``, ``제2장``, ``가.``) or by their usual
    names; with ``by_length`` also as short lines without a full stop, for texts with one paragraph a line.
    """
    line = line.strip()
    marked = _MARKDOWN.match(line)
    if marked:
        return Heading(_NUMBER.sub("", marked.group(2), count=1).strip(), len(marked.group(1)))
    if not line or len(line) > _LONGEST or len(line.split()) > _MOST_WORDS:
        return None
    number = _NUMBER.match(line)
    title = line[number.end() :].strip() if number else line
    if is_dropped(title) or _letters(title) in _KNOWN:
        return Heading(title.rstrip(":. "), _level(number))
    if _SENTENCE_END.search(line) or not _STARTS_HEADING.match(title):
        return None
    if number:
        return Heading(title, _level(number))
    return Heading(title, LOOKS_LIKE_ONE) if by_length else None


def is_dropped(title: str) -> bool:
    """Say whether a section of this title is left out: references, acknowledgements, appendices.

    >>> [is_dropped(title) for title in ("참 고 문 헌", "Appendix A: Proofs", "6. References", "Reference data")]
    [True, True, True, False]
    """
    parts = re.split(r"\s*:::\s*", title)
    return any(_DROPPED.fullmatch(_plain(part)) for part in parts)


def is_known(title: str) -> bool:
    """Say whether this is one of the usual names of a paper's sections."""
    return _letters(title) in _KNOWN


def _plain(title: str) -> str:
    title = _NUMBER.sub("", title.strip().strip("#*[]<>〈〉【】 "), count=1)
    joined = _SPACED_HANGUL.sub("", title) if _SPACED_HANGUL.search(title) else title
    return joined.strip(" .:*[]<>〈〉【】")


def _letters(title: str) -> str:
    return _NOT_LETTERS.sub("", title).casefold()


def _level(number: re.Match[str] | None) -> int:
    return 1 + number.group().strip().rstrip(".").count(".") if number else 1
