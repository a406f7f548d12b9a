"""Find the names of an index's authors by one of their words: ``Kavraki`` finds *Kavraki, Lydia E.*.

The index has whole names only, in sorted order. So all names are searched as one text, which takes some 10 ms for a
million names. Making that text takes 2 s, once, and 45 MB.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from shrag.indexing.search_engine import AuthorName

_MARKS = re.compile("[\u0300-\u036f]")
_JOINED = re.compile("[-'\u2018\u2019\u2010\u2011]")
_SEPARATORS = re.compile(r"[^\w\n]+")
_WITH_JOINED = re.compile(rf"^.*{_JOINED.pattern}.*$", re.MULTILINE)


def fold_name(text: str) -> str:
    """Return a name in lower case, without accents and without hyphens and apostrophes inside words.

    Args:
        text: The name, or a word of one.

    >>> fold_name("Veličković"), fold_name("Hyun-Jung"), fold_name("O’Brien"), fold_name("김철수")
    ('velickovic', 'hyunjung', 'obrien', '김철수')
    """
    return _JOINED.sub("", _without_accents(text))


def _without_accents(text: str) -> str:
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text.casefold())))


class AuthorNames:
    """Finds the names of authors that have a word. Thread-safe."""

    def __init__(self, names: str) -> None:
        """Read the names, each on a line that ends with a newline."""
        # A word with a hyphen is found by its parts too: hyun, jung, hyunjung.
        words = _WITH_JOINED.sub(lambda line: f"{line[0]} {_JOINED.sub('', line[0])}", _without_accents(names))
        words = _SEPARATORS.sub(" ", words).replace("\n", " \n ")
        self._names, self._words = names.encode(), f" {words}".encode()
        self._name_ends, self._word_ends = _line_ends(self._names), _line_ends(self._words)

    def with_word(self, word: str, most: int) -> list[AuthorName]:
        """Return the names that have a word, in their order.

        Args:
            word: The word, as :func:`fold_name` returns it.
            most: The largest number of names to return.
        """
        found: list[AuthorName] = []
        sought = f" {word} ".encode()
        place = self._words.find(sought)
        while place >= 0 and len(found) < most:
            line = int(np.searchsorted(self._word_ends, place))
            words = _line(self._words, self._word_ends, line)
            found.append(AuthorName(_line(self._names, self._name_ends, line), frozenset(words.split())))
            place = self._words.find(sought, int(self._word_ends[line]))
        return found


def _line_ends(text: bytes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))


def _line(text: bytes, ends: np.ndarray[tuple[int], np.dtype[np.int64]], number: int) -> str:
    start = int(ends[number - 1]) + 1 if number else 0
    return text[start : int(ends[number])].decode()
