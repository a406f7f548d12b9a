"""``[ANS_n]`` slots: placeholders in a sub-question for the answer to sub-question n, counted from 1.

Spellings such as ``[ans 1]`` and ``[ANS1]`` are read too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SLOT = re.compile(r"\[\s*ANS[_ ]?(\d{1,3})\s*\]", re.IGNORECASE)


def find_slots(text: str) -> tuple[int, ...]:
    """Return the numbers of the slots in ``text``, each once, in the order of their first occurrence.

    >>> find_slots("Where was [ANS_2] built, and did [ANS_1] see [ANS_2]?")
    (2, 1)
    """
    return tuple(dict.fromkeys(int(slot[1]) for slot in _SLOT.finditer(text)))


def fill_slots(text: str, answers: Mapping[int, str]) -> str:
    """Return ``text`` with the answers in its slots; a slot without an answer is removed.

    White space becomes single spaces.

    >>> fill_slots("Where was [ANS_2] of [ANS_1] born?", {2: "the director"})
    'Where was the director of born?'
    """
    return " ".join(_SLOT.sub(lambda slot: answers.get(int(slot[1]), ""), text).split())


def remove_forward_slots(text: str, number: int) -> str:
    """Remove the slots of sub-question ``number`` that refer to itself or a later one, so that no plan has a cycle.

    >>> remove_forward_slots("Did [ANS_1] write [ANS_3]?", 2)
    'Did [ANS_1] write ?'
    """
    return fill_slots(text, {slot: f"[ANS_{slot}]" for slot in find_slots(text) if 1 <= slot < number})
