"""The grammar of pipelines: stages, what each may follow, and parsing of lines."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from shrag.messages.text import Text
from shrag.serving.errors import PipelineRejected

LARGEST_LIST = 1_000
"""Most records that a stage may keep, and most hits of a query."""

MOST_SEARCHES = 16
"""Most searches of a pipeline. A query is one search by words or by vectors, and two by both."""

SCORE_DIGITS = 4
"""Decimal places of a score."""

Phase = Literal["queries", "lists", "ranking", "scored"]
"""What a stage takes or gives: queries; a list of records for each; one list; one list with a re-ranker's scores."""

Argument = int | float | str | None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage and its argument: a whole number, a score, a word, or none."""

    name: str
    argument: Argument = None

    def __str__(self) -> str:
        """Return the stage as a line has it.

        >>> str(Stage("filter", 0.6)), str(Stage("filter", 0.0)), str(Stage("temp_answer"))
        ('filter(0.6)', 'filter(0)', 'temp_answer')
        """
        if self.argument is None:
            return self.name
        if isinstance(self.argument, float):
            return f"{self.name}({f'{self.argument:.{SCORE_DIGITS}f}'.rstrip('0').rstrip('.')})"
        return f"{self.name}({self.argument})"


@dataclass(frozen=True, slots=True)
class StageKind:
    """A stage's name, the phases that it takes and gives, and the form of its argument.

    ``gives`` is None for a stage that keeps the phase. ``least`` and ``most`` bound a number; a score is at least 0 and
    below 1; ``words`` are the values of a word.
    """

    name: str
    takes: frozenset[Phase]
    gives: Phase | None
    form: Literal["number", "score", "word", "none"] = "none"
    least: int = 1
    most: int = LARGEST_LIST
    words: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """How the stage is written."""
        if self.form == "number":
            return f"{self.name}({self.least}…{self.most})"
        if self.form == "score":
            return f"{self.name}(0…0.{'9' * SCORE_DIGITS})"
        return f"{self.name}({' or '.join(self.words)})" if self.words else self.name


_QUERIES: frozenset[Phase] = frozenset({"queries"})
_ONE_LIST: frozenset[Phase] = frozenset({"ranking", "scored"})

STAGE_KINDS = {
    kind.name: kind
    for kind in (
        StageKind("augment", _QUERIES, "queries", "number", 1, 8),
        StageKind("hypothesis", _QUERIES, "queries", "number", 1, 8),
        StageKind("expand", _QUERIES, "queries", "word", words=("glossary",)),
        StageKind("retrieve", _QUERIES | {"lists"}, "lists", "number"),
        StageKind("dense", _QUERIES | {"lists"}, "lists", "number"),
        StageKind("rrf", frozenset({"lists"}), "ranking", "number"),
        StageKind("rerank", _ONE_LIST, "scored", "number"),
        StageKind("temp_answer", _ONE_LIST, None),
        StageKind("answer_rerank", _ONE_LIST, "scored", "number"),
        StageKind("filter", frozenset({"scored"}), None, "score"),
    )
}
"""The stages by name, in the order in which they are usually written."""

_EXPANSION = frozenset({"augment", "hypothesis", "expand"})
_SEARCH = frozenset({"retrieve", "dense"})


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages that fit each other; stages that do not fit raise :class:`PipelineRejected`.

    ``str`` gives the line in its canonical form, which parses to the same pipeline.
    """

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        _check(self.stages)

    def __str__(self) -> str:
        """Return the line in its canonical form."""
        return " > ".join(map(str, self.stages))

    def number(self, name: str) -> int:
        """Return the number of the stage called ``name``, 0 where there is none."""
        return next((each.argument for each in self.stages if each.name == name and type(each.argument) is int), 0)

    @property
    def expansion_stages(self) -> tuple[Stage, ...]:
        """The stages that add queries."""
        return tuple(each for each in self.stages if each.name in _EXPANSION)

    @property
    def search_stages(self) -> tuple[Stage, ...]:
        """The stages that search for each query."""
        return tuple(each for each in self.stages if each.name in _SEARCH)

    @property
    def ranking_stages(self) -> tuple[Stage, ...]:
        """The stages that change the one list of records."""
        return tuple(each for each in self.stages if each.name not in _EXPANSION | _SEARCH | {"rrf"})


def _check(stages: tuple[Stage, ...]) -> None:
    phase: Phase = "queries"
    for position, stage in enumerate(stages):
        kind = STAGE_KINDS.get(stage.name)
        if kind is None:
            raise PipelineRejected(
                Text(
                    "There is no stage {name!r}: use {stage_kinds}.",
                    name=stage.name,
                    stage_kinds=", ".join(STAGE_KINDS),
                )
            )
        _check_argument(stage, kind)
        if phase == "lists" and _lists(stages) == 1 and "lists" not in kind.takes:
            phase = "ranking"  # the only list there is
        _check_place(stage, kind, phase, [each.name for each in stages[:position]])
        phase = kind.gives or phase
    _check_end(stages, phase)


def _check_place(stage: Stage, kind: StageKind, phase: Phase, before: list[str]) -> None:
    if stage.name in before:
        raise PipelineRejected(Text("The stage {name} occurs twice: leave one of the two out.", name=stage.name))
    if phase not in kind.takes:
        raise PipelineRejected(_misplaced(stage, phase))
    if stage.name == "answer_rerank" and "temp_answer" not in before:
        raise PipelineRejected(Text("{stage} needs a temporary answer: put temp_answer before it.", stage=stage))


def _check_end(stages: tuple[Stage, ...], phase: Phase) -> None:
    names, lists = {stage.name for stage in stages}, _lists(stages)
    if phase == "queries":
        raise PipelineRejected(Text("The pipeline has no search stage: add retrieve(10)."))
    if "rrf" in names and lists == 1:
        raise PipelineRejected(Text("rrf has only one list to fuse: add queries before it, or leave it out."))
    if phase == "lists" and lists > 1:
        raise PipelineRejected(Text("The pipeline ends with {lists} lists: put rrf(15) at its end.", lists=lists))
    if "temp_answer" in names and "answer_rerank" not in names:
        raise PipelineRejected(Text("No stage uses the temporary answer: put answer_rerank(5) after it."))
    if lists > MOST_SEARCHES:
        raise PipelineRejected(
            Text(
                "The pipeline makes up to {searches} searches, at most {most_searches} are allowed: ask for fewer "
                "queries.",
                searches=lists,
                most_searches=MOST_SEARCHES,
            )
        )


def _lists(stages: tuple[Stage, ...]) -> int:
    """Return the largest number of lists that the stages can give."""
    queries = 1
    for each in stages:
        if each.name in _EXPANSION:
            queries += each.argument if isinstance(each.argument, int) else 1
    return queries * sum(each.name in _SEARCH for each in stages)


def _check_argument(stage: Stage, kind: StageKind) -> None:
    argument = stage.argument
    fits = {
        "number": type(argument) is int and kind.least <= argument <= kind.most,
        "score": type(argument) is float and 0 <= argument < 1,
        "word": argument in kind.words,
        "none": argument is None,
    }[kind.form]
    if not fits:
        raise PipelineRejected(
            Text("The stage {stage} does not have the form {usage}: write it like that.", stage=stage, usage=kind.usage)
        )


def _misplaced(stage: Stage, phase: Phase) -> Text:
    """Return why ``stage`` cannot take ``phase``."""
    if stage.name in _EXPANSION:
        return Text("{stage} comes too late: put it before the stages that find records.", stage=stage)
    if stage.name in _SEARCH:
        return Text("{stage} comes too late: put it behind the queries and before rrf.", stage=stage)
    if phase == "queries":
        return Text("{stage} has nothing to work on yet: put retrieve(10) before it.", stage=stage)
    if phase == "lists":
        return Text(
            "{stage} needs one list of records, and each query has its own: put rrf(15) before it.", stage=stage
        )
    if stage.name == "filter":
        return Text("{stage} needs a re-ranker's scores: put rerank(5) before it.", stage=stage)
    return Text("{stage} has one list already: put it right behind the stages that find records.", stage=stage)


LONGEST_LINE = 300
"""Most characters of a line; the longest line that makes sense has about 130."""

_STAGE = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]{0,30})\s*(?:\(\s*([^\s()]{0,20})\s*\))?\s*")
_NUMBER = re.compile(r"[0-9]{1,6}")
_SCORE = re.compile(rf"[0-9]\.[0-9]{{1,{SCORE_DIGITS}}}")


def parse_pipeline(line: str) -> Pipeline:
    """Return the pipeline of a line: stages, each ``name`` or ``name(argument)``, with ``>`` between them.

    Raises :class:`PipelineRejected`, which says what to change.

    >>> str(parse_pipeline("augment( 2 )>retrieve(10)>rrf(15)>rerank(5)>filter(0.60)"))
    'augment(2) > retrieve(10) > rrf(15) > rerank(5) > filter(0.6)'
    """
    if len(line) > LONGEST_LINE:
        raise PipelineRejected(
            Text(
                "The pipeline has {line_count} characters, at most {longest_line} are read: shorten it.",
                line_count=len(line),
                longest_line=LONGEST_LINE,
            )
        )
    return Pipeline(tuple(_stage(part) for part in line.split(">")))


def _stage(part: str) -> Stage:
    match = _STAGE.fullmatch(part)
    if match is None:
        raise PipelineRejected(
            Text("{part!r} is not a stage: write one as retrieve(10) or temp_answer.", part=part.strip())
        )
    name, argument = match.groups()
    kind = STAGE_KINDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name.lower(), STAGE_KINDS, n=1)
        hint = (
            Text("did you mean {name}?", name=near[0]) if near else Text("use {names}.", names=", ".join(STAGE_KINDS))
        )
        raise PipelineRejected(Text("There is no stage {name!r}: {hint}", name=name, hint=hint))
    return Stage(name, _argument(argument, score=kind.form == "score"))


def _argument(text: str | None, *, score: bool) -> Argument:
    """Return a stage's argument; text that is no number of the right form stays text."""
    if text is not None and _NUMBER.fullmatch(text):
        return float(text) if score else int(text)
    if text is not None and score and _SCORE.fullmatch(text):
        return float(text)
    return text
