from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from shrag.indexing.read_ahead import read_ahead


def test_items_come_in_order_and_one_is_made_while_the_last_is_worked_on() -> None:
    made: list[int] = []
    second = threading.Event()

    def items() -> Iterator[int]:
        for number in range(4):
            made.append(number)
            if number == 1:
                second.set()
            yield number

    taken = []
    with read_ahead(items()) as ahead:
        for item in ahead:
            if item == 0:
                assert second.wait(5)
            taken.append(item)
    assert taken == made == [0, 1, 2, 3]


def test_what_goes_wrong_is_raised_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("two")

    taken: list[int] = []
    with pytest.raises(KeyError, match="two"), read_ahead(items()) as ahead:
        taken.extend(ahead)
    assert taken == [1]
    with read_ahead(iter(())) as nothing:
        assert list(nothing) == []


def test_who_stops_early_waits_for_nothing_but_the_item_in_the_making() -> None:
    with read_ahead(iter(range(1_000_000))) as ahead:
        assert next(ahead) == 0
