"""When two questions of a plan are one: the same letters and digits, whatever stands between them."""

from __future__ import annotations


def question_key(text: str) -> str:
    """Return what questions that are asked once have in common; empty for what is no question.

    >>> question_key("Who is he?") == question_key("who IS he")
    True
    """
    return "".join(character for character in text.casefold() if character.isalnum())
