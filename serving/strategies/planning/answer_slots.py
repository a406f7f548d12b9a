"""``[ANS_n]`` slots: placeholders in a sub-question for the answer to sub-question n, counted from 1.

Spellings such as ``[ans 1]`` and ``[ANS1]`` are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from shrag.corpora.text.cleaning import plain_line
from shrag.serving.strategies.planning.subquery import question_key

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


def distinct_questions(texts: Iterable[str], question: str) -> list[str]:
    """Return the questions that a model wrote, but none that repeats ``question`` or an earlier one.

    Slots get the new numbers of the questions that they refer to. A slot that refers to ``question``, to the slot's own
    question, to a later one or to none is removed, so that no plan has a cycle.

    >>> distinct_questions(["Who was it?", "Who wrote [ANS_3]?", "When did [ANS_2] live?"], "who was it")
    ['Who wrote ?', 'When did [ANS_1] live?']
    """
    distinct: dict[str, str] = {}
    slots: dict[int, str] = {}
    for number, text in enumerate(texts, 1):
        key = question_key(text)
        if key in ("", question_key(question)):
            continue
        if key not in distinct:
            distinct[key] = fill_slots(plain_line(text), slots)
        slots[number] = f"[ANS_{[*distinct].index(key) + 1}]"
    return list(distinct.values())
