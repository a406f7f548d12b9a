"""Find the words of a question that its best records do not cover, in the form in which users see them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shrag.indexing.analysis.general_words import GENERAL_WORDS
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.lexical.evidence import covered_segments, distinctive_segments
from shrag.indexing.translation.query_translation import AnalyzedQuestion, QuerySegment

_COVERING = 3
_MOST_SHOWN = 4
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_KOREAN = re.compile("[\uac00-\ud7a3]{3,}")
_NO_LETTER = re.compile(r"[\W_]+")
_VERB_ENDINGS = ("ed", "ing", "ly")
# Suffixes that belong to a Korean word (자유학기제) although they are no terms; particles do not belong to it.
_SUFFIXES = "소제자성용식형화률율법론학품원체층망계력감"
# A noun of one syllable with a particle (산은), which may be analyzed as a name.
_DOUBTFUL = re.compile("[\uac00-\ud7a3][은는을를]")


class UncoveredWords(NamedTuple):
    """The subject words of a question that its best records do not have.

    A subject word is a distinctive word that does not frame the request and is neither a general word nor a verb.

    Attributes:
        words: The first four of these words.
        share: The share of the question's subject words that the records do not have.
        untranslated: The words that have no known translation either, the first four. That a record in the other
            language lacks one of the others may only mean that it uses a translation that is not known.
    """

    words: tuple[str, ...]
    share: float
    untranslated: tuple[str, ...] = ()


def uncovered_words(question: AnalyzedQuestion, records: Sequence[AnalyzedRecord]) -> UncoveredWords:
    """Return the subject words of a question, whole and as written, that are missing from its best three records.

    A word is missing if no record has any part of it. Words whose absence is uncertain are left out: verbs, words that
    a record writes otherwise (LabView, Lab view), and Korean words of which only the last syllable is missing (육각형,
    육각).
    """
    best = records[:_COVERING]
    covered = [covered_segments(question, record) for record in best]
    distinctive = frozenset(distinctive_segments(question))
    subject: set[str] = set()
    missing: dict[str, bool] = {}
    for match in _WORD.finditer(question.text):
        parts = {
            number: segment
            for number, segment in enumerate(question.segments)
            if segment.start < match.end() and match.start() < segment.end
        }
        word = _as_written(match, parts.values())
        if (
            not distinctive.isdisjoint(parts)
            and _names_subject(word)
            and not any(map(_frames_or_tells, parts.values()))
        ):
            subject.add(word)
            if not any(each[number] for each in covered for number in parts):
                missing.setdefault(word, any(part.translations for part in parts.values()))
    # Only few questions have missing words, and reading the letters of a text takes longer than all of the above.
    texts = [_letters(f"{each.record.title} {each.record.text}") for each in best] if missing else []
    uncovered = [word for word in missing if not any(_shortest_form(word) in text for text in texts)]
    untranslated = [word for word in uncovered if not missing[word]]
    return UncoveredWords(
        tuple(uncovered[:_MOST_SHOWN]), len(uncovered) / max(1, len(subject)), tuple(untranslated[:_MOST_SHOWN])
    )


def _as_written(match: re.Match[str], parts: Iterable[QuerySegment]) -> str:
    """Return a word with its suffix and without its particles."""
    end = min(max((part.end for part in parts), default=match.start()), match.end())
    if match.string[end : match.end()][:1] in _SUFFIXES:
        end = min(end + 1, match.end())
    return match.string[match.start() : end]


def _names_subject(word: str) -> bool:
    """Return whether a word can name a subject: it is neither a general word nor, by its ending, an English verb."""
    lower = word.lower()
    general = lower in GENERAL_WORDS or (word.islower() and word.isascii() and lower.endswith(_VERB_ENDINGS))
    return len(word) > 1 and not general and not _DOUBTFUL.fullmatch(word)


def _frames_or_tells(segment: QuerySegment) -> bool:
    return segment.is_framing or segment.is_light or any(token.kind == "predicate" for token in segment.tokens)


def _shortest_form(word: str) -> str:
    """Return the letters of a word without a plural's s, or without the last of three or more Hangul syllables."""
    letters = _letters(word)
    return letters[:-1] if _KOREAN.fullmatch(letters) else letters.removesuffix("s")


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", text.lower())
