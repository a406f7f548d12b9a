"""Parenthetical translations and acronyms.

What is in the brackets is exact; of the words before them it is only known that the term ends there. The words that may
belong to it are kept, and :mod:`shrag.indexing.glossary.term_boundaries` decides where it begins once all are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from shrag.indexing.analysis.normalization import fold


class TermMention(NamedTuple):
    """One place where a text gives a term in both languages.

    ``korean`` are the words the Korean term ends with: all of it and perhaps words before it, unless ``exact``.
    ``english`` is a phrase or an acronym as written.
    """

    korean: tuple[str, ...]
    english: str
    exact: bool


class AcronymExpansion(NamedTuple):
    """One place where a text says what an acronym stands for: ``Artificial Neural Network (ANN)``."""

    acronym: str
    phrase: str


MAX_WORDS = 5
"""Words of a Korean term, at most; one of more is a description."""

_MAX_ENGLISH_WORDS = 6
_LONGEST_INSIDE = 90
_LONGEST_BEFORE = 90

# The innermost pair only, so that unbalanced and nested brackets cost what they hold and nothing more.
_BRACKETS = re.compile(rf"[(\[（［]([^()\[\]（）［］]{{2,{_LONGEST_INSIDE}}})[)\]）］]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_LATIN = re.compile("[A-Za-z]")
_LETTERS = re.compile("[A-Za-z]{2}|[\uac00-\ud7a3]{2}")
_ENDS_HANGUL = re.compile("[\uac00-\ud7a3]$")
_QUOTES = "\"'“”‘’「」『』《》〈〉`´"

_SEPARATOR = re.compile(r"\s*(?:[,;:/|=]|\b(?:or|aka|abbreviated)\b|이하|또는|혹은|약칭|약어|일명|즉)\s*")
# A citation, an example, a statistic, an address: nothing in such brackets is the name of what stands before them.
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
# A Korean clause ends here: what stands before such a sign is no part of a term.
_CLAUSE_END = re.compile(r"[\n.,;:!?()\[\]{}<>…→=/|•■▶]|[-‐-―](?=\s)|(?<=\s)[-‐-―]")
_LAST_ENGLISH = re.compile(r"(?:^|[^A-Za-z0-9 ])\s*([A-Za-z][A-Za-z0-9 '&/+-]*)$")


def find_mentions(text: str) -> Iterator[TermMention | AcronymExpansion]:
    """Yield what the brackets of ``text`` say, in its order; total for any text.

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
    """인공신경망(Artificial Neural Network, ANN): one name, or a name and its acronym; more is a list of examples."""
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
    """ANN(인공신경망), ANN(Artificial Neural Network, 인공신경망), Artificial Neural Network(ANN)."""
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
    """Say whether ``text`` is written as an acronym is: short, no spaces, two capitals at least."""
    return _ACRONYM.fullmatch(text) is not None


def is_english_term(text: str) -> bool:
    """Say whether ``text`` could be the English name of something: letters, few words, no unit."""
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
    """Return the words of the clause that ends here, at most :data:`MAX_WORDS`, back to the nearest quote."""
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
    """Return the two as an expansion if the acronym's letters stand in the phrase in their order, the first first."""
    if not is_acronym(acronym) or (" " not in phrase and "-" not in phrase):
        return None
    letters = [letter for letter in acronym.lower() if letter.isalpha()]
    if acronym[-1] == "s":
        letters.pop()  # ANNs
    words = [word for word in re.split(r"[^a-z0-9]+", phrase.lower()) if word]
    if letters[0] != words[0][0] or len(words) > len(letters) + 2:
        return None
    place = 0
    text = phrase.lower()
    for letter in letters:
        place = text.find(letter, place) + 1
        if not place:
            return None
    initials = [word[0] for word in words if word not in _FUNCTION_WORDS]
    return AcronymExpansion(acronym, phrase) if len(set(initials) & set(letters)) * 2 > len(set(initials)) else None


def _expand_before(acronym: str, words: list[str]) -> AcronymExpansion | None:
    """Return the words before a bracketed acronym that it stands for, the fewest that do."""
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
