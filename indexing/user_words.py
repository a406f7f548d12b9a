"""A user's words at work: which Kiwi is told of, which are found beside the words they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from shrag.indexing.analysis import Token
from shrag.indexing.folding import fold
from shrag.indexing.user_dictionary import DictionaryWord, UserDictionary

_PART = re.compile(r"[\uac00-\ud7a3]+|[^\W_\uac00-\ud7a3]+|[^\w\s]|_")
_KOREAN_ALONE = re.compile("[\uac00-\ud7a3 ]+")

Parts = tuple[str, ...]


class UserWords:
    """Finds a dictionary's words in eojeols. Reads only: safe to share between threads."""

    def __init__(self, dictionary: UserDictionary) -> None:
        self._foreign = _by_first(_parts(word.word) for word in dictionary.words if not word.is_korean)
        self._phrases = _by_first(tuple(word.word.lower().split()) for word in dictionary.words if " " in word.word)
        self.korean: tuple[DictionaryWord, ...] = tuple(word for word in dictionary.words if word.is_korean)
        """What Kiwi is told of."""
        self._mixed = [word.word.lower() for word in self.korean if not _KOREAN_ALONE.fullmatch(word.word)]

    def find(self, folded: str) -> Iterator[Token]:
        """Yield the words without Hangul that stand in ``folded``: lower case, unstemmed, spaces left out."""
        if not self._foreign:
            return
        parts = [(match.group().lower(), match.start(), match.end()) for match in _PART.finditer(folded)]
        for place, (first, start, _) in enumerate(parts):
            for wanted in self._foreign.get(first, ()):
                found = parts[place : place + len(wanted)]
                if tuple(part for part, _, _ in found) == wanted:
                    end = found[-1][2]
                    yield Token("".join(wanted), start, end, "compound" if " " in folded[start:end] else "foreign")

    def holds_mixed(self, folded: str) -> bool:
        """Say whether a Korean word with other signs in it (K-방역) stands in ``folded``: Kiwi has to see them all."""
        if not self._mixed:
            return False
        lowered = folded.lower()
        return any(word in lowered for word in self._mixed)

    def join_phrases(self, text: str, eojeols: Sequence[tuple[int, str]]) -> Sequence[tuple[int, str]]:
        """Make one eojeol of those that a word of several parts (지식 그래프) begins in and ends in."""
        if not self._phrases:
            return eojeols
        folded = [fold(eojeol).lower() for _, eojeol in eojeols]
        joined: list[tuple[int, str]] = []
        place = 0
        while place < len(eojeols):
            last = place + self._phrase_length(text, eojeols, folded, place) - 1
            start, end = eojeols[place][0], eojeols[last][0] + len(eojeols[last][1])
            joined.append((start, "".join(" " if letter.isspace() else letter for letter in text[start:end])))
            place = last + 1
        return joined

    def _phrase_length(self, text: str, eojeols: Sequence[tuple[int, str]], folded: Sequence[str], place: int) -> int:
        for wanted in self._phrases.get(folded[place], ()):
            found = folded[place : place + len(wanted)]
            if (
                len(found) == len(wanted)
                and tuple(found[:-1]) == wanted[:-1]
                and found[-1].startswith(wanted[-1])
                and all(_only_space(text, *eojeols[n : n + 2]) for n in range(place, place + len(wanted) - 1))
            ):
                return len(wanted)
        return 1


def _only_space(text: str, first: tuple[int, str], second: tuple[int, str]) -> bool:
    return text[first[0] + len(first[1]) : second[0]].isspace()


def _parts(word: str) -> Parts:
    return tuple(match.group().lower() for match in _PART.finditer(word))


def _by_first(words: Iterator[Parts]) -> Mapping[str, Sequence[Parts]]:
    """Return words by their first part, the longest first."""
    found: dict[str, list[Parts]] = {}
    for word in words:
        found.setdefault(word[0], []).append(word)
    return {first: sorted(several, key=lambda word: (-len(word), word)) for first, several in found.items()}
