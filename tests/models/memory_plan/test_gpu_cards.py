from __future__ import annotations

import pytest

from shrag.models.errors import UnknownName
from shrag.models.memory_plan.gpu_cards import find_card, load_cards


def test_cards_are_ordered_by_size_and_marked_as_estimates() -> None:
    cards = list(load_cards().values())
    assert [card.usable for card in cards] == sorted(card.usable for card in cards)
    assert all(card.estimated for card in cards)
    assert {"24GB", "L40S", "A100-80", "H200"} <= load_cards().keys()


def test_a_card_is_found_in_any_case_and_an_unknown_one_names_the_known() -> None:
    assert find_card("h200").usable == int(139.8 * 2**30)
    with pytest.raises(UnknownName, match=r"There is no GPU 'B200': use one of 24GB, L40S, .*H200"):
        find_card("B200")
