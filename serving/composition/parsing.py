"""Reading a composition from one line, and what a line means that only nearly is one."""

from __future__ import annotations

import difflib
import re

from shrag.serving.composition.composition import Composition
from shrag.serving.composition.stages import KINDS, SCORE_DIGITS, Argument, Stage
from shrag.serving.errors import CompositionRejected

LONGEST_LINE = 300
"""Characters a line may have; the longest that makes sense has some 130."""

_STAGE = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]{0,30})\s*(?:\(\s*([^\s()]{0,20})\s*\))?\s*")
_NUMBER = re.compile(r"[0-9]{1,6}")
_SCORE = re.compile(rf"[0-9]\.[0-9]{{1,{SCORE_DIGITS}}}")


def parse_composition(line: str) -> Composition:
    """Return the composition that ``line`` is: stages, each ``name`` or ``name(argument)``, with ``>`` between them.

    Raises :class:`CompositionRejected` in one sentence that says what to change.

    >>> str(parse_composition("augment( 2 )>retrieve(10)>rrf(15)>rerank(5)>filter(0.60)"))
    'augment(2) > retrieve(10) > rrf(15) > rerank(5) > filter(0.6)'
    """
    if len(line) > LONGEST_LINE:
        raise CompositionRejected(
            f"The composition has {len(line)} characters, at most {LONGEST_LINE} are read: shorten it."
        )
    return Composition(tuple(_stage(part) for part in line.split(">")))


def _stage(part: str) -> Stage:
    match = _STAGE.fullmatch(part)
    if match is None:
        raise CompositionRejected(f"{part.strip()!r} is no stage: write one as retrieve(10) or temp_answer.")
    name, argument = match.groups()
    kind = KINDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name.lower(), KINDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use {', '.join(KINDS)}."
        raise CompositionRejected(f"There is no stage {name!r}: {hint}")
    return Stage(name, _argument(argument, score=kind.form == "score"))


def _argument(text: str | None, *, score: bool) -> Argument:
    """Return what stands between the brackets; what is not as it should be stays text, which no stage takes."""
    if text is not None and _NUMBER.fullmatch(text):
        return float(text) if score else int(text)
    if text is not None and score and _SCORE.fullmatch(text):
        return float(text)
    return text
