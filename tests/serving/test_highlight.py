from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.serving.highlight import Segment, best_sentences, mark_matches

ANALYZER = KoreanEnglishAnalyzer()


def test_a_morpheme_is_marked_inside_its_word() -> None:
    assert mark_matches("검색엔진을 GPT-4로", {"검색", "gpt"}, ANALYZER) == [
        Segment("검색", matched=True),
        Segment("엔진을 ", matched=False),
        Segment("GPT", matched=True),
        Segment("-4로", matched=False),
    ]


def test_touching_matches_are_one() -> None:
    assert mark_matches("인공지능", {"인공", "지능"}, ANALYZER) == [Segment("인공지능", matched=True)]
    assert mark_matches("", {"a"}, ANALYZER) == []


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from(list("검색 엔진a1-<>&㎏.")), max_size=50))
def test_segments_joined_are_the_text(text: str) -> None:
    segments = mark_matches(text, {"검색", "a", "1", "kg"}, ANALYZER)
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.text for segment in segments)


def test_the_best_sentences_stand_in_order_with_their_gaps_marked() -> None:
    text = "하나는 탄소이다. 둘은 그래핀 필름이다. 셋은 물이다. 넷은 그래핀이다."
    assert best_sentences(text, {"그래핀", "필름"}, ANALYZER, 2) == "… 둘은 그래핀 필름이다. … 넷은 그래핀이다."
    assert best_sentences(text, set(), ANALYZER, 1) == "하나는 탄소이다. …"
    assert best_sentences("하나뿐이다.", set(), ANALYZER, 2) == "하나뿐이다."
    assert best_sentences("", set(), ANALYZER, 2) == ""
