from __future__ import annotations

import pytest

from shrag.indexing.glossary.bilingual_fields import BilingualPair, pair_keywords, split_title


@pytest.mark.parametrize(
    "title",
    ["도로 인식 연구 = A Study of Road Detection", "A Study of Road Detection : 도로 인식 연구"],
)
def test_a_bilingual_title_is_split(title: str) -> None:
    assert split_title(title) == BilingualPair("도로 인식 연구", "A Study of Road Detection")


@pytest.mark.parametrize(
    "title", ["", "도로 인식 연구", "Road Detection", "도로 인식: LSTM과 CNN", "도로 = LSTM", "CNN-LSTM 기반 도로 인식"]
)
def test_a_title_in_one_language_is_none(title: str) -> None:
    assert split_title(title) is None


def test_keyword_lists_of_equal_length_are_paired_by_position() -> None:
    text = "초록이다. 주제어: 도로, 인식, 자율주행\nKeywords: road, recognition, autonomous driving."
    assert list(pair_keywords(text, ())) == [
        BilingualPair("도로", "road"),
        BilingualPair("인식", "recognition"),
        BilingualPair("자율주행", "autonomous driving"),
    ]
    assert list(pair_keywords("주제어: 도로, 인식 Keywords: road", ())) == []
    assert list(pair_keywords("", ("도로", "road", "인식", "recognition"))) == [
        BilingualPair("도로", "road"),
        BilingualPair("인식", "recognition"),
    ]
    assert list(pair_keywords("", ("도로", "인식", "road"))) == []


def test_a_title_as_long_as_a_table_is_not_divided_at_each_of_its_separators() -> None:
    assert split_title("가나다 | " * 329 + "Three English Words") is not None  # 1,993 characters
    assert split_title("가나다 | " * 331 + "Three English Words") is None
    assert split_title("가나다 | ab " * 1_000_000) is None  # in no time
