"""The bilingual vocabulary that comes with SHRAG: one file of Korean–English terms per discipline.

``make headwords`` writes ``terms/headwords.json``: the index terms of the vocabulary in both languages and of the
synonyms, by the analyzer without a user dictionary. Analyzing them would take longer than the rest of building a small
index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Analyzer
from shrag.indexing.glossary.store import MAX_TERMS, phrase_tokens, simple_tokens

_FOLDER = Path(__file__).with_name("terms")
HEADWORDS = _FOLDER / "headwords.json"
_FIRST_CONFIDENCE, _CONFIDENCE_STEP, _LOWEST_CONFIDENCE = 0.95, 0.1, 0.45
_AMBIGUOUS = 0.8
_SHORT_ACRONYM = re.compile("[A-Z]{2,3}")
HANGUL = re.compile("[\uac00-\ud7a3]")
_WORD = re.compile(r"\w+")
_FINAL_CONSONANTS = 28


class VocabularyTerm(NamedTuple):
    """A Korean and an English term, and the confidence in the translation before a corpus is read, from 0 to 1.

    A line of ``terms/*.tsv`` has a headword in one language and its translations into the other. The first translation
    has the confidence 0.95, each further one 0.1 less, but at least 0.45. A Korean word of one syllable and an acronym
    of two or three letters have many meanings, so the confidence of their pairs is multiplied by 0.8.
    """

    korean: str
    english: str
    confidence: float


@cache
def read_vocabulary() -> tuple[VocabularyTerm, ...]:
    """Read all files, in alphabetical order; a pair in several files is listed once, with its highest confidence."""
    found: dict[tuple[str, str], float] = {}
    for path in sorted(_FOLDER.glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                headword, _, translations = line.partition("\t")
                for number, translation in enumerate(translations.split(", ")):
                    korean, english = headword, translation
                    if not HANGUL.search(headword):
                        korean, english = translation, headword
                    confidence = max(_LOWEST_CONFIDENCE, _FIRST_CONFIDENCE - _CONFIDENCE_STEP * number)
                    if len(korean) == 1 or _SHORT_ACRONYM.fullmatch(english):
                        confidence *= _AMBIGUOUS
                    found[korean, english] = max(found.get((korean, english), 0.0), confidence)
    return tuple(VocabularyTerm(korean, english, confidence) for (korean, english), confidence in found.items())


class HeadwordForm(NamedTuple):
    """A sequence of index terms of a Korean or English word or phrase.

    Unless ``is_complete``, the terms leave out a part of its meaning: of a Korean headword, syllables, at least one for
    each term (활성화 → 활성); of an English one, stop words that matter (*vitamin A* → *vitamin*).
    """

    terms: tuple[str, ...]
    is_complete: bool


class StoredHeadwords(msgspec.Struct, frozen=True):
    """The content of :data:`HEADWORDS`: the fingerprint of an analyzer, and the forms that it gives each headword."""

    analyzer: str
    forms: dict[str, list[HeadwordForm]]


def forms_of(headwords: Iterable[str], analyzer: Analyzer) -> dict[str, list[HeadwordForm]]:
    """Return the forms of each headword: those that are stored, and :func:`headword_forms` of others."""
    stored = stored_forms(analyzer)
    return {
        headword: stored[headword] if headword in stored else headword_forms(analyzer, headword)
        for headword in dict.fromkeys(headwords)
    }


def stored_forms(analyzer: Analyzer) -> Mapping[str, list[HeadwordForm]]:
    """Return the stored forms of headwords; none if another analyzer made them."""
    stored = _read_stored()
    return stored.forms if stored.analyzer == analyzer.fingerprint else {}


@cache
def _read_stored() -> StoredHeadwords:
    return msgspec.json.decode(HEADWORDS.read_bytes(), type=StoredHeadwords)


def headword_forms(analyzer: Analyzer, headword: str) -> list[HeadwordForm]:
    """Return the different sequences of 1 to :data:`MAX_TERMS` terms that a headword has; an English one has one.

    A Korean headword is analyzed alone and before a particle. Kiwi mistakes some nouns for another word when they stand
    alone (각주, 분해), and others before a particle. Terms that leave out syllables are used only if both analyses give
    them: then the syllables are an affix, which is never indexed. Otherwise the terms are those of another word
    (비교군 → 비교).
    """
    if not HANGUL.search(headword):
        return _english_forms(analyzer, headword)
    forms = [headword]
    if HANGUL.fullmatch(headword[-1]):
        forms.append(headword + ("을" if (ord(headword[-1]) - 0xAC00) % _FINAL_CONSONANTS else "를"))
    found: dict[tuple[str, ...], int] = {}
    analyses: list[tuple[str, ...]] = []
    for tokens in analyzer.tokens([form.replace("-", " ") for form in forms]):
        simple = [
            token for token in simple_tokens(tokens) if token.kind in KEYWORD_KINDS and token.start < len(headword)
        ]
        covered = {place for token in simple for place in range(token.start, token.end)}
        terms = tuple(token.term for token in simple)
        found[terms] = sum(
            place not in covered and HANGUL.match(character) is not None for place, character in enumerate(headword)
        )
        analyses.append(terms)
    agreed = len(set(analyses)) == 1
    return [
        HeadwordForm(terms, missing < len(terms))
        for terms, missing in found.items()
        if 0 < len(terms) <= MAX_TERMS
        and (missing < len(terms) or (agreed and missing <= len(headword) // 3 and len("".join(terms)) > 1))
    ]


def _english_forms(analyzer: Analyzer, phrase: str) -> list[HeadwordForm]:
    """Return the form of an English phrase; it is complete if the phrase means the same without its stop words.

    *Abuse of the elderly* does. *Vitamin A*, *World War I* and *after surgery* do not: they lose the last word, or keep
    one word only.
    """
    tokens, words = phrase_tokens(analyzer, phrase), _WORD.findall(phrase)
    if not 0 < len(tokens) <= MAX_TERMS:
        return []
    is_complete = len(words) == 1 or (len(tokens) > 1 and phrase[tokens[-1].start : tokens[-1].end].endswith(words[-1]))
    return [HeadwordForm(tuple(token.term for token in tokens), is_complete)]
