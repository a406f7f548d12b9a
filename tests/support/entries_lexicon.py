"""A bilingual lexicon that needs no index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shrag.indexing.glossary.store import Entry, Synonym


@dataclass(frozen=True)
class EntriesLexicon:
    """A bilingual lexicon of a few entries in memory."""

    entries: Sequence[Entry]
    listed: Sequence[Synonym] = ()

    def look_up(self, phrases: Sequence[Sequence[str]]) -> list[list[Entry]]:
        """See :class:`BilingualLexicon`."""
        return [
            [entry for entry in self.entries if tuple(phrase) in (entry.korean_terms, entry.english_terms)]
            for phrase in phrases
        ]

    def synonyms(self, phrases: Sequence[Sequence[str]]) -> list[list[Synonym]]:
        """See :class:`BilingualLexicon`."""
        return [[each for each in self.listed if tuple(phrase) == each.terms] for phrase in phrases]

    def transliterations(self, word: str) -> list[Entry]:
        """Return the entries of ``word`` that are transliterations."""
        return [entry for entry in self.entries if entry.source == "transliteration" and entry.korean == word]
