from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.indexing.analysis.analyzer import fold
from shrag.indexing.analysis.korean_english import fold_with_offsets


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ａ₃", "A3"),
        ("㎏", "kg"),
        ("10⁵", "105"),
        ("ﬁnding", "finding"),
        ("a‐b–c−d", "a-b-c-d"),
        ("O’Brien", "O'Brien"),
    ],
)
def test_compatibility_forms_become_plain_ones(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert fold_with_offsets(text)[0] == folded


def test_each_folded_character_has_its_original_offset() -> None:
    assert fold_with_offsets("x㎏½") == ("xkg1⁄2", [0, 1, 1, 2, 2, 2, 3], [0, 1, 2, 2, 3, 3, 3])


@given(st.text())
def test_offsets_rise_within_the_text_and_end_at_its_end(text: str) -> None:
    folded, *offsets = fold_with_offsets(text)
    for each in offsets:
        assert len(each) == len(folded) + 1
        assert list(each) == sorted(each)
        assert each[-1] == len(text)
