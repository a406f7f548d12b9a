from __future__ import annotations

import pytest

from shrag.evaluation.measures.refusals import confidence_auc, refusals


def test_refusals_are_counted_and_their_shares_are_by_hand() -> None:
    # Refused: 3 that have no answer, 1 that has; answered: 4 that have, 2 that have none.
    found = refusals([(True, False)] * 3 + [(True, True)] + [(False, True)] * 4 + [(False, False)] * 2)
    assert found == (3, 1, 4, 2)
    assert found.accuracy == pytest.approx(7 / 10)
    assert found.precision == pytest.approx(3 / 4)
    assert found.recall == pytest.approx(3 / 5)


def test_shares_of_nothing_are_none() -> None:
    assert (refusals([]).accuracy, refusals([]).precision, refusals([]).recall) == (None, None, None)
    never = refusals([(False, True)])
    assert (never.accuracy, never.precision, never.recall) == (1.0, None, None)


def test_the_auc_is_the_share_of_pairs_in_the_right_order_and_ties_count_half() -> None:
    # 3 × 2 pairs: 0.9 beats both, 0.5 beats one and ties with the other, 0.2 beats one.
    assert confidence_auc([0.9, 0.5, 0.2], [0.5, 0.1]) == pytest.approx(4.5 / 6)
    assert confidence_auc([0.9, 0.8], [0.2]) == 1.0
    assert confidence_auc([0.1], [0.2, 0.3]) == 0.0
    assert confidence_auc([0.0] * 5, [0.0] * 3) == 0.5


def test_the_auc_needs_questions_of_both_sides() -> None:
    assert confidence_auc([], [0.1]) is None
    assert confidence_auc([0.1], []) is None
