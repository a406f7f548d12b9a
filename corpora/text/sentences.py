"""Sentence boundaries in Korean and English prose, and language detection.

Rules find the boundaries. Kiwi would be too slow (80,000 characters a second), since it analyzes every morpheme, and a
question needs the sentences of all its candidates before it is answered.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from shrag.corpora.records import Language

_END = re.compile(r"[.!?。…]+[\"'”’)\]]*")

# A full stop after these does not end a sentence: "et al.", "Fig. 2", "e.g.", single initials ("J. Kim"), "vs.".
_ABBREVIATION = re.compile(
    r"(?:\b(?:al|fig|figs|eq|eqs|no|nos|vol|vs|cf|dr|mr|mrs|ms|prof|st|ref|refs|sec|ca|approx|resp|inc|ltd|etc|ed|eds|pp|"
    r"e\.g|i\.e|ph\.d|u\.s|sp|spp|var|subsp)|\b[A-Za-z])$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = 8
_KOREAN_LETTER = re.compile("[\uac00-\ud7a3]")
_ITEM_NUMBER = re.compile(r"\(?\d+(?:\.\d+)*")
_LONGEST_ITEM_NUMBER = 20
# A full stop after an ordinal stands for a comma: "그리고 셋째. 변화를 보았다."
_ORDINAL = re.compile("(?:첫|둘|셋|넷|다섯|여섯|일곱)째$")
_LONGEST_ORDINAL = 3
# Scraped abstracts often lack the space between sentences: "하였다.또한", "as follows.First". After a Korean noun, the
# full stop stands for a middle dot: "분석.평가", "국내.외".
_RUN_ON = re.compile("[다요까음임됨함]\\.[\uac00-\ud7a3A-Z(]|[a-z]{2}\\.[A-Z][a-z ]")
_STARTS_SENTENCE = re.compile("[A-Z\uac00-\ud7a3(\\[\"'“‘<「『①-⑳]")


class TextSpan(NamedTuple):
    """The range ``text[start:end]`` of a sentence, without surrounding spaces."""

    start: int
    end: int


def split_sentences(text: str) -> list[TextSpan]:
    """Return the sentences of ``text`` in order; only spaces are outside them.

    >>> text = "CNN을 썼다.정확도는 93.5%였다 (Kim et al. 2020). 끝."
    >>> [text[start:end] for start, end in split_sentences(text)]
    ['CNN을 썼다.', '정확도는 93.5%였다 (Kim et al. 2020).', '끝.']
    """
    spans: list[TextSpan] = []
    start = 0
    for match in _END.finditer(text):
        if _ends_sentence(text, start, match):
            spans.append(TextSpan(start, match.end()))
            start = match.end()
            while start < len(text) and text[start].isspace():
                start += 1
    end = len(text.rstrip())
    if start < end:
        spans.append(TextSpan(start, end))
    return spans


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    # Only characters near the match are read, so the time is linear even for a million full stops.
    stop = match.start()
    after = text[match.end() : match.end() + 2]
    is_number = stop - start <= _LONGEST_ITEM_NUMBER and _ITEM_NUMBER.fullmatch(text, start, stop)
    if stop == start or is_number or _ORDINAL.search(text, max(start, stop - _LONGEST_ORDINAL), stop):
        return False
    if not after:
        return True
    if not after[0].isspace():
        around = text[max(start, stop - 2) : match.end() + 2]
        return bool(_RUN_ON.search(around))
    if match.group()[0] != "." or _KOREAN_LETTER.match(text, stop - 1):
        return True
    if _ABBREVIATION.search(text, max(start, stop - _LONGEST_ABBREVIATION), stop):
        return False
    return bool(_STARTS_SENTENCE.match(after[1:]) or after[1:].isdigit())


_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]+")
_LATIN = re.compile("[A-Za-z]+")

# A Korean syllable counts as much as two to three Latin letters, and Korean papers use Latin terms. So a fifth of the
# letters in Hangul is enough for a Korean text.
_KOREAN_SHARE = 0.2


def detect_language(text: str) -> Language:
    """Return ``ko`` if at least a fifth of the letters are Hangul, else ``en`` for Latin letters, else ``und``.

    Only scripts are distinguished, so a German abstract counts as ``en``. On 4,219 abstracts of ScienceON the result
    differs from the label once, where an English abstract is labeled Korean.

    >>> detect_language("GPT-4 기반 검색"), detect_language("Dense retrieval"), detect_language("3.14")
    ('ko', 'en', 'und')
    """
    hangul = sum(map(len, _HANGUL.findall(text)))
    latin = sum(map(len, _LATIN.findall(text)))
    if hangul == latin == 0:
        return "und"
    return "ko" if hangul >= _KOREAN_SHARE * (hangul + latin) else "en"
