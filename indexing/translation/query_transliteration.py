"""Find transliterations in the index of those words of a question that the glossary does not translate."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.glossary.spelling.model import loanword_log_odds
from shrag.indexing.glossary.store import Entry

_KOREAN = re.compile("[\uac00-\ud7a3]{1,12}")
_ENGLISH = re.compile("[A-Za-z][a-z]{3,23}")  # no acronym
_NAME = re.compile("[A-Z][a-z]{2,24}")
_MOST_PARTS = 3
_MIN_LOG_ODDS = -1.0


class Transliteration(NamedTuple):
    """Entries for a word, and the numbers of the groups of tokens that the word covers."""

    groups: tuple[int, ...]
    entries: list[Entry]


class _Word(NamedTuple):
    group: int
    text: str
    start: int
    end: int
    is_korean: bool


def find_transliterations(
    text: str,
    groups: Sequence[Sequence[Token]],
    translated: Container[int],
    look_up: Callable[[str], list[Entry]],
) -> Iterator[Transliteration]:
    """Yield the transliterations of the untranslated nouns and English words, alone or joined with the next ones.

    Kiwi may cut an unknown loanword into pieces, and a name may be written with spaces. So up to three Korean nouns or
    capitalized English words in succession are also looked up as one.

    Args:
        text: The question.
        groups: Its tokens, grouped by common characters.
        translated: Numbers of the groups that have a translation.
        look_up: Returns the entries of a Hangul word, or of an English one in lower case.
    """
    words = [
        word
        for number, group in enumerate(groups)
        if number not in translated and len(group) == 1 and (word := _word(number, group[0], text)) is not None
    ]
    start = 0
    while start < len(words):
        for size in range(min(_MOST_PARTS, len(words) - start), 0, -1):
            run = words[start : start + size]
            entries = _look_up_run(run, look_up)
            if entries:
                yield Transliteration(tuple(word.group for word in run), entries)
                start += size
                break
        else:
            start += 1


def _word(number: int, token: Token, text: str) -> _Word | None:
    if token.kind == "noun" and _KOREAN.fullmatch(token.term):
        return _Word(number, token.term, token.start, token.end, is_korean=True)
    written = text[token.start : token.end]
    if token.kind == "foreign" and _ENGLISH.fullmatch(written):
        return _Word(number, written, token.start, token.end, is_korean=False)
    return None


def _look_up_run(run: Sequence[_Word], look_up: Callable[[str], list[Entry]]) -> list[Entry]:
    if len(run) == 1:
        return look_up(run[0].text.lower()) if len(run[0].text) > 1 else []
    if not all(_may_join(*pair) for pair in pairwise(run)):
        return []
    entries = look_up(_joined(run))
    # A word is no part of a transliteration that the other words have without it (러시아 군: Russia).
    shorter = [*look_up(_joined(run[:-1])), *look_up(_joined(run[1:]))] if entries else []
    return [] if _terms(entries) & _terms(shorter) else entries


def _may_join(first: _Word, second: _Word) -> bool:
    if second.group != first.group + 1 or first.is_korean != second.is_korean:
        return False
    if first.is_korean:
        # Words with a space between them must each look like a loanword: 오스트레일리아 수도 is not Australia South.
        return first.end == second.start or all(
            len(word.text) > 1 and loanword_log_odds(word.text) >= _MIN_LOG_ODDS for word in (first, second)
        )
    return all(_NAME.fullmatch(word.text) for word in (first, second))


def _joined(run: Sequence[_Word]) -> str:
    return "".join(word.text for word in run).lower()


def _terms(entries: Sequence[Entry]) -> set[tuple[str, ...]]:
    return {terms for entry in entries for terms in (entry.korean_terms, entry.english_terms)}
