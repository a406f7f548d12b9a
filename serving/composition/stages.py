"""The stages a composition is made of: what each is called, what it takes and gives, and how far its number may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
