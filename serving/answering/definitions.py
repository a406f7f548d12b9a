"""Recognize questions that ask what something is (``What is blockchain?``, ``딥페이크란?``), and definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from shrag.serving.retrieval.query_terms import QueryTerm, distinctive_words, spellings

_NAME = r"[^\W_][\w'’/+-]*(?:\s+[\w'’/+-]+){0,4}?"
_QUESTIONS = (
    re.compile(
        rf"\W*(?:(?:(?:what(?:['’]s|\s+is)|(?:please\s+)?explain)\s+)?(?:the\s+|an?\s+)?(?:definition|meaning|concept)\s+of"
        rf"|what(?:['’]s|\s+is|\s+are)(?:\s+meant\s+by)?|define|(?:please\s+)?(?:explain|introduce)"
        rf"|(?:please\s+|can\s+you\s+)?tell\s+me\s+about)"
        rf"\s+(?:an?\s+|the\s+)?({_NAME})\W*",
        re.IGNORECASE,
    ),
    re.compile(rf"\W*what\s+does\s+({_NAME})\s+mean\W*|\W*({_NAME})\s+definition\W*", re.IGNORECASE),
    re.compile(
        rf"\W*({_NAME})\s?(?:이?란|이라는\s?것은|라는\s?것은|은|는|이|가)?"
        rf"\s?(?:무엇(?![을에]|이\s)|뭐|뭔|무슨\s?뜻|어떤\s?것)[가-힣\s]{{0,12}}\W*"
    ),
    re.compile(rf"\W*({_NAME})\s?이?란\W*"),
    re.compile(
        rf"\W*({_NAME})(?:의|이라는|라는)?\s?(?:정의|개념|뜻|의미)(?:를|을|은|는|이|가|란)?"
        rf"(?:\s?(?:무엇|뭐|알려|설명|말해)[가-힣\s]{{0,12}})?\W*"
    ),
    re.compile(rf"\W*({_NAME})\s?(?:알려|설명|소개|말해)[가-힣\s]{{0,12}}\W*"),
)
# A question to be told about something, which may be its definition.
_TELL = re.compile(
    r"^\W*(?:please\s+|can\s+you\s+)*(?:tell|explain|introduce)\b"
    r"|(?:알려|설명|소개|말해)\s?(?:해|하|줘|주|봐|달|바|부탁)[가-힣\s]{0,12}\W*$"
    r"|어떤\s?것(?:들|이\s)",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\b(?:definition|meaning|concept)\s+of\b|definition\W*$"
    r"|(?:의|이라는|라는)\s?(?:정의|개념|뜻|의미)(?:를|을)?\s(?:알려|설명|말해)",
    re.IGNORECASE,
)
# A name may end like a particle (강의, 놀이): both readings are tried.
_PARTICLE = re.compile(
    "(?<=[\uac00-\ud7a3A-Za-z0-9])"
    "(?:이?라는\\s?것(?:은|이)?|이란|란|이라는|라는|은|는|이|가|의|을|를|에\\s?(?:대해서?|대하여|관해서?))"
    "(?:\\s(?:쉽게|간단히|간략히|자세히))?$"
)
_EXPLAINED = r"(?:\s?\([^()]{1,60}\))?"
_PARENTHESES = re.compile(r"\s?\(([^()]{1,60})\)")
# A sentence that matches one of them defines the name that stands in the place of {name}: as its subject, or as what
# something is called.
_IS = (
    rf"(?<!\w){{name}}(?:e?s)?{_EXPLAINED},?\s+(?:(?:is|are)\s+(?:an?|the|one\s+of|any|defined|known\s+as|understood)\b"
    r"|refers?\s+to\b|means?\b|denotes?\b|can\s+be\s+defined\b)"
    rf"|(?<![가-힣]){{name}}{_EXPLAINED}\s?(?:이?란|이?라\s?함은)(?![가-힣])"
    rf"|(?<![가-힣]){{name}}{_EXPLAINED}(?:은|는)\s.{{5,300}}"
    r"(?:이다|말한다|의미한다|뜻한다|가리킨다|일컫는다|지칭한다|정의된다)\.?$"
    rf"|수\s있는\s(?:기술|능력|방법|시스템)인\s{{name}}(?:은|는|이|가|을|를|의|과|와|로)?(?![가-힣])"
)
_CALLED = (
    rf"[을를]\s?['\"‘“]?{{name}}['\"’”]?{_EXPLAINED}\s?(?:이?라고?|으?로)"
    r"\s?(?:하|한|부르|부른|불리|불린|칭하|칭한|정의)"
)
_BEGINNING = r"\W*(?:(?:the|an?)\s+)?"
# What a subject is said to be in place of a definition: a fast-evolving area, 가장 널리 논의되는 개념.
_PRAISE = re.compile(
    r"\b(?:most|one of|fast|rapidly|hot|popular|promising|important|emerging|powerful|challenging|crucial|essential|"
    r"growing|key|new|recent)\b|가장|주목|널리|각광|중요|필수",
    re.IGNORECASE,
)
_PRAISED = 40  # characters behind "is a"


def defined_names(question: str, words: Sequence[QueryTerm]) -> tuple[str, ...]:
    """Return the names of the thing that a question asks to define; none if it asks for something else.

    A name in parentheses is a name too, as ``federated learning`` is in ``연합학습(federated learning)이란?``. If the
    distinctive words are one word or one phrase, its translations are names too.

    Args:
        question: The question.
        words: The words of the question.
    """
    match = _match(question)
    if match is None:
        return ()
    name = next(group for group in match.groups() if group)
    in_parentheses = [found.strip() for found in _PARENTHESES.findall(question)]
    first, *others = [[each.text for each in word.translations] for word in distinctive_words(words)] or [[]]
    translated = [text for text in first if all(text in texts for texts in others)]
    return tuple(dict.fromkeys((name, _PARTICLE.sub("", name), *in_parentheses, *translated)))


def asks_for_definition(question: str) -> bool:
    """Return whether a question asks what something is, not only to be told about it.

    >>> [asks_for_definition(each) for each in ("What is DNA?", "Tell me about DNA.", "DNA의 정의를 알려줘")]
    [True, False, True]
    """
    asked = _match(question) is not None
    return asked and (_DEFINITION.search(question) is not None or not _TELL.search(question))


def _match(question: str) -> re.Match[str] | None:
    """Return the match of a question that asks to define or explain a thing, whose name is its only group."""
    plain = _PARENTHESES.sub("", question)
    return next((match for pattern in _QUESTIONS if (match := pattern.fullmatch(plain))), None)


def defines(sentence: str, names: Iterable[str]) -> bool:
    """Return whether a sentence defines one of the names.

    >>> defines("Federated learning (FL) is a way to train models.", ["federated learning"])
    True
    >>> defines("얼굴 합성 기술을 딥페이크라고 한다.", ["딥페이크"]), defines("딥페이크는 늘고 있다.", ["딥페이크"])
    (True, False)
    >>> defines("딥 러닝은 신경망으로 배우는 기술이다.", ["딥러닝"])
    True
    >>> defines("글을 읽고 쓸 수 있는 능력인 리터러시의 변화를 보았다.", ["리터러시"])
    True
    """
    return any(pattern.search(sentence) for name in names for pattern in (_filled(_IS, name), _filled(_CALLED, name)))


def defines_plainly(sentence: str, names: Iterable[str]) -> bool:
    """Return whether a sentence defines one of the names, is about nothing else, and does not praise it.

    >>> defines_plainly("Deep learning is a fast-evolving area.", ["deep learning"])
    False
    >>> defines_plainly("Deep learning is a kind of machine learning.", ["deep learning"])
    True
    >>> defines_plainly("단일 이미지 딥러닝은 신경망으로 배우는 기술이다.", ["딥러닝"])
    False
    """
    for name in names:
        match = _filled(f"{_BEGINNING}(?:{_IS})", name).match(sentence) or _filled(_CALLED, name).search(sentence)
        if match:
            return not _PRAISE.search(sentence[match.start() : match.end() + _PRAISED])
    return False


@lru_cache(maxsize=100)
def _filled(pattern: str, name: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{name}", spellings(name)), re.IGNORECASE)
