"""Whether a long answer says a short one: the right figure, name or term stands in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shrag.evaluation.answers.normalisation import normalise


def string_match(answer: str, references: Iterable[str]) -> float:
    """Return 1 where one of ``references`` stands in ``answer`` once both are normalised, else 0.

    STR-EM of ASQA (Stelmakh et al., 2022) for a question with one short answer in several wordings. It stands where no
    letter or digit of its own kind goes on before or behind it: 14 does not stand in 140 or 3.14, 14 and 이온 do in
    14 QL and 이온을, since Korean particles are written together with what they follow.

    >>> string_match("The two decouple from 14 QL on.", ["14"]), string_match("At 140 QL.", ["14"])
    (1.0, 0.0)
    """
    text = normalise(answer)
    return float(any(_stands(normalise(reference), text) for reference in references))


def _stands(wanted: str, text: str) -> bool:
    return bool(wanted) and re.search(rf"(?<![\w.]){re.escape(wanted)}(?![0-9a-z]|\.[0-9])", text) is not None
