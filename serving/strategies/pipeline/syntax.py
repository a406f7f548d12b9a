"""Pipeline stages, grammar and validation."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from shrag.serving.errors import CompositionRejected

LARGEST_POOL = 1_000
"""Records a stage may keep or a query be asked for."""

MOST_QUERIES = 16
"""Searches a composition may make: queries times the ways each is searched for."""

GLOSSARY = "glossary"
"""What ``expand`` expands by."""

Phase = Literal["queries", "lists", "ranking", "scored"]
"""What there is between two stages: queries; one list of records for each; one list; one list with scores of a
re-ranker."""

Argument = int | float | str | None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage and its argument: a whole number, a score, a word, or none."""

    name: str
    argument: Argument = None

    def __str__(self) -> str:
        """Return it as it is written.

        >>> str(Stage("filter", 0.6)), str(Stage("filter", 0.0)), str(Stage("temp_answer"))
        ('filter(0.6)', 'filter(0)', 'temp_answer')
        """
        if self.argument is None:
            return self.name
        if isinstance(self.argument, float):
            return f"{self.name}({f'{self.argument:.{SCORE_DIGITS}f}'.rstrip('0').rstrip('.')})"
        return f"{self.name}({self.argument})"


SCORE_DIGITS = 4
"""Decimal places a score may have."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is true of every stage of one name: what it ``does`` in a few words, what it may follow, and its argument.

    ``least`` and ``most`` bound a whole number; a score is from 0 to below 1. ``words`` are the choices of a word.
    """

    name: str
    does: str
    takes: frozenset[Phase]
    gives: Phase | None
    form: Literal["number", "score", "word", "none"] = "none"
    least: int = 1
    most: int = LARGEST_POOL
    words: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The stage as it is to be written."""
        if self.form == "number":
            return f"{self.name}({self.least}…{self.most})"
        if self.form == "score":
            return f"{self.name}(0…0.{'9' * SCORE_DIGITS})"
        return f"{self.name}({' or '.join(self.words)})" if self.words else self.name


_QUERIES: frozenset[Phase] = frozenset({"queries"})
_ONE_LIST: frozenset[Phase] = frozenset({"ranking", "scored"})

KINDS = {
    kind.name: kind
    for kind in (
        Kind("augment", "adds further queries", _QUERIES, "queries", "number", 1, 8),
        Kind("hypothesis", "adds supposed answers as queries", _QUERIES, "queries", "number", 1, 8),
        Kind("expand", "adds the question in the other language", _QUERIES, "queries", "word", words=(GLOSSARY,)),
        Kind("retrieve", "finds records by words", _QUERIES | {"lists"}, "lists", "number"),
        Kind("dense", "finds records by vectors", _QUERIES | {"lists"}, "lists", "number"),
        Kind("rrf", "makes one list of several", frozenset({"lists"}), "ranking", "number"),
        Kind("rerank", "scores each record for the question", _ONE_LIST, "scored", "number"),
        Kind("temp_answer", "answers from the best so far", _ONE_LIST, None),
        Kind("answer_rerank", "scores each record for question and answer", _ONE_LIST, "scored", "number"),
        Kind("filter", "keeps what scores more", frozenset({"scored"}), None, "score"),
    )
}
"""The stages there are, in the order in which they are usually written; those that give None leave what there is."""

QUERY_MAKERS = frozenset({"augment", "hypothesis", "expand"})
FINDERS = frozenset({"retrieve", "dense"})


BETWEEN = " > "
"""What stands between two stages."""


@dataclass(frozen=True, slots=True)
class Composition:
    """Stages that fit each other; raises :class:`CompositionRejected` for any that do not.

    ``str`` gives the line in its canonical form, which parses to the same composition.
    """

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        _check(self.stages)

    def __str__(self) -> str:
        """Return the line in its canonical form."""
        return BETWEEN.join(map(str, self.stages))

    def number(self, name: str) -> int:
        """Return the whole number of the stage called ``name``, 0 where there is none."""
        return next((each.argument for each in self.stages if each.name == name and type(each.argument) is int), 0)

    @property
    def finders(self) -> tuple[Stage, ...]:
        """The stages that find records, in their order."""
        return tuple(each for each in self.stages if each.name in FINDERS)

    @property
    def query_makers(self) -> tuple[Stage, ...]:
        """The stages that add queries, in their order."""
        return tuple(each for each in self.stages if each.name in QUERY_MAKERS)

    @property
    def behind(self) -> tuple[Stage, ...]:
        """The stages behind the one list of records, in their order."""
        before = QUERY_MAKERS | FINDERS | {"rrf"}
        return tuple(each for each in self.stages if each.name not in before)


def _check(stages: tuple[Stage, ...]) -> None:
    phase: Phase = "queries"
    for place, stage in enumerate(stages):
        kind = KINDS.get(stage.name)
        if kind is None:
            raise CompositionRejected(f"There is no stage {stage.name!r}: use {', '.join(KINDS)}.")
        _check_argument(stage, kind)
        if phase == "lists" and _lists(stages) == 1 and "lists" not in kind.takes:
            phase = "ranking"  # the only list there is
        _check_place(stage, kind, phase, [each.name for each in stages[:place]])
        phase = kind.gives or phase
    _check_end(stages, phase)


def _check_place(stage: Stage, kind: Kind, phase: Phase, before: list[str]) -> None:
    if stage.name in before:
        raise CompositionRejected(f"The stage {stage.name} stands twice: leave one of the two out.")
    if phase not in kind.takes:
        raise CompositionRejected(_misplaced(stage, phase))
    if stage.name == "answer_rerank" and "temp_answer" not in before:
        raise CompositionRejected(f"{stage} has no answer to go by: put temp_answer before it.")


def _check_end(stages: tuple[Stage, ...], phase: Phase) -> None:
    names, lists = {stage.name for stage in stages}, _lists(stages)
    if phase == "queries":
        raise CompositionRejected("A composition has to find something: put in retrieve(10).")
    if "rrf" in names and lists == 1:
        raise CompositionRejected("rrf has one list to fuse: add queries before it, or leave it out.")
    if phase == "lists" and lists > 1:
        raise CompositionRejected(f"The composition ends with {lists} lists: put rrf(15) at its end.")
    if "temp_answer" in names and "answer_rerank" not in names:
        raise CompositionRejected("Nothing goes by the temporary answer: put answer_rerank(5) behind it.")
    if lists > MOST_QUERIES:
        raise CompositionRejected(
            f"The composition makes up to {lists} searches, at most {MOST_QUERIES} are made: ask for fewer queries."
        )


def _lists(stages: tuple[Stage, ...]) -> int:
    """Return how many lists of records the stages make at most."""
    queries = 1
    for each in stages:
        if each.name in QUERY_MAKERS:
            queries += each.argument if isinstance(each.argument, int) else 1
    return queries * sum(each.name in FINDERS for each in stages)


def _check_argument(stage: Stage, kind: Kind) -> None:
    argument = stage.argument
    fits = {
        "number": type(argument) is int and kind.least <= argument <= kind.most,
        "score": type(argument) is float and 0 <= argument < 1,
        "word": argument in kind.words,
        "none": argument is None,
    }[kind.form]
    if not fits:
        raise CompositionRejected(f"The stage {stage} is not {kind.usage}: write it so.")


def _misplaced(stage: Stage, phase: Phase) -> str:
    """Return why ``stage`` cannot stand where there is ``phase``."""
    if stage.name in QUERY_MAKERS:
        return f"{stage} comes too late: put it before the stages that find records."
    if stage.name in FINDERS:
        return f"{stage} comes too late: put it behind the queries and before rrf."
    if phase == "queries":
        return f"{stage} has nothing to work on yet: put retrieve(10) before it."
    if phase == "lists":
        return f"{stage} needs one list of records, and each query has its own: put rrf(15) before it."
    if stage.name == "filter":
        return f"{stage} needs a re-ranker's scores: put rerank(5) before it."
    return f"{stage} has one list already: put it right behind the stages that find records."


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
