from __future__ import annotations

import pytest

from shrag.evaluation.answers.refusal import refusals


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
