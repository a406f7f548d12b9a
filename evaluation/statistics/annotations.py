"""Annotations of items (labels or scores), read from tables or JSON lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.csv_reader import read_csv
from shrag.corpora.readers.item import SourceItem
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import read_head
from shrag.evaluation.errors import EvaluationError
from shrag.messages.text import Text, message_of

_HEAD = 4_096
_WHOLE = re.compile(r"\A(-?[0-9]+)\.0+\Z")
_EXPECTED = Text("expected item, annotator, and label or score")


class Annotations(NamedTuple):
    """Annotations as item → annotator → label or score, in the order of the file; ``scored`` says which of the two."""

    labels: dict[str, dict[str, str]]
    scored: bool

    def scores(self) -> dict[str, dict[str, float]]:
        """Return the scores as numbers."""
        return {item: {who: float(value) for who, value in given.items()} for item, given in self.labels.items()}

    def annotators(self) -> list[str]:
        """Return everyone who annotated at least one item."""
        return list(dict.fromkeys(who for given in self.labels.values() for who in given))

    def shared(self, annotators: Sequence[str]) -> list[str]:
        """Return the items that all of ``annotators`` annotated."""
        return [item for item, given in self.labels.items() if all(who in given for who in annotators)]


def read_annotations(path: Path) -> Annotations:
    """Read annotations from a table with a header (tabs, commas or semicolons) or from JSON Lines, plain or gzip.

    The columns are ``item``, ``annotator``, and ``label`` or ``score``. An empty label is ignored. Text is returned in
    NFC, and the label 1.0 as 1, because a table program writes a column of whole numbers with a gap in it that way.

    Raises:
        EvaluationError: A line lacks a column, has a score that is not a number, or repeats an item and its annotator.
            The message names the line.
    """
    labels: dict[str, dict[str, str]] = {}
    column = ""
    try:
        for entry in _entries(path):
            if entry.fields is None:
                continue
            if isinstance(entry.fields, str):
                raise EvaluationError(
                    Text(
                        "{path} line {number} is not an annotation: {fields}.",
                        path=path,
                        number=entry.number,
                        fields=entry.fields,
                    )
                )
            column = column or _value_column(path, entry.number, entry.fields)
            item, who, value = _read(path, entry.number, entry.fields, column)
            given = labels.setdefault(item, {})
            if who in given:
                raise EvaluationError(
                    Text(
                        "{path} line {number}: {who} annotates {item} a second time; keep one of the two.",
                        path=path,
                        number=entry.number,
                        who=who,
                        item=item,
                    )
                )
            if value:
                given[who] = value
    except CorpusError as error:
        raise EvaluationError(message_of(error)) from None
    if not any(labels.values()):
        raise EvaluationError(
            Text("{path} holds no annotation: {expected} in each line.", path=path, expected=_EXPECTED)
        )
    return Annotations(labels, column == "score")


def _entries(path: Path) -> Iterator[SourceItem]:
    return read_objects(path) if read_head(path, _HEAD).lstrip()[:1] in (b"{", b"[") else read_csv(path)


def _value_column(path: Path, number: int, fields: Mapping[str, object]) -> str:
    columns = [name for name in ("label", "score") if name in fields]
    if len(columns) != 1:
        raise EvaluationError(
            Text(
                "{path} line {number} has the columns {fields}: {expected}.",
                path=path,
                number=number,
                fields=", ".join(fields) or Text("none"),
                expected=_EXPECTED,
            )
        )
    return columns[0]


def _read(path: Path, number: int, fields: Mapping[str, object], column: str) -> tuple[str, str, str]:
    item, who, value = (_text(fields.get(name)) for name in ("item", "annotator", column))
    if not item or not who or value is None:
        raise EvaluationError(
            Text(
                "{path} line {number} is not an annotation: {expected}.",
                path=path,
                number=number,
                expected=Text("expected item, annotator, and {column}", column=column),
            )
        )
    if column == "score" and value and not _is_number(value):
        raise EvaluationError(
            Text(
                "{path} line {number}: {value!r} is not a score, which is a number.",
                path=path,
                number=number,
                value=value,
            )
        )
    return item, who, _WHOLE.sub(r"\1", value)


def _text(value: object) -> str | None:
    """Return a column's value as text in NFC, None if it has none. JSON may give numbers, true and false."""
    return unicodedata.normalize("NFC", str(value).strip()) if isinstance(value, str | int | float) else None


def _is_number(value: str) -> bool:
    try:
        return isfinite(float(value))
    except ValueError:
        return False
