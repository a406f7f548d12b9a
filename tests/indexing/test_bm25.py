from __future__ import annotations

import math

import pytest

from shrag.indexing.bm25 import Bm25, byte_length, idf
from shrag.indexing.lexical.jvm import lucene_class
from shrag.indexing.search_engine import FieldStatistics
from tests.indexing.bm25_score import bm25_score


def test_idf_falls_with_frequency_and_is_never_negative() -> None:
    assert idf(1, 10) == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert idf(10, 10) == pytest.approx(math.log(1 + 0.5 / 10.5))
    assert idf(0, 10) > idf(1, 10) > idf(5, 10) > idf(10, 10) > 0
    assert idf(0, 0) == 0


def test_the_score_is_robertsons() -> None:
    field = FieldStatistics(10, 4.0, {"a": 2, "b": 5})
    tf_a = 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / 4))
    tf_b = 1 / (1 + 1.2 * (1 - 0.75 + 0.75 * 3 / 4))
    wanted = 1 * idf(2, 10) * tf_a + 2 * idf(5, 10) * tf_b
    assert bm25_score({"a": 1, "b": 2}, ["a", "b", "a"], field, Bm25(1.2, 0.75, 0)) == pytest.approx(wanted)


def test_nothing_in_common_scores_nothing() -> None:
    empty = FieldStatistics(0, 0.0, {"a": 0})
    assert bm25_score({"a": 1}, ["b"], FieldStatistics(10, 4.0, {"a": 2}), Bm25()) == 0
    assert bm25_score({"a": 1}, [], empty, Bm25()) == 0
    assert bm25_score({}, ["a"], empty, Bm25()) == 0


def test_lengths_are_remembered_as_lucene_does() -> None:
    small_float = lucene_class("util.SmallFloat")
    lengths = [*range(300), 1000, 4095, 5000, 65_537, 1_000_000, 2**31 - 1]
    assert [byte_length(n) for n in lengths] == [
        int(small_float.byte4ToInt(small_float.intToByte4(n))) for n in lengths
    ]
