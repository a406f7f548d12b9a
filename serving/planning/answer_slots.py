"""``[ANS_2]`` in a planned question: the place that the answer of the second step is put into."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SLOT = re.compile(r"\[\s*ANS[_ ]?(\d{1,3})\s*\]", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def needed(text: str) -> tuple[int, ...]:
    """Return the steps whose answers ``text`` has places for, each once, in the order of the text.

    >>> needed("Where was [ANS_2] built, and did [ANS_1] see [ANS_2]?")
    (2, 1)
    """
    return tuple(dict.fromkeys(int(slot[1]) for slot in _SLOT.finditer(text)))


def looking_back(text: str, number: int) -> str:
    """Return ``text``, the step of that ``number``, with places for the answers of earlier steps alone.

    A plan whose questions wait for earlier ones only cannot wait for itself.

    >>> looking_back("Did [ANS_1] write [ANS_3]?", 2)
    'Did [ANS_1] write ?'
    """
    return fill(text, {slot: f"[ANS_{slot}]" for slot in needed(text) if 1 <= slot < number})


def fill(text: str, answers: Mapping[int, str]) -> str:
    """Return ``text`` with the answers in their places; a place whose answer is not known is left out.

    >>> fill("Where was [ANS_2] of [ANS_1] born?", {2: "the director"})
    'Where was the director of born?'
    """
    return _SPACES.sub(" ", _SLOT.sub(lambda slot: answers.get(int(slot[1]), ""), text)).strip()
