"""Drop the numbers of references (``has been shown [19].``, ``제시한 이후[1] 2족``); a record has no list of them.

A number that stands for the work itself stays (``in [3] it is shown``). Intervals, statistics, directions of crystals,
numbered parts of a text and brackets in names of compounds stay too.
"""

from __future__ import annotations

import re

from shrag.corpora.text.fused_words import Repaired

_NUMBERS = r"\[[1-9]\d{0,2}(?:\s?[,;–-]\s?[1-9]\d{0,2}){0,20}\]"
# Behind a word or its closing bracket, a blank may come before the number. Behind a punctuation mark it may not, since
# a number behind "다. " may begin a part of the text.
_MARKS = re.compile(
    rf"(?:(?<=[a-z\uac00-\ud7a3)])\s?|(?<=[.,?!”\"’]))({_NUMBERS}(?:\s?,?\s?{_NUMBERS}){{0,20}})"
    r"(?=[\s.,;:)’”\"'\uac00-\ud7a3]|$)(?!\s(?:directions?|orientations?|planes?|axis|axes|surfaces?|방향|면)(?![a-z\uac00-\ud7a3]))"
)
_LAST_WORD = re.compile(r"[A-Za-z\uac00-\ud7a3]{1,20}$")
# Words after which a number in brackets stands for the work itself or is not a reference.
_BEFORE_NUMBER = frozenset(
    "in by from of with see to and or the a an on at as than like per along between within over cf is are was were "
    "about approximately around nearly roughly interval intervals range ranges domain set scale eq equation fig figure "
    "table section step case type level class "
    "문헌 참고문헌 논문 및 와 과 구간 범위 척도 식 그림 표 제 단계 방향 유형 수준".split()
)
_BEFORE = 24  # how many characters before the number are searched for its word


def drop_reference_marks(text: str) -> Repaired:
    """Drop the numbers in brackets that refer to a list of references.

    >>> drop_reference_marks("이를 보였다[1], [4-6]. Others disagree [19]; in [3] the interval [1, 5] is used.").text
    '이를 보였다. Others disagree; in [3] the interval [1, 5] is used.'
    """
    repairs = 0

    def drop(match: re.Match[str]) -> str:
        nonlocal repairs
        word = _LAST_WORD.search(text, max(0, match.start() - _BEFORE), match.start())
        if word and (word.group().lower() in _BEFORE_NUMBER or len(word.group()) == 1):
            return match.group()
        repairs += 1
        return ""

    if "[" not in text:
        return Repaired(text, 0)
    return Repaired(_MARKS.sub(drop, text), repairs)
