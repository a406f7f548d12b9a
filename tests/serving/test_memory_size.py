from __future__ import annotations

import sys
import tracemalloc

import pytest

from shrag.corpora.records import Record
from shrag.serving.events import Found, Hits, RankedRecord, Ranking, Timings
from shrag.serving.memory_size import memory_size


def _ranking(number: int) -> Ranking:
    """Return a ranking of ten records whose texts are objects of their own."""
    records = tuple(
        Record(f"D-{number}-{place}", f"제목 {number} {place}", f"본문 {number} {place} " * 60, "ko", complete=True)
        for place in range(10)
    )
    ranked = tuple(RankedRecord(rank, rank, rank / 3, record) for rank, record in enumerate(records, 1))
    return Ranking(ranked, "r", reranker_is_model=False)


def test_it_is_what_the_interpreter_takes_for_the_same_objects_within_a_tenth() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        made = [_ranking(number) for number in range(100)]
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert memory_size(made) == pytest.approx(taken, rel=0.1)


def test_the_parts_of_every_kind_of_container_count() -> None:
    text = "x" * 10_000
    for value in ((text,), [text], {text: 1}, {1: text}, Found(text, 1.0), Timings({text: 1.0}), ((((text,),),),)):
        assert 10_000 < memory_size(value) < 11_000
    assert memory_size(()) == sys.getsizeof(())


def test_what_is_met_twice_counts_once() -> None:
    text = "x" * 10_000
    assert memory_size((text, text, Hits((), (text,), (text,)))) < 11_000
    circle: list[object] = [text]
    circle.append(circle)
    assert memory_size(circle) < 11_000
