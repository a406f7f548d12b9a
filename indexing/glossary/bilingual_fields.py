"""Pairs from bilingual fields of a record: titles in two languages, and Korean and English keyword lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import fold

_HANGUL = re.compile("[\uac00-\ud7a3]")
_LATIN_WORD = re.compile("[A-Za-z]{2,}")
_BETWEEN_TITLES = re.compile(r"\s+[=:/|]\s+|\s*[=|]\s*|\s+[-\u2013\u2014]\s+")
_KOREAN_LIST = re.compile(r"(?:주제어|주요어|핵심어|색인어|중심어|키워드|검색어)\s*[:;：]\s*([^\n]{2,400})")
_ENGLISH_LIST = re.compile(
    r"(?:key ?words?|index terms?|keywords? and phrases?)\s*[:;：]\s*([^\n]{2,400})", re.IGNORECASE
)
_ITEM_SEPARATOR = re.compile(r"\s*[,;·/]\s*")
# The time is quadratic in a title of many separators: 6 s for one of 20,000 characters, such as a table.
_LONGEST_TITLE = 2_000
_LONGEST_KEYWORD = 60
_MAX_KEYWORDS = 12


class BilingualPair(NamedTuple):
    """A Korean and an English text with the same meaning."""

    korean: str
    english: str


def split_title(title: str) -> BilingualPair | None:
    """Split a bilingual title ("제목 = Title"); return None for any other title, and for one of over 2,000 characters.

    >>> split_title("자율주행을 위한 도로 인식 = Road Detection for Autonomous Driving")
    BilingualPair(korean='자율주행을 위한 도로 인식', english='Road Detection for Autonomous Driving')
    """
    if len(title) > _LONGEST_TITLE or not _HANGUL.search(title) or not _LATIN_WORD.search(title):
        return None
    for separator in _BETWEEN_TITLES.finditer(title):
        sides = title[: separator.start()], title[separator.end() :]
        for korean, english in (sides, sides[::-1]):
            latin = _LATIN_WORD.findall(english)
            if (
                not _HANGUL.search(english)
                and len(latin) >= 3
                and len(_HANGUL.findall(korean)) > sum(map(len, _LATIN_WORD.findall(korean)))
            ):
                return BilingualPair(korean.strip(), english.strip())
    return None


def pair_keywords(text: str, keywords: Sequence[str]) -> Iterator[BilingualPair]:
    """Yield pairs of Korean and English keywords by position, if both lists have the same length.

    Args:
        text: The record's text, which may end with keyword lists ("주제어: …", "Keywords: …").
        keywords: The record's keyword field.
    """
    korean_list = _KOREAN_LIST.search(text)
    if korean_list:
        yield from _pair_by_position(_items(korean_list), _items(_ENGLISH_LIST.search(text)))
    own = [fold(keyword).strip() for keyword in keywords]
    yield from _pair_by_position(
        [keyword for keyword in own if _HANGUL.search(keyword)], [word for word in own if not _HANGUL.search(word)]
    )


def _items(match: re.Match[str] | None) -> list[str]:
    if match is None:
        return []
    text = re.split(
        r"\s*(?:key ?words?|주제어|주요어|핵심어|색인어|중심어)\s*[:;]", match.group(1), flags=re.IGNORECASE
    )[0]
    items = [item.strip(" .*·") for item in _ITEM_SEPARATOR.split(fold(text))]
    return [item for item in items if item][: _MAX_KEYWORDS + 1]


def _pair_by_position(korean: Sequence[str], english: Sequence[str]) -> Iterator[BilingualPair]:
    if not 2 <= len(korean) == len(english) <= _MAX_KEYWORDS:
        return
    for ours, theirs in zip(korean, english, strict=True):
        if (
            _HANGUL.search(ours)
            and not _HANGUL.search(theirs)
            and _LATIN_WORD.search(theirs)
            and max(len(ours), len(theirs)) <= _LONGEST_KEYWORD
        ):
            yield BilingualPair(ours, theirs)
