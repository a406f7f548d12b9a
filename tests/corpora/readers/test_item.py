from __future__ import annotations

from collections.abc import Mapping

import pytest

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.item import ParsedItem, SourceItem, parse_items
from shrag.corpora.records import Record

GOOD = Record("a", "T", "t", "en", complete=True)


def _parse(fields: Mapping[str, object]) -> Record:
    error = fields.get("error")
    if isinstance(error, BaseException):
        raise error
    return GOOD


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RejectedLine("no identifier"), "no identifier"),
        (IndexError("list index out of range"), "IndexError: list index out of range"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
        (ValueError("x" * 1_000), f"ValueError: {'x' * 488}"),
    ],
)
def test_an_item_whose_parser_raises_is_rejected_and_costs_no_other(error: Exception, reason: str) -> None:
    items = [SourceItem(1, 0, {"error": error}), SourceItem(2, 9, {})]
    assert list(parse_items(items, _parse)) == [ParsedItem(1, 0, reason), ParsedItem(2, 9, GOOD)]


def test_memory_that_runs_out_ends_the_file() -> None:
    with pytest.raises(MemoryError):
        list(parse_items([SourceItem(1, 0, {"error": MemoryError()})], _parse))
