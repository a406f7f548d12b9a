from __future__ import annotations

import pytest

from shrag.serving.errors import CompositionRejected
from shrag.serving.strategies.pipeline.presets import WAYS, read_way
from shrag.serving.strategies.pipeline.syntax import parse_composition


def test_the_eight_ways_are_the_seeds_with_its_numbers() -> None:
    assert {name: str(way) for name, way in WAYS.items()} == {
        "way-1": "retrieve(5)",
        "way-2": "retrieve(15) > rerank(5)",
        "way-3": "augment(2) > retrieve(10) > rrf(15) > rerank(5)",
        "way-4": "hypothesis(2) > retrieve(10) > rrf(15) > rerank(5)",
        "way-5": "augment(2) > hypothesis(2) > retrieve(10) > rrf(15) > rerank(5)",
        "way-6": "augment(2) > retrieve(10) > rrf(15) > rerank(5) > filter(0.6)",
        "way-7": "augment(2) > hypothesis(2) > retrieve(10) > rrf(15) > rerank(5) > filter(0.6)",
        "way-8": "augment(2) > retrieve(10) > rrf(15) > temp_answer > answer_rerank(5) > filter(0.6)",
    }
    assert all(parse_composition(str(way)) == way for way in WAYS.values())


def test_a_way_takes_other_numbers_as_many_as_it_has() -> None:
    assert str(read_way("way-3(20,30, 10)")) == "augment(2) > retrieve(20) > rrf(30) > rerank(10)"
    assert read_way("way-1") is None
    assert read_way("shrag") is None
    with pytest.raises(CompositionRejected, match=r"way-2 takes 2 numbers, not 1: write way-2\(15, 5\)"):
        read_way("way-2(5)")
    with pytest.raises(CompositionRejected, match="There is no way-9: use way-1 to way-8"):
        read_way("way-9(1)")
    with pytest.raises(CompositionRejected, match="is not retrieve"):
        read_way("way-2(, )")
