"""Analyzer protocol and Token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

TokenKind = Literal["noun", "bound noun", "predicate", "modifier", "compound", "foreign", "number"]
"""What a token is. Nouns, foreign words and numbers can be keywords; the rest only match.

A compound lies over the nouns it is made of: who counts a text's words passes it over.
"""

KEYWORD_KINDS: frozenset[TokenKind] = frozenset({"noun", "foreign", "number"})


class Token(NamedTuple):
    """``term`` is what is indexed; ``start`` and ``end`` bound the characters of the text it came from."""

    term: str
    start: int
    end: int
    kind: TokenKind


class Analyzer(Protocol):
    """Turns text into terms. Total: any string has an analysis, possibly an empty one."""

    @property
    def fingerprint(self) -> str:
        """Everything that decides the terms, readable. Two analysers with one fingerprint give the same terms."""

    def tokens(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text by rising ``start``.

        Tokens may overlap: ``GPT-4`` is gpt, 4 and gpt4, and ``신경망`` within ``인공신경망`` is a token of its own.
        """

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text, as :meth:`tokens` has them."""
