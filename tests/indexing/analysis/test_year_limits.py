from __future__ import annotations

import pytest

from shrag.indexing.analysis.year_limits import year_limit_spans


@pytest.mark.parametrize(
    ("keywords", "limits"),
    [
        ("2015년 이후 딥러닝", ["2015년 이후"]),
        ("2015년 이후의 딥러닝 연구", ["2015년 이후의"]),
        ("딥러닝 2010년 이전에 발표된 논문", ["2010년 이전에 발표된"]),
        ("1990년대 이후 한국 고령화", ["1990년대 이후"]),
        ("robots since 2020", ["since 2020"]),
        ("recent studies on AI after the year 2020", ["after the year 2020"]),
        ("papers published before 1999 about tides", ["published before 1999"]),
    ],
)
def test_years_that_limit_keywords_are_found(keywords: str, limits: list[str]) -> None:
    assert [keywords[start:end] for start, end in year_limit_spans(keywords)] == limits


@pytest.mark.parametrize(
    "text",
    [
        "2015년 메르스 유행",
        "12015년 이후 변화",
        "2015년 이후로운 변화",
        "1984년 이후 트랙으로 사용되지 않는 것은?",
        "2015년 이후 무엇이 달라졌나요",
        "Who has run the city since 1990",
        "limits since 1990?",
        "after 20201 trials",
        "",
    ],
)
def test_a_year_by_itself_and_a_year_in_a_sentence_stay(text: str) -> None:
    assert year_limit_spans(text) == []
