"""Phrases as a glossary has them: their terms one after the other, however a hyphen joins them."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.indexing.analysis import KEYWORD_KINDS, Analyzer, Token


def simple_tokens(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens that hold no smaller one, by their places: of GPT-4's gpt, 4 and gpt4 the first two."""
    kept: list[Token] = []
    for token in sorted(tokens, key=lambda token: (token.end - token.start, token.start)):
        if not any(token.start < other.end and other.start < token.end for other in kept):
            kept.append(token)
    return sorted(kept, key=lambda token: token.start)


def phrase_terms(analyzer: Analyzer, phrase: str) -> tuple[str, ...]:
    """Return the phrase's terms that can be keywords, in their order."""
    (tokens,) = analyzer.tokens([phrase.replace("-", " ")])
    return tuple(token.term for token in simple_tokens(tokens) if token.kind in KEYWORD_KINDS)
