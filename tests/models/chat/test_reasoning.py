"""A leading reasoning block is removed, however the text is split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.models.chat.reasoning import ReasoningFilter, strip_reasoning

CASES = [
    ("답이다.", "답이다."),
    ("<think>음…</think>\n\n답이다.", "답이다."),
    ("\n <think>\n</think>답", "답"),
    ("<think>끝나지 않는 생각 </thin", ""),
    ("<think></think>", ""),
    ("<thin 답", "<thin 답"),
    ("<thi", "<thi"),
    ("  답 <think>둘</think>", "  답 <think>둘</think>"),
    ("<think>a</think><think>b</think>c", "<think>b</think>c"),
    ("", ""),
    ("   ", "   "),
    ("            <thi", "            <thi"),
]


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_only_a_leading_block_is_left_out(text: str, wanted: str) -> None:
    assert strip_reasoning(text) == wanted


@given(
    text=st.one_of(
        st.sampled_from([text for text, _ in CASES]),
        st.lists(st.sampled_from(["<think>", "</think>", "<", "think", ">", " ", "답", "/"])).map("".join),
    ),
    cuts=st.lists(st.integers(0, 60)),
)
def test_the_split_into_pieces_does_not_matter(text: str, cuts: list[int]) -> None:
    reasoning = ReasoningFilter()
    ends = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [reasoning.feed(text[a:b]) for a, b in pairwise(ends)]
    assert "".join(pieces) + reasoning.end() == strip_reasoning(text)


def test_text_that_is_certain_to_be_part_of_the_answer_is_not_held_back() -> None:
    reasoning = ReasoningFilter()
    assert [reasoning.feed(piece) for piece in (" ", "<th", "e answer", " is")] == ["", "", " <the answer", " is"]
    reasoning = ReasoningFilter()
    pieces = ("<think>a</", "think>", "\n", " b", " <think>c", "")
    assert [reasoning.feed(piece) for piece in pieces] == ["", "", "", "b", " <think>c", ""]
    assert reasoning.end() == ""
