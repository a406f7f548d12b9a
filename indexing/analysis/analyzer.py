"""Analyzer protocol: texts → tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

TokenKind = Literal["noun", "bound noun", "predicate", "modifier", "compound", "foreign", "number"]
"""The kind of a token. A compound overlaps the nouns it consists of: skip it when counting a text's words."""

KEYWORD_KINDS: frozenset[TokenKind] = frozenset({"noun", "foreign", "number"})
"""Kinds that can be keywords; the others are only matched."""


class Token(NamedTuple):
    """An indexed ``term``, and the range of characters of the text that it comes from."""

    term: str
    start: int
    end: int
    kind: TokenKind


class Analyzer(Protocol):
    """Analyzes text into terms. Any string has an analysis, possibly an empty one."""

    @property
    def fingerprint(self) -> str:
        """Everything that determines the terms, as readable text. Equal fingerprints mean equal terms."""

    def tokens(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text, ordered by ``start``.

        Tokens may overlap: ``GPT-4`` gives gpt, 4 and gpt4; ``인공신경망`` gives 신경망 too.
        """

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text, in the order of :meth:`tokens`."""
