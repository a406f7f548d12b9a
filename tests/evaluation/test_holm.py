from __future__ import annotations

import pytest

from shrag.evaluation.holm import holm


def test_the_smallest_of_four_is_multiplied_by_four_and_none_falls_below_its_predecessor() -> None:
    assert holm([0.005, 0.011, 0.02, 0.04]) == pytest.approx([0.02, 0.033, 0.04, 0.04])
    assert holm([0.04, 0.02, 0.011, 0.005]) == pytest.approx([0.04, 0.04, 0.033, 0.02])


def test_one_is_the_limit_and_one_or_no_test_needs_no_correction() -> None:
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []
