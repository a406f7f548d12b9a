"""Questions to begin with, made of terms that the index itself holds in both languages."""

from __future__ import annotations

from collections.abc import Iterable

from shrag.indexing.glossary import Entry
from shrag.indexing.opening import OpenIndex
from shrag.serving.display import LONGEST_NAME
from shrag.serving.page_request import InterfaceLanguage

MOST_EXAMPLES = 4

_MINED = frozenset({"brackets", "keywords"})
"""Sources that are the corpus's own words; the others are lists of general words or guesses."""

_CONSIDERED = 200


def example_terms(index: OpenIndex) -> tuple[tuple[str, str], ...]:
    """Return Korean and English names of what ``index`` is about, at most :data:`MOST_EXAMPLES` of each.

    They are the pairs seen in most records among those mined from its own texts, terms of several words first: those
    say what a paper is about, where a single word often does not. Empty where it has no glossary.
    """
    return () if index.glossary is None else tuple(_chosen(index.glossary.most_seen(_CONSIDERED)))


def examples(index: OpenIndex, language: InterfaceLanguage, pattern: str) -> list[str]:
    """Return questions by ``pattern``, which has a blank ``{term}``, about terms in the interface's language."""
    side = 0 if language == "ko" else 1
    return [pattern.replace("{term}", names[side]) for names in example_terms(index)]


def _chosen(entries: Iterable[Entry]) -> Iterable[tuple[str, str]]:
    named = [each for each in entries if each.source in _MINED and _can_be_shown(each)]
    named.sort(key=lambda each: len(each.english_terms) < 2)  # the order of frequency stays within each half
    return [(each.korean, each.english) for each in named[:MOST_EXAMPLES]]


def _can_be_shown(entry: Entry) -> bool:
    return len(entry.korean) <= LONGEST_NAME and len(entry.english) <= LONGEST_NAME
