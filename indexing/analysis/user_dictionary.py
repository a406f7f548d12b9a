"""User dictionary: file format, and matching of its words in text.

A line is ``WORD``, ``WORD<TAB>TAG`` or ``WORD<TAB>TAG<TAB>SCORE``; blank lines and lines that begin with ``#`` are
ignored. A word with Hangul is added to Kiwi. A word without Hangul gives one more term besides those of its parts
(``docs/en/explanation/analysis.md``).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analysis.analyzer import Token, fold
from shrag.indexing.errors import DictionaryRejected
from shrag.messages.text import Text

FILE = "dictionary.tsv"
"""File name in an index's folder."""

WORD_TAGS = ("NNP", "NNG", "NNB", "NR", "XR", "MAG", "VV", "VA")
"""Sejong tags that a word may have; the first is the default."""

MAX_WORD_LENGTH = 64
MAX_WORDS = 200_000
_MAX_FILE_BYTES = 16 * 2**20
_MAX_SCORE = 20.0
_EDGE = "\"'()[]{}<>.,:;!?·…「」『』《》〈〉“”‘’-~/ "
_HANGUL_LETTERS = re.compile("[\uac00-\ud7a3]")


class DictionaryWord(msgspec.Struct, frozen=True, order=True):
    """A folded word, with single spaces between its parts, and its tag and score."""

    word: str
    tag: str = WORD_TAGS[0]
    score: float = 0.0

    @property
    def is_korean(self) -> bool:
        """Whether the word has Hangul, so that it is added to Kiwi."""
        return bool(_HANGUL_LETTERS.search(self.word))


class UserDictionary(msgspec.Struct, frozen=True, dict=True):
    """Distinct words, sorted. Equal contents have equal fingerprints, whatever the file's layout."""

    words: tuple[DictionaryWord, ...] = ()

    @cached_property
    def text(self) -> str:
        """The canonical text, which :func:`parse_dictionary` parses to the same dictionary."""
        return "".join(f"{word.word}\t{word.tag}\t{word.score:g}\n" for word in self.words)

    @cached_property
    def fingerprint(self) -> str:
        """``none``, or the number of words and the SHA-256 of the canonical text."""
        if not self.words:
            return "none"
        return f"{len(self.words)} words, sha256 {hashlib.sha256(self.text.encode()).hexdigest()}"


EMPTY_DICTIONARY = UserDictionary()


def read_dictionary(path: Path) -> UserDictionary:
    """Read a user's file; raise :class:`DictionaryRejected` with the line and the rule that it breaks."""
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise DictionaryRejected(
            Text("{path} cannot be read ({strerror}): give a file of words.", path=path, strerror=error.strerror)
        ) from None
    if len(data) > _MAX_FILE_BYTES:
        raise DictionaryRejected(
            Text(
                "{path} is larger than {max_file_bytes} MiB, the most a dictionary may have: give fewer words.",
                path=path,
                max_file_bytes=_MAX_FILE_BYTES // 2**20,
            )
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DictionaryRejected(
            Text("{path} line {line} is not UTF-8: convert the file to UTF-8.", path=path, line=line)
        ) from None
    return parse_dictionary(text.split("\n"), str(path))


def load_dictionary(folder: Path) -> UserDictionary:
    """Return the dictionary in an index's ``folder``, or an empty one; the caller has verified its checksum."""
    path = folder / FILE
    return read_dictionary(path) if path.is_file() else EMPTY_DICTIONARY


def save_dictionary(folder: Path, dictionary: UserDictionary) -> None:
    """Write ``dictionary`` to an index's ``folder``; an empty one is not written."""
    if dictionary.words:
        (folder / FILE).write_text(dictionary.text, encoding="utf-8", newline="\n")


def parse_dictionary(lines: Iterable[str], name: str) -> UserDictionary:
    """Parse lines; raise :class:`DictionaryRejected`, whose message calls the source ``name``."""
    found: dict[str, tuple[DictionaryWord, int]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            word = _parse_line(line.rstrip("\r"))
        except _InvalidLine as error:
            raise DictionaryRejected(
                Text("{name} line {number}: {error}.", name=name, number=number, error=error)
            ) from None
        earlier = found.setdefault(word.word, (word, number))
        if earlier[0] != word:
            raise DictionaryRejected(
                Text(
                    "{name} line {number}: {word!r} is in line {earlier} with another tag or score; keep one.",
                    name=name,
                    number=number,
                    word=word.word,
                    earlier=earlier[1],
                )
            )
        if len(found) > MAX_WORDS:
            raise DictionaryRejected(
                Text(
                    "{name} has more than {max_words:,} words, the most a dictionary may have: remove some.",
                    name=name,
                    max_words=MAX_WORDS,
                )
            )
    return UserDictionary(tuple(sorted(word for word, _ in found.values())))


class _InvalidLine(ValueError):
    """A line breaks a rule; the message says which."""


def _parse_line(line: str) -> DictionaryWord:
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) > 3:
        raise _InvalidLine(
            Text("it has {fields_count} fields, at most 3 are allowed: word, tag, score", fields_count=len(fields))
        )
    word, tag, score = (*fields, "", "")[:3]
    return DictionaryWord(_parse_word(word), _parse_tag(tag), _parse_score(score))


def _parse_word(raw: str) -> str:
    # A full-width ＃ folds to #, and a saved line that begins with it would be a comment.
    word = plain_line(fold(plain_line(raw))).strip(_EDGE).lstrip(f"#{_EDGE}")
    if not any(character.isalnum() for character in word):
        raise _InvalidLine(Text("{word!r} has no letter and no digit; a word needs at least one", word=raw))
    if len(word) > MAX_WORD_LENGTH:
        raise _InvalidLine(
            Text(
                "{word!r}… has {word_count} characters, at most {max_word_length} are allowed",
                word=word[:20],
                word_count=len(word),
                max_word_length=MAX_WORD_LENGTH,
            )
        )
    if len(word) == 1 and _HANGUL_LETTERS.match(word):
        raise _InvalidLine(
            Text("{word!r} is a single syllable, which would be cut out of other words; give two or more", word=word)
        )
    return word


def _parse_tag(tag: str) -> str:
    if tag and tag not in WORD_TAGS:
        raise _InvalidLine(Text("the tag {tag!r} is none of {word_tags}", tag=tag, word_tags=" ".join(WORD_TAGS)))
    return tag or WORD_TAGS[0]


def _parse_score(raw: str) -> float:
    try:
        score = float(raw or 0)
    except ValueError:
        score = math.nan
    if not abs(score) <= _MAX_SCORE:
        raise _InvalidLine(
            Text(
                "the score {score!r} is not a number from -{max_score:g} to {max_score:g}",
                score=raw,
                max_score=_MAX_SCORE,
            )
        )
    return float(f"{score:g}") + 0.0  # as the canonical text has it, and no -0


_PART = re.compile(r"[\uac00-\ud7a3]+|[^\W_\uac00-\ud7a3]+|[^\w\s]|_")
_KOREAN_ALONE = re.compile("[\uac00-\ud7a3 ]+")

WordParts = tuple[str, ...]


class DictionaryMatcher:
    """Finds a dictionary's words in text. Immutable and therefore thread-safe."""

    def __init__(self, dictionary: UserDictionary) -> None:
        self._foreign = _by_first(_parts(word.word) for word in dictionary.words if not word.is_korean)
        self._phrases = _by_first(tuple(word.word.lower().split()) for word in dictionary.words if " " in word.word)
        self.korean: tuple[DictionaryWord, ...] = tuple(word for word in dictionary.words if word.is_korean)
        """The words to add to Kiwi."""
        self._mixed = [word.word.lower() for word in self.korean if not _KOREAN_ALONE.fullmatch(word.word)]

    def find(self, folded: str) -> Iterator[Token]:
        """Yield the dictionary's words without Hangul in ``folded``.

        Their terms are in lower case, unstemmed and without spaces.
        """
        if not self._foreign:
            return
        parts = [(match.group().lower(), match.start(), match.end()) for match in _PART.finditer(folded)]
        for index, (first, start, _) in enumerate(parts):
            for wanted in self._foreign.get(first, ()):
                found = parts[index : index + len(wanted)]
                if tuple(part for part, _, _ in found) == wanted:
                    end = found[-1][2]
                    yield Token("".join(wanted), start, end, "compound" if " " in folded[start:end] else "foreign")

    def holds_mixed(self, folded: str) -> bool:
        """Return whether ``folded`` has a dictionary word of Hangul and other characters (K-방역).

        Kiwi must see such a word unchanged.
        """
        if not self._mixed:
            return False
        lowered = folded.lower()
        return any(word in lowered for word in self._mixed)

    def join_phrases(self, text: str, eojeols: Sequence[tuple[int, str]]) -> Sequence[tuple[int, str]]:
        """Join the eojeols that form a dictionary word with spaces (지식 그래프) into one.

        Args:
            text: The text.
            eojeols: Offsets and words of the text.

        Returns:
            Offsets and words. A joined word may end with a particle.
        """
        if not self._phrases:
            return eojeols
        folded = [fold(eojeol).lower() for _, eojeol in eojeols]
        joined: list[tuple[int, str]] = []
        first = 0
        while first < len(eojeols):
            last = first + self._phrase_length(text, eojeols, folded, first) - 1
            start, end = eojeols[first][0], eojeols[last][0] + len(eojeols[last][1])
            joined.append((start, "".join(" " if letter.isspace() else letter for letter in text[start:end])))
            first = last + 1
        return joined

    def _phrase_length(self, text: str, eojeols: Sequence[tuple[int, str]], folded: Sequence[str], first: int) -> int:
        for wanted in self._phrases.get(folded[first], ()):
            found = folded[first : first + len(wanted)]
            if (
                len(found) == len(wanted)
                and tuple(found[:-1]) == wanted[:-1]
                and found[-1].startswith(wanted[-1])
                and all(_only_space(text, *eojeols[n : n + 2]) for n in range(first, first + len(wanted) - 1))
            ):
                return len(wanted)
        return 1


def _only_space(text: str, first: tuple[int, str], second: tuple[int, str]) -> bool:
    return text[first[0] + len(first[1]) : second[0]].isspace()


def _parts(word: str) -> WordParts:
    return tuple(match.group().lower() for match in _PART.finditer(word))


def _by_first(words: Iterator[WordParts]) -> Mapping[str, Sequence[WordParts]]:
    """Return the words by their first part, longest first."""
    found: dict[str, list[WordParts]] = {}
    for word in words:
        found.setdefault(word[0], []).append(word)
    return {first: sorted(several, key=lambda word: (-len(word), word)) for first, several in found.items()}
