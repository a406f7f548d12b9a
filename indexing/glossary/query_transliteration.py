"""Find the words of a question that the glossary does not translate but the index has in the other script."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.glossary.store import Entry

_KOREAN = re.compile("[\uac00-\ud7a3]{1,12}")
_ENGLISH = re.compile("[A-Za-z][a-z]{3,23}")  # no acronym
_NAME = re.compile("[A-Z][a-z]{2,24}")
_MOST_PARTS = 3


class Transliteration(NamedTuple):
    """Entries of a word that covers the groups of tokens with these numbers."""

    groups: tuple[int, ...]
    entries: list[Entry]


class _Word(NamedTuple):
    group: int
    text: str
    is_korean: bool


def find_transliterations(
    text: str,
    groups: Sequence[Sequence[Token]],
    translated: Container[int],
    look_up: Callable[[str], list[Entry]],
) -> Iterator[Transliteration]:
    """Yield the transliterations of the untranslated nouns and English words, alone or joined with the next ones.

    Kiwi may cut an unknown loanword, and a name may be written with spaces: up to three Korean nouns in succession, or
    two capitalized English words, are also looked up as one.

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
        for size in range(_MOST_PARTS, 0, -1):
            run = words[start : start + size]
            entries = look_up("".join(word.text for word in run).lower()) if len(run) == size and _joins(run) else []
            if entries:
                yield Transliteration(tuple(word.group for word in run), entries)
                start += size
                break
        else:
            start += 1


def _word(number: int, token: Token, text: str) -> _Word | None:
    if token.kind == "noun" and _KOREAN.fullmatch(token.term):
        return _Word(number, token.term, is_korean=True)
    written = text[token.start : token.end]
    return _Word(number, written, is_korean=False) if token.kind == "foreign" and _ENGLISH.fullmatch(written) else None


def _joins(run: Sequence[_Word]) -> bool:
    if len(run) == 1:
        return len(run[0].text) > 1
    return all(word.group == run[0].group + offset for offset, word in enumerate(run)) and (
        all(word.is_korean for word in run)
        or (len(run) == 2 and all(not word.is_korean and _NAME.fullmatch(word.text) for word in run))
    )
