"""Read a judge's metrics of each item, from a table or from the judgements of a results folder."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.topics import read_text_lines
from shrag.corpora.readers.csv_reader import read_csv
from shrag.corpora.readers.source import read_head
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.judging.figures import score_figures
from shrag.evaluation.judging.judgements import JudgedAnswer
from shrag.messages.text import Text, message_of

_HEAD = 256
_ITEM = "item"
_CONDITION_HINT = Text("name it with --condition")


def read_metrics(path: Path, condition: str = "") -> dict[str, dict[str, float]]:
    """Return metric → item → value; items are returned in NFC, as those of annotations are.

    Args:
        path: A table with the column ``item`` and one column for each metric, or the ``judgements.jsonl`` of a results
            folder. In the latter the items are qids.
        condition: The condition whose judgements to read: its name, or SET/NAME if several sets have it. It may be
            empty if the file has only one.

    Raises:
        EvaluationError: The file cannot be read, a value is not a number, an item has several values, or not exactly
            one condition is chosen.
    """
    metrics: dict[str, dict[str, float]] = {}
    try:
        is_json = read_head(path, _HEAD).lstrip().startswith(b"{")
        rows = _judged(path, condition) if is_json else _table(path)
        for item, values in rows:
            for name, value in values.items():
                if item in metrics.setdefault(name, {}):
                    raise EvaluationError(
                        Text(
                            "{path} has the item {item} twice: keep one of the two, or {hint}.",
                            path=path,
                            item=item,
                            hint=_CONDITION_HINT,
                        )
                    )
                metrics[name][item] = value
    except CorpusError as error:
        raise EvaluationError(message_of(error)) from None
    if not metrics:
        raise EvaluationError(
            Text("{path} has no metric: expected a column item and a column for each metric.", path=path)
        )
    return metrics


def _judged(path: Path, condition: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    try:
        judged = [msgspec.json.decode(text, type=JudgedAnswer) for _, text in read_text_lines(path)]
    except msgspec.MsgspecError as error:
        raise EvaluationError(
            Text(
                "{path} has no judgements ({error}): give the judgements.jsonl of shrag judge.", path=path, error=error
            )
        ) from None
    names = {f"{each.set}/{each.condition}" for each in judged}
    chosen = {name for name in names if not condition or condition in (name, name.partition("/")[2])}
    if len(chosen) != 1:
        raise EvaluationError(
            Text(
                "{path} has {chosen_count} conditions called {condition!r} of {names}: {hint}.",
                path=path,
                chosen_count=len(chosen),
                condition=condition,
                names=", ".join(sorted(names)),
                hint=_CONDITION_HINT,
            )
        )
    for each in judged:
        if f"{each.set}/{each.condition}" in chosen and each.judgement.scores is not None:
            yield each.qid, score_figures(each.judgement.scores)


def _table(path: Path) -> Iterator[tuple[str, Mapping[str, float]]]:
    for row in read_csv(path):
        if row.fields is None:
            continue
        if isinstance(row.fields, str):
            raise EvaluationError(
                Text("{path} line {number}: {fields}.", path=path, number=row.number, fields=row.fields)
            )
        item = unicodedata.normalize("NFC", str(row.fields.get(_ITEM) or "").strip())
        if not item:
            raise EvaluationError(
                Text(
                    "{path} line {number} has no item: expected the column item, and the metrics.",
                    path=path,
                    number=row.number,
                )
            )
        yield item, {name: _number(path, row.number, value) for name, value in row.fields.items() if name != _ITEM}


def _number(path: Path, line: int, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise EvaluationError(
            Text(
                "{path} line {line}: {value!r} is not a value of a metric, which is a number.",
                path=path,
                line=line,
                value=value,
            )
        )
    return number
