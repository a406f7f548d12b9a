"""Find limits by year among keywords: ``2015년 이후의 딥러닝 연구``, ``robots since 2020``.

Such a limit says which records are wanted, not what they are about, although a year is rarer than most words. In a
sentence the year may be what is asked about (*Who has run the city since 1990?*), so limits in sentences stay.
"""

from __future__ import annotations

import re

_YEAR = r"(?:19|20)\d\d"
_KOREAN = re.compile(
    rf"(?<!\d){_YEAR}\s*년?(?:도|대)?\s*(?:이후|이전|이래)(?:에는|에|로|의|부터|까지)?(?![가-힣])"
    r"(?:\s+(?:발표|출판|발간|게재|작성)(?:된|한))?"
)
_ENGLISH = re.compile(
    rf"\b(?:published\s+|written\s+)?(?:since|after|before)\s+(?:the\s+year\s+)?{_YEAR}\b(?:\s+onwards?\b)?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"\?|^\W*(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|has|have|had|can|could)\b"
    r"|(?:까|가|나|요|다|오|지)\W*$",
    re.IGNORECASE,
)


def year_limit_spans(text: str) -> list[tuple[int, int]]:
    """Return, in order, the character ranges of keywords that limit them by year; none if ``text`` is a sentence.

    >>> question = "2015년 이후 딥러닝 연구"
    >>> [question[start:end] for start, end in year_limit_spans(question)]
    ['2015년 이후']
    """
    if _SENTENCE.search(text):
        return []
    return sorted(match.span() for pattern in (_KOREAN, _ENGLISH) for match in pattern.finditer(text))
