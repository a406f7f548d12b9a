"""Find parenthetical translations and acronyms: ``인공신경망(Artificial Neural Network, ANN)``.

The text in the brackets is exact. The term before them ends at the bracket, but may begin at any of the words before
it. :mod:`shrag.indexing.glossary.term_boundaries` decides where it begins, after all mentions are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import fold


class TermMention(NamedTuple):
    """A mention of a term in both languages.

    ``korean`` are the words up to the end of the Korean term. Unless ``exact``, the first of them may not belong to the
    term. ``english`` is a phrase or an acronym as written.
    """

    korean: tuple[str, ...]
    english: str
    exact: bool


class AcronymExpansion(NamedTuple):
    """A mention of an acronym with its expansion: ``Artificial Neural Network (ANN)``."""

    acronym: str
    phrase: str


MAX_WORDS = 5
"""Most words of a Korean term; a longer phrase is a description."""

_MAX_ENGLISH_WORDS = 6
_LONGEST_INSIDE = 90
_LONGEST_BEFORE = 90

# The innermost pair only, so that unbalanced and nested brackets take linear time.
_BRACKETS = re.compile(rf"[(\[（［]([^()\[\]（）［］]{{2,{_LONGEST_INSIDE}}})[)\]）］]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_LATIN = re.compile("[A-Za-z]")
_LETTERS = re.compile("[A-Za-z]{2}|[\uac00-\ud7a3]{2}")
_ENDS_HANGUL = re.compile("[\uac00-\ud7a3]$")
_QUOTES = "\"'“”‘’「」『』《》〈〉`´"

_SEPARATOR = re.compile(r"\s*(?:[,;:/|=]|\b(?:or|aka|abbreviated)\b|이하|또는|혹은|약칭|약어|일명|즉)\s*")
# A citation, an example, a statistic, an address: such brackets hold no translation.
_NOT_A_NAME = re.compile(
    r"(?:1[89]|20)\d\d|\bet\.? al\b|\be\.?g\b|\bi\.?e\b|\bcf\b|\bvs\b|\bsee\b|\bfig|\btable\b|[<>≤≥±%@]|^\s*예\s*[:,)]|"
    r"\bp\s*=|\bn\s*=|https?:|www\.|참조|참고|그림|등$|등\s|년|표 ?\d",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:(?:[-'&./+]|- | & | )[A-Za-z0-9]+)*\+{0,2}")
_KOREAN = re.compile("[\uac00-\ud7a3]+(?:[- ·][\uac00-\ud7a3]+)*")
_ACRONYM = re.compile(r"(?=(?:[^A-Z]*[A-Z]){2})[A-Za-z][A-Za-z0-9&/-]{1,9}")
_UNITS = frozenset(
    "mm cm km nm kg mg ng ml dl mol mmol hz khz mhz ghz db kb mb gb tb ms sec min hr hrs hour hours day days week "
    "weeks month months year years kw mw gw kwh mwh rpm ppm ppb ph pa kpa mpa gpa bar atm kcal cal usd krw won yen eur "
    "male female men women yes no ok left right top bottom high low ns sd se ci df".split()
)
_FUNCTION_WORDS = frozenset(
    "a an and are as at by for from in into is of on or over per the this to via was were with".split()
)
# Ends a Korean clause: a term does not extend beyond such a character.
_CLAUSE_END = re.compile(r"[\n.,;:!?()\[\]{}<>…→=/|•■▶]|[-‐-―](?=\s)|(?<=\s)[-‐-―]")
_LAST_ENGLISH = re.compile(r"(?:^|[^A-Za-z0-9 ])\s*([A-Za-z][A-Za-z0-9 '&/+-]*)$")


def find_mentions(text: str) -> Iterator[TermMention | AcronymExpansion]:
    """Yield the mentions in the brackets of ``text``, in order.

    >>> list(find_mentions("위한 인공신경망(Artificial Neural Network, ANN)을")) == [
    ...     TermMention(("위한", "인공신경망"), "Artificial Neural Network", exact=False),
    ...     TermMention(("위한", "인공신경망"), "ANN", exact=False),
    ...     AcronymExpansion("ANN", "Artificial Neural Network"),
    ... ]
    True
    >>> list(find_mentions("IRB(생명윤리위원회)는"))
    [TermMention(korean=('생명윤리위원회',), english='IRB', exact=True)]
    """
    for match in _BRACKETS.finditer(text):
        inside = fold(match.group(1))
        if not _LETTERS.search(inside) or _NOT_A_NAME.search(inside):
            continue
        before = fold(text[max(0, match.start() - _LONGEST_BEFORE) : match.start()])
        yield from _read(before.rstrip(" " + _QUOTES), inside)


def _read(before: str, inside: str) -> Iterator[TermMention | AcronymExpansion]:
    parts = [part.strip(" " + _QUOTES) for part in _SEPARATOR.split(inside)]
    parts = [part for part in parts if part]
    english = [part for part in parts if is_english_term(part)]
    korean = [tuple(part.split()) for part in parts if _is_korean_term(part)]
    if not before or len(english) + len(korean) < len(parts) or len(parts) > 3:
        return
    if _ENDS_HANGUL.search(before):
        yield from _after_korean(_last_words(before), english)
    elif (name := _LAST_ENGLISH.search(before)) is not None:
        yield from _after_english(name.group(1).strip(), english, korean)


def _after_korean(words: tuple[str, ...], english: list[str]) -> Iterator[TermMention | AcronymExpansion]:
    """Read 인공신경망(Artificial Neural Network, ANN): a phrase, an acronym or both; more is a list of examples."""
    if not words or not 1 <= len(english) <= 2:
        return
    if len(english) == 2:
        expansion = _expansion(*english) or _expansion(*reversed(english))
        if expansion is None:
            return
        yield TermMention(words, expansion.phrase, exact=False)
        yield TermMention(words, expansion.acronym, exact=False)
        yield expansion
    else:
        yield TermMention(words, english[0], exact=False)


def _after_english(
    name: str, english: list[str], korean: list[tuple[str, ...]]
) -> Iterator[TermMention | AcronymExpansion]:
    """Read ANN(인공신경망), ANN(Artificial Neural Network, 인공신경망) and Artificial Neural Network(ANN)."""
    if len(english) > 1 or len(korean) > 1:
        return
    words = name.split()
    expansion = None
    if english:
        expansion = _expansion(words[-1], english[0]) or _expand_before(english[0], words)
        if expansion is None:
            return
        yield expansion
    for term in korean:
        if expansion is not None:
            yield TermMention(term, expansion.phrase, exact=True)
            yield TermMention(term, expansion.acronym, exact=True)
        elif is_english_term(name):
            yield TermMention(term, name, exact=True)
        elif is_english_term(words[-1]) and is_acronym(words[-1]):
            yield TermMention(term, words[-1], exact=True)


def is_acronym(text: str) -> bool:
    """Return whether ``text`` is written like an acronym: 2 to 10 characters, no spaces, at least two capitals."""
    return _ACRONYM.fullmatch(text) is not None


def is_english_term(text: str) -> bool:
    """Return whether ``text`` may be an English term: letters, at most six words, and not a unit."""
    words = text.split()
    return (
        _ENGLISH.fullmatch(text) is not None
        and len(words) <= _MAX_ENGLISH_WORDS
        and len(_LATIN.findall(text)) >= 2
        and text.lower() not in _UNITS
        and words[0].lower() not in _FUNCTION_WORDS
        and words[-1].lower() not in _FUNCTION_WORDS
        and not any(word[0].isdigit() and len(word) > 3 for word in words)
    )


def _is_korean_term(text: str) -> bool:
    return _KOREAN.fullmatch(text) is not None and len(text) >= 2 and len(text.split()) <= MAX_WORDS


def _last_words(before: str) -> tuple[str, ...]:
    """Return the last words of the text's last clause, at most :data:`MAX_WORDS`, after the last quotation mark."""
    clause = _CLAUSE_END.split(before)[-1]
    for quote in _QUOTES:
        clause = clause.rpartition(quote)[2]
    words: list[str] = []
    for word in reversed(clause.split()[-MAX_WORDS:]):
        if not (_HANGUL.search(word) or is_english_term(word)):
            break
        words.insert(0, word)
    return tuple(words)


def _expansion(acronym: str, phrase: str) -> AcronymExpansion | None:
    """Return the expansion if the acronym's letters occur in the phrase in order and begin its first word."""
    if not is_acronym(acronym) or (" " not in phrase and "-" not in phrase):
        return None
    letters = [letter for letter in acronym.lower() if letter.isalpha()]
    if acronym[-1] == "s":
        letters.pop()  # ANNs
    words = [word for word in re.split(r"[^a-z0-9]+", phrase.lower()) if word]
    if letters[0] != words[0][0] or len(words) > len(letters) + 2:
        return None
    position = 0
    text = phrase.lower()
    for letter in letters:
        position = text.find(letter, position) + 1
        if not position:
            return None
    initials = [word[0] for word in words if word not in _FUNCTION_WORDS]
    return AcronymExpansion(acronym, phrase) if len(set(initials) & set(letters)) * 2 > len(set(initials)) else None


def _expand_before(acronym: str, words: list[str]) -> AcronymExpansion | None:
    """Return the expansion of a bracketed acronym from as few words before it as possible."""
    if not is_acronym(acronym):
        return None
    letters = [letter for letter in acronym.lower() if letter.isalpha()]
    for count in range(2, min(len(words), len(letters) + 2) + 1):
        phrase = " ".join(words[-count:])
        found = _expansion(acronym, phrase)
        if (
            found is not None
            and sum(word[0].lower() in letters for word in words[-count:]) >= min(len(letters), count) - 1
        ):
            return found
    return None
