"""Select terms from Kiwi's morphemes, and prepare text for Kiwi."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Token, TokenKind
from shrag.indexing.analysis.latin import MAX_TERM_LENGTH
from shrag.indexing.analysis.stopwords import KOREAN_STOPWORDS

INDEXED_TAGS: Mapping[str, TokenKind] = {
    "NNG": "noun",  # common nouns
    "NNP": "noun",  # proper nouns
    "NR": "noun",  # numerals in words
    "XR": "noun",  # roots of 하다 words: 깨끗, 복잡
    "SH": "noun",  # Hanja
    "NNB": "bound noun",  # counters and the like: 명, 차
    "NP": "bound noun",  # pronouns
    "VV": "predicate",  # verbs
    "VA": "predicate",  # adjectives
    "MAG": "modifier",  # adverbs
}
"""Sejong tags that are indexed, without particles, endings, copulas, affixes and punctuation."""

_JOINED_TAGS = frozenset({"NNG", "NNP", "NR", "XR", "SH", "XPN"})


class Morpheme(NamedTuple):
    """A morpheme; ``form`` may differ from ``text[start:end]``, since Kiwi restores stems and contractions."""

    form: str
    tag: str
    start: int
    end: int


def korean_tokens(morphemes: Sequence[Morpheme]) -> Iterator[Token]:
    """Yield an eojeol's tokens: the indexed morphemes, and each run of adjacent nouns and prefixes as a compound.

    A compound is thus found by its parts (인공, 신경망), and ranked first in its full form (인공신경망, 비선형).
    """
    for morpheme in morphemes:
        kind = INDEXED_TAGS.get(morpheme.tag)
        if kind is not None and morpheme.form not in KOREAN_STOPWORDS:
            yield Token(_term(morpheme), morpheme.start, morpheme.end, kind)
    for run in _noun_runs(morphemes):
        joined = "".join(part.form for part in run).replace(" ", "")
        yield Token(joined[:MAX_TERM_LENGTH], run[0].start, run[-1].end, "compound")


def _term(morpheme: Morpheme) -> str:
    form = morpheme.form.replace(" ", "")  # a user's word may have spaces
    if morpheme.tag[0] == "V" and len(form) > 2 and form[-1] in "하되":
        form = form[:-1]  # Kiwi gives 깨끗하 as one morpheme, 복잡 + 하 as two: the term of both is the root
    return form[:MAX_TERM_LENGTH]


def _noun_runs(morphemes: Iterable[Morpheme]) -> Iterator[list[Morpheme]]:
    """Yield each run of two or more adjacent nouns and prefixes."""
    run: list[Morpheme] = []
    for morpheme in morphemes:
        if morpheme.tag not in _JOINED_TAGS or (run and run[-1].end != morpheme.start):
            if len(run) > 1:
                yield run
            run = []
        if morpheme.tag in _JOINED_TAGS:
            run.append(morpheme)
    if len(run) > 1:
        yield run


_READ_AS_SYMBOL = re.compile("[^\\s0-9A-Za-z\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff()\\[\\]·/,.:~'\"“”‘’「」『』-]")
_HYPHEN_BEFORE_KOREAN = re.compile("(?<![\uac00-\ud7a3])-(?=[\uac00-\ud7a3])")


def prepare_for_kiwi(folded: str) -> str:
    """Replace characters that mislead Kiwi, without changing positions.

    Kiwi does not recognise the particle after a Greek letter or a percent sign (β를 gives the noun 르), or in
    β-카로틴의. Such characters become a Latin letter, such hyphens a space.
    """
    return _HYPHEN_BEFORE_KOREAN.sub(" ", _READ_AS_SYMBOL.sub("A", folded))
