"""What choices are worth that are made without reading the question: what an accuracy over choices is held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import fmean

import msgspec

from shrag.evaluation.references import Reference


class ChoiceLevels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``chance``: the expected share of right ones among drawn choices; ``constant``: if it is always ``letter``.

    That letter is the one that is right most often, the first of several.
    """

    chance: float
    constant: float
    letter: str


def choice_levels(references: Iterable[Reference]) -> ChoiceLevels | None:
    """Return the levels over the references that have choices, None where there are none."""
    chosen = [reference for reference in references if reference.choice]
    if not chosen:
        return None
    ((letter, count),) = Counter(sorted(each.choice for each in chosen)).most_common(1)
    return ChoiceLevels(fmean(1 / len(each.choices) for each in chosen), count / len(chosen), letter)
