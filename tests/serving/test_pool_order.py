from __future__ import annotations

from shrag.models.reranker import Passage
from shrag.serving.pool_order import PoolOrder


def test_the_score_falls_with_the_place_and_says_nothing_else() -> None:
    passage = Passage("", "", (), ())
    assert PoolOrder().score("anything", [passage] * 4) == [1, 1 / 2, 1 / 3, 1 / 4]
    assert PoolOrder().score("anything", []) == []
    assert not PoolOrder().is_model
