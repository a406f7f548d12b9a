"""Find genre words: words of a question that only say what kind of document is wanted.

Examples are ``자료`` in ``전력수요 예측 자료`` and ``books about`` in ``books about tides``. Only their place in the
question makes them genre words: ``자료`` is content in ``자료 구조``, and ``survey`` is content in
``survey methodology``.
"""

from __future__ import annotations

import re

_KOREAN_GENRE = r"""
    (?:참고\s*(?:문헌|자료|도서|서적)|(?:학위|석사|박사|학술|학회|리뷰)\s*논문|선행\s*연구|연구\s*자료
      |자료|문헌|책|도서|서적|단행본|논문|기사|보고서|목록|리스트|저자|저서|연구자|학자|리뷰|개요|개론)들?"""
_KOREAN_BEFORE = r"""
    (?:(?:관련(?:된|한)?|(?:참고할|읽을|볼|쓸)\s*만한|도움이?\s*되는|좋은|최신|최근|주요|다른)\s+)*"""
_KOREAN_ASKED = r"""
    (?:(?:뭐가|무엇이|어떤\s*것들?이|어떤\s*게|좀|더|혹시|많이)\s+)*
    (?:있|없|알려|찾|추천|필요|보여|구하|구할|구해|소개|부탁|원하|원합|궁금|읽고|보고|누구|무엇|주세요|주십시오)[가-힣]*
    (?:\s+[가-힣]+){0,2}"""
_KOREAN_END = re.compile(
    rf"""
    (?<=\S\s){_KOREAN_BEFORE}{_KOREAN_GENRE}(?:\s+{_KOREAN_GENRE})*(?:은|는|이|가|을|를|도|로는|으로는|에는)?
    (?=(?:\s+{_KOREAN_ASKED})?\W*$)""",
    re.VERBOSE,
)
_KOREAN_BEGINNING = re.compile(
    r"""
    ^\W*(?:(?:도서관|자료실)에서
        (?=\s.*(?:찾|구하|구할|빌리|빌릴|(?:책|자료|논문|도서|문헌)\S*\s있|있는\s(?:책|자료|논문|도서|문헌)))
      |\S+\s+때문에\s+(?:그러는데|그런데|필요한데|찾는데)요?,?)(?=\s)""",
    re.VERBOSE,
)
_ENGLISH_GENRE = r"""
    (?:surveys?|overviews?|reviews?|literature|bibliograph(?:y|ies)|(?:text)?books?|papers?|articles?|publications?
      |thes[ie]s|dissertations?|readings?|materials?|references?|sources|histor(?:y|ies)|definitions?|tutorials?
      |introductions?)"""
_ENGLISH_ADJECTIVES = r"""
    (?:(?:the|an?|some|any|all|good|recent|current|existing|relevant|useful|reading|study|course)\s+){0,3}"""
_ENGLISH_BEGINNING = re.compile(
    rf"""
    (?:^\W*(?:please\s+)?
      |\b(?:need|want|find|get|recommend|suggest|(?:search|look|looking)\s+for|(?:is|are)\s+there)\s+)
    (?:{_ENGLISH_ADJECTIVES}{_ENGLISH_GENRE}(?:\s+{_ENGLISH_GENRE})?\s+(?:on|about|for|regarding|covering)\b
      |{_ENGLISH_ADJECTIVES}(?:surveys?|overviews?|reviews?|histor(?:y|ies)|definitions?)\s+of\b
      |(?:an?|the)\s+introductions?\s+to\b
      |(?:the\s+)?(?:pros\s+and\s+cons|advantages\s+and\s+disadvantages)\s+of\b
      |who\s+(?:has\s+|have\s+)?(?:wrote|written|writes?|published|works?|worked|studie[sd]|researche[sd])\s+
       (?:about|on)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
# At the end, a genre word follows keywords. It is content in "the heaviest pig recorded in history?" and "Polo's book".
_NO_KEYWORDS = "a an the its his her their our in of by to from for and or what which this that".split()
_NOT_BEHIND = "".join(rf"(?<!\b{word}\s)" for word in _NO_KEYWORDS)
_ENGLISH_END = re.compile(
    rf"(?<=\S\s){_NOT_BEHIND}(?<!['’]s\s)(?<!s['’]\s){_ENGLISH_GENRE}(?:\s+{_ENGLISH_GENRE})?(?=[^\w?]*$)",
    re.VERBOSE | re.IGNORECASE,
)


def genre_spans(text: str) -> list[tuple[int, int]]:
    """Return, in order, the character ranges of a question that only say what kind of document is wanted.

    >>> question = "Please find books about tides"
    >>> [question[start:end] for start, end in genre_spans(question)]
    ['find books about']
    """
    patterns = _KOREAN_END, _KOREAN_BEGINNING, _ENGLISH_BEGINNING, _ENGLISH_END
    return sorted(match.span() for pattern in patterns for match in pattern.finditer(text))
