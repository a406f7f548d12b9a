"""A composition: stages in an order that makes sense, which is checked before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass

from shrag.serving.composition.stages import FINDERS, KINDS, MOST_QUERIES, QUERY_MAKERS, Kind, Phase, Stage
from shrag.serving.errors import CompositionRejected

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
