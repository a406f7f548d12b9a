"""Split a paper into its title and sections, and recognize headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shrag.corpora.errors import RejectedLine
from shrag.messages.text import Text

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
# These names may be followed by a letter or number and a title. A sentence goes on in another form.
_WITH_TITLE = re.compile(r"appendi(?:x|ces)|acknowledge?ments?|부\s?록|별\s?첨", re.IGNORECASE)
_TITLED = re.compile(
    rf"(?i:{_WITH_TITLE.pattern})(?:\s?(?:[A-Z]|[IVX]+|\d{{1,2}}|[가나다라마바사아자차카타파하])(?:[.-]\d{{1,2}})*\b)?+"
    r"(?:[\s.:)>〉】–—-]+(?P<title>(?:(?:of|and|&) \w|[A-Z가-힣\"'“‘(])(?:(?![.!?。] ).)*))?"
)
_RUNS_ON = re.compile(r"""[^\s.!?:;。…)\]"'”’][)\]"'”’]*$""")
_SPACED_HANGUL = re.compile("(?<=[\uac00-\ud7a3]) +(?=[\uac00-\ud7a3])")


class Heading(NamedTuple):
    """A section's title without its number.

    ``level`` is 1 for the outermost sections, and :data:`UNMARKED_LEVEL` for a line that only may be a heading.
    """

    title: str
    level: int


UNMARKED_LEVEL = 9
"""The level of a short line that may be a heading although it has no number, mark or usual name."""


def find_heading(line: str, *, by_length: bool) -> Heading | None:
    """Return the heading in a line of a paper, or None if the line is not a heading.

    A heading has Markdown's ``#``, a number (``2.1``, ``II.``, ``제2장``, ``가.``) or a usual name. With ``by_length``,
    a short line that begins with a capital or Hangul and ends without punctuation is a heading too. ``by_length`` suits
    texts with one paragraph per line.
    """
    line = line.strip()
    marked = _MARKDOWN.match(line)
    if marked:
        return Heading(_NUMBER.sub("", marked.group(2), count=1).strip(), len(marked.group(1)))
    if not line or len(line) > _LONGEST or len(line.split()) > _MOST_WORDS:
        return None
    number = _NUMBER.match(line)
    title = line[number.end() :].strip() if number else line
    if is_excluded(title) or is_known(title):
        return Heading(title.rstrip(":. "), _level(number)) if _has_form_of_title(title) else None
    if _SENTENCE_END.search(line) or not _STARTS_HEADING.match(title):
        return None
    if number:
        return Heading(title, _level(number))
    return Heading(title, UNMARKED_LEVEL) if by_length else None


def is_excluded(title: str) -> bool:
    """Return whether sections of this title are left out: references, acknowledgments, appendices, supplements.

    A number before the title is ignored. In a path of headings joined by ``:::``, one such heading is enough.

    >>> [is_excluded(title) for title in ("참 고 문 헌", "Appendix A: Proofs", "6. References", "Reference data")]
    [True, True, True, False]
    """
    parts = re.split(r"\s*:::\s*", title)
    return any(_DROPPED.fullmatch(_plain(part)) for part in parts)


def _has_form_of_title(line: str) -> bool:
    """Return whether a line that begins with the name of an appendix may be its heading, unlike "Appendix B shows"."""
    bare = _bare(line)
    if not _WITH_TITLE.match(bare):
        return True
    found = _TITLED.fullmatch(bare)
    return found is not None and not (found["title"] and _SENTENCE_END.search(line))


def is_known(title: str) -> bool:
    """Return whether a title is a usual name of a section; case, digits, blanks and punctuation are ignored."""
    return _NOT_LETTERS.sub("", title).casefold() in _KNOWN


def _plain(title: str) -> str:
    return _SPACED_HANGUL.sub("", _bare(title))


def _bare(title: str) -> str:
    return _NUMBER.sub("", title.strip().strip("#*[]<>〈〉【】 "), count=1).strip(" .:*[]<>〈〉【】")


def _level(number: re.Match[str] | None) -> int:
    return 1 + number.group().strip().rstrip(".").count(".") if number else 1


_LONG_LINE = 200
_TITLE_KEYS = ("section_name", "heading", "section", "name", "title")
_TEXT_KEYS = ("text", "paragraphs", "content")
_INNER_KEYS = ("sections", "subsections")
SECTIONS_KEYS = ("sections", "full_text", "body_text")
"""The keys under which an object may list the sections of a paper."""


@dataclass(frozen=True, slots=True)
class PaperSection:
    """A section's heading, empty if it has none, and its text."""

    heading: str
    text: str


def sections_of_text(text: str, *, paragraph_lines: bool | None = None) -> tuple[str, list[PaperSection]]:
    """Return the title and the sections of a paper in plain text; see :func:`is_excluded` for those left out.

    The first line that is not blank is the title if it begins with ``# ``, or if it is short, is not a heading and does
    not end like a sentence. Otherwise the title is empty. Headings lose their numbers, and sections without text are
    dropped. A section that is left out ends, in Markdown, at the next heading of its own level or above. In other texts
    it ends only at a usual name of a section, because lists of references have many lines that look like headings.

    Args:
        text: The paper.
        paragraph_lines: Whether each line is a paragraph, so that a short line may be a heading. If None, this is so if
            most of the text is in long lines.
    """
    lines = text.splitlines()
    if paragraph_lines is None:
        paragraph_lines = sum(len(line) for line in lines if len(line) > _LONG_LINE) * 2 > len(text)
    title, lines = _split_title(lines)
    sections: list[PaperSection] = []
    heading, body = "", list[str]()
    dropped = 0  # level of the section being left out, 0 for none
    for before, line in zip(["", *lines], lines, strict=False):
        found = find_heading(line, by_length=paragraph_lines)
        if found is None or (not paragraph_lines and _continues(before, line)):
            body.append(line)
            continue
        if dropped and not _reopens(found, dropped, line):
            continue
        _close(sections, heading, body, dropped)
        heading, body = found.title, []
        dropped = found.level if is_excluded(found.title) else 0
    _close(sections, heading, body, dropped)
    return title, sections


def sections_of_object(fields: Mapping[str, object]) -> tuple[str, list[PaperSection]]:
    """Return the title and the sections of a paper in a JSON object; see :func:`is_excluded` for those left out.

    Args:
        fields: ``title``, ``abstract``, and either ``sections`` or ``text``. ``sections``, also named ``full_text`` or
            ``body_text``, is a list of objects with a heading and a text or paragraphs, or one object with the lists
            ``section_name`` and ``paragraphs``; their headings keep their numbers. :func:`sections_of_text` splits
            ``text``.

    Raises:
        RejectedLine: There is no text, or the sections have another form.
    """
    title = _text(fields.get("title"))
    sections = [PaperSection("Abstract", abstract)] if (abstract := _text(fields.get("abstract"))) else []
    listed = next((fields[key] for key in SECTIONS_KEYS if fields.get(key)), None)
    if listed is not None:
        sections += _kept(_listed_sections(listed))
    elif body := _text(fields.get("text")):
        title, rest = merge_titles(title, *sections_of_text(body))
        sections += rest
    if not any(section.text.strip() for section in sections):
        raise RejectedLine(Text("a paper without text: expected abstract, sections or text"))
    return title, sections


def merge_titles(title: str, found: str, sections: list[PaperSection]) -> tuple[str, list[PaperSection]]:
    """Return the title and the sections, given the known ``title`` and the title ``found`` in the text.

    If one of the titles is empty, the other is returned. If the two differ, the found one becomes the first section.
    """
    if not title or not found or title.split() == found.split():
        return title or found, sections
    return title, [PaperSection("", found), *sections]


def _split_title(lines: list[str]) -> tuple[str, list[str]]:
    at = next((at for at, line in enumerate(lines) if line.strip()), 0)
    first = lines[at].strip() if lines else ""
    if first.startswith("# "):
        return first[2:].strip(), lines[at + 1 :]
    short = first and len(first) <= _LONG_LINE and not first.endswith((".", "?", "!", ","))
    return (first, lines[at + 1 :]) if short and not find_heading(first, by_length=False) else ("", lines)


def _continues(before: str, line: str) -> bool:
    """Return whether a line that begins with the name of an appendix continues a sentence: "… are in / Appendix B"."""
    runs_on = _RUNS_ON.search(before.rstrip()) and not before.strip().isdecimal()  # not the number of a page
    return bool(runs_on and _WITH_TITLE.match(line.lstrip()) and not find_heading(before, by_length=False))


def _reopens(found: Heading, dropped: int, line: str) -> bool:
    return found.level <= dropped if line.lstrip().startswith("#") else is_known(found.title)


def _close(sections: list[PaperSection], heading: str, body: Sequence[str], dropped: int) -> None:
    text = "\n".join(body).strip()
    if text and not dropped:
        sections.append(PaperSection(heading, text))


def _kept(sections: Iterator[PaperSection]) -> list[PaperSection]:
    return [section for section in sections if not is_excluded(section.heading)]


def _listed_sections(listed: object) -> Iterator[PaperSection]:
    if isinstance(listed, dict):  # a list for each key instead of an object for each section
        names, texts = listed.get("section_name"), listed.get("paragraphs")
        if isinstance(names, list) and isinstance(texts, list):
            listed = [{"heading": name, "text": text} for name, text in zip(names, texts, strict=False)]
    if not isinstance(listed, list):
        raise RejectedLine(Text("sections is not a list of objects with a heading and a text"))
    for part in listed:
        if isinstance(part, str):
            yield PaperSection("", part)
        elif isinstance(part, dict):
            heading = _text(next((part[key] for key in _TITLE_KEYS if part.get(key)), ""))
            yield PaperSection(heading, _text(next((part[key] for key in _TEXT_KEYS if part.get(key)), "")))
            inner = next((part[key] for key in _INNER_KEYS if part.get(key)), None)
            if inner is not None and not is_excluded(heading):
                yield from _listed_sections(inner)
        else:
            raise RejectedLine(Text("sections is not a list of objects with a heading and a text"))


def _text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(_text(part) for part in value)
    if isinstance(value, dict):
        return _text(value.get("text"))
    return "" if value is None else str(value)
