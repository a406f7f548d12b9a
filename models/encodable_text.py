"""Make a text encodable in UTF-8, as language models and tokenizers need it."""

from __future__ import annotations


def encodable(text: str) -> str:
    r"""Return ``text`` with ``?`` for each lone surrogate, which a terminal of another encoding may give.

    >>> encodable("caf\udce9")
    'caf?'
    """
    return text.encode(errors="replace").decode()
