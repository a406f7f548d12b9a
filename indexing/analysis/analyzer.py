"""The Analyzer protocol (texts → tokens) and the folded form in which texts are matched.

Records store their text as written (NFC). Matching uses its NFKC form, in which all dashes are one character and all
apostrophes are another. So ``Ａ₃`` equals ``A3``, ``㎏`` equals ``kg`` and ``‐`` equals ``-``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

TokenKind = Literal["noun", "bound noun", "predicate", "modifier", "compound", "foreign", "number"]
"""The kind of a token. A compound overlaps the nouns it consists of: skip it when counting a text's words."""

KEYWORD_KINDS: frozenset[TokenKind] = frozenset({"noun", "foreign", "number"})
"""The kinds that can be keywords. Tokens of the other kinds are only matched."""


VARIANTS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-") | {"\u2019": "'"})
"""Translation table that maps dashes to ``-`` and the typographic apostrophe to ``'``."""


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


def fold(text: str) -> str:
    """Return the folded form of ``text``, which matching uses.

    >>> fold("Ａ₃‐㎏")
    'A3-kg'
    """
    return unicodedata.normalize("NFKC", text).translate(VARIANTS)
