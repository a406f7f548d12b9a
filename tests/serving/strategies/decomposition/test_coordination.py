from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.serving.request import parse_question
from shrag.serving.strategies.decomposition.coordination import split_coordination


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # Two names that share what stands before and behind them.
        (
            "Is the yield of rice higher in China or India in 2020?",
            ["Is the yield of rice higher in China in 2020?", "Is the yield of rice higher in India in 2020?"],
        ),
        (
            "Are Local H and For Against both from the United States?",
            ["Are Local H both from the United States?", "Are For Against both from the United States?"],
        ),
        # Two clauses.
        (
            "Who wrote the paper on soil, and when was it first published?",
            ["Who wrote the paper on soil", "when was it first published?"],
        ),
        ("Who wrote it and when was it published?", ["Who wrote it", "when was it published?"]),
        ("그래핀과 탄소나노튜브의 전도도는?", ["그래핀의 전도도는?", "탄소나노튜브의 전도도는?"]),
        ("LSTM은 ARIMA보다 오차가 작은가?", ["LSTM 오차가 작은가?", "ARIMA 오차가 작은가?"]),
        (
            "염습지는 탄소를 저장하고 맹그로브는 어떤 기능을 하는가?",
            ["염습지는 탄소를 저장하고", "맹그로브는 어떤 기능을 하는가?"],
        ),
    ],
)
def test_a_coordinated_question_is_split_into_whole_questions(text: str, parts: Sequence[str]) -> None:
    assert split_coordination(parse_question(text)) == parts


@pytest.mark.parametrize(
    "text",
    [
        "What is the effect of heat on milk yield?",
        "Does salt or sugar dissolve faster?",  # no names
        "What is it and why?",  # the second clause is too short
        "젖소의 우유 생산량은 얼마나 줄어드는가?",
        "양파는 크고 마늘은 작은가?",  # clauses of one noun each
    ],
)
def test_another_question_is_not_split(text: str) -> None:
    assert split_coordination(parse_question(text)) == []
