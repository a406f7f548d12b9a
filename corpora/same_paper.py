"""Whether two records are the same paper under two numbers. Pure functions over clean text.

A paper that stands in two databases has the same title up to spaces, signs and case, and nearly the same abstract;
or the same abstract under a title that was translated or lost a word. Neither alone will do: a review, a lecture and a
book are all called "Artificial intelligence", the passages of one Wikipedia article share a title, and the parts of a
series ("(1)", "(2)") are given with one and the same note.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from shrag.corpora.language import detect_language
from shrag.corpora.records import Record

SHORTEST_TEXT = 100
"""Letters and digits a text must have to be compared: shorter ones are titles repeated and notes of the publisher."""

LONGEST_COMPARED = 10_000
"""Characters from its beginning that are compared of a text."""

NEAR = 0.7
"""Share of common shingles (Jaccard) from which on two texts under one title are the same paper's."""

NEARER = 0.95
"""The same for texts whose titles differ."""

_SHINGLE = 5
_BEGINNING = 150
_SURELY_BEGINNING = 4 * _BEGINNING
_TITLES_NEAR = 0.5
_TITLE_SHINGLE = 3

_LETTERS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+|\b[ivx]+\b")


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is compared of a record: its title, that as :func:`letters`, and its text as runs of five of them."""

    title: str
    title_letters: str
    shingles: frozenset[str]


def letters(text: str) -> str:
    """Return the letters and digits of a text, compatibility forms and case folded.

    >>> letters("일-가정 갈등 : ＣＯ₂ 'Part II'")
    '일가정갈등co2partii'
    """
    return "".join(_LETTERS.findall(_folded(text)))


def likeness(record: Record) -> Likeness | None:
    """Return what is compared of a record, None where its text is too short for that."""
    text = letters(record.text[:LONGEST_COMPARED])
    if len(text) < SHORTEST_TEXT:
        return None
    return Likeness(record.title, letters(record.title), _shingles(text, _SHINGLE))


def likeness_keys(record: Record) -> tuple[int, ...]:
    """Return the 63-bit keys under which the same paper would stand: one of its title, one of its text's beginning.

    There are none where the text is too short to be compared, and none of the text where it is not half as long again.
    """
    beginning = letters(record.text[:_SURELY_BEGINNING])[:_BEGINNING]
    if len(beginning) < SHORTEST_TEXT:
        return ()
    title = letters(record.title)
    keys = [_key(b"title", title)] if title else []
    if len(beginning) == _BEGINNING:
        keys.append(_key(b"text", beginning))
    return tuple(keys)


def same_paper(one: Likeness, other: Likeness) -> bool:
    """Say whether two records are one paper: the same title or one that fits, and near-identical texts."""
    if one.title_letters == other.title_letters != "":
        return _share(one.shingles, other.shingles) >= NEAR
    return _titles_fit(one.title, other.title) and _share(one.shingles, other.shingles) >= NEARER


def _titles_fit(one: str, other: str) -> bool:
    """Say whether two titles may name one paper: they have the same numbers, and are translated or nearly the same."""
    if sorted(_NUMBER.findall(_folded(one))) != sorted(_NUMBER.findall(_folded(other))):
        return False
    if {detect_language(one), detect_language(other)} == {"ko", "en"}:
        return True
    return _share(_shingles(letters(one), _TITLE_SHINGLE), _shingles(letters(other), _TITLE_SHINGLE)) >= _TITLES_NEAR


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _shingles(text: str, length: int) -> frozenset[str]:
    return frozenset(text[start : start + length] for start in range(len(text) - length + 1))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the shingles of either that both have (Jaccard's index), 0 where neither has any."""
    common = len(one & other)
    return common / max(1, len(one) + len(other) - common)


def _key(kind: bytes, text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8, person=kind).digest()
    return int.from_bytes(digest) >> 1
