from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.item_bootstrap import item_interval


def _mean(items: Sequence[float]) -> float | None:
    return sum(items) / len(items) if items else None


def test_a_mean_has_about_the_normal_interval_the_same_each_time() -> None:
    items = [n / 99 for n in range(100)]
    found = item_interval(_mean, items)
    assert found == item_interval(_mean, items)
    assert found == pytest.approx((0.443, 0.557), abs=0.01)
    assert found != item_interval(_mean, items, seed=1)


def test_few_items_or_a_figure_that_samples_seldom_have_give_none() -> None:
    assert item_interval(_mean, []) is None
    assert item_interval(_mean, [0.5]) is None
    assert item_interval(lambda items: 1.0 if len(set(items)) > 1 else None, ["a", "b"]) is None
    assert item_interval(lambda items: 1.0 if len(set(items)) > 1 else None, list("abcdef")) == (1.0, 1.0)


def test_a_level_is_a_share() -> None:
    with pytest.raises(EvaluationError, match="between 0 and 1"):
        item_interval(_mean, [1.0, 2.0], level=95)
