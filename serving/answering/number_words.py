"""Find the numbers from 1 to 10 that a text writes as words, in Korean and English."""

from __future__ import annotations

import re

_ENGLISH = {
    1: "one|single|first",
    2: "two|both|second|twofold",
    3: "three|third",
    4: "four|fourth",
    5: "five|fifth",
    6: "six|sixth",
    7: "seven|seventh",
    8: "eight|eighth",
    9: "nine|ninth",
    10: "ten|tenth",
}
# Native Korean numbers that mean nothing else at the beginning of a word; "둘러싼" and "둘레" are other words.
_KOREAN = {
    1: "하나|첫",
    2: "둘(?!러|레)",
    3: "셋",
    4: "넷",
    5: "다섯",
    6: "여섯",
    7: "일곱",
    8: "여덟",
    9: "아홉",
}
# Native Korean numbers that begin many other words (한국, 두뇌, 세계, 열전달) count only before a noun that counts.
_BEFORE_NOUN = {1: "한", 2: "두", 3: "세", 4: "네", 10: "열"}
_NOUN = "가지|개|명|번|쌍|종|곳|단계|차례|배|집단|그룹|변수|요인|모델|모형|방법|유형|영역|범주"
# Most words of these three by themselves are numbers ("두 조건", "세 논문"), if no digit is before them ("60 세 이상").
_ALONE = {2: "두", 3: "세", 4: "네"}
# Sino-Korean numbers begin even more words (일반, 이 연구, 삼성, 오차), so they count before these nouns only.
_SINO_KOREAN = dict(enumerate("일이삼사오육칠팔구십", 1))
_SINO_NOUN = r"차원|단계|개월|개년|년간|년\b"


def _pattern(number: int) -> re.Pattern[str]:
    words = [rf"(?:{_ENGLISH[number]})\b", f"{_SINO_KOREAN[number]}(?={_SINO_NOUN})"]
    words += [_KOREAN[number]] if number in _KOREAN else []
    words += [rf"{_BEFORE_NOUN[number]}(?=\s?(?:{_NOUN}))"] if number in _BEFORE_NOUN else []
    words += [rf"(?<!\d\s){_ALONE[number]}(?=\s)"] if number in _ALONE else []
    return re.compile(rf"\b(?:{'|'.join(words)})", re.IGNORECASE)


_PATTERNS = {str(number): _pattern(number) for number in _ENGLISH}


def has_number_word(number: str, text: str) -> bool:
    """Return whether ``text`` writes ``number``, as digits of a whole number from 1 to 10, as a word.

    >>> has_number_word("3", "세 가지 두께를 견주었다."), has_number_word("3", "삼성전자의 세계 시장")
    (True, False)
    """
    return number in _PATTERNS and _PATTERNS[number].search(text) is not None
