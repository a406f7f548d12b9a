"""Truncation and highlighted snippets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.serving.page.snippets import (
    AbstractPart,
    Segment,
    _word_start,
    abstract_parts,
    best_sentences,
    join_names,
    mark_matches,
    matched_passage,
    shorten,
)

# Written out, so that a change of the module's own is noticed.
LONGEST_ABSTRACT = 4_000
LONGEST_PASSAGE = 600


def _terms(analyzer: KoreanEnglishAnalyzer, word: str) -> set[str]:
    (terms,) = analyzer.terms([word])
    return set(terms)


def _text(segments: list[Segment]) -> str:
    return "".join(segment.text for segment in segments)


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("", 1, ""),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("one two three", 12, "one two thr…"),
        ("one two three four", 16, "one two three…"),
        ("abcdefghijkl no pqr", 16, "abcdefghijkl no…"),  # the last space for which there is room
        ("x" * 10_000_000, 300, "x" * 299 + "…"),
        ("가나 다라마바사", 4, "가나…"),
    ],
)
def test_a_text_is_cut_at_a_space_near_its_end_or_where_it_must(text: str, most: int, shown: str) -> None:
    assert shorten(text, most) == shown
    assert len(shorten(text, most)) <= most


def test_no_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="most is 0"):
        shorten("a", 0)


def test_of_500_authors_three_are_named_and_the_rest_counted() -> None:
    assert join_names([f"A{n}" for n in range(500)], 3) == "A0, A1, A2 +497"
    assert join_names(["A", "B", "C"], 3) == "A, B, C"
    assert join_names([], 3) == ""
    assert len(join_names(["x" * 100_000] * 500, 3)) < 400


def test_a_passage_is_the_sentences_that_match_best(analyzer: KoreanEnglishAnalyzer) -> None:
    text = "We cook rice. We made graphene films. It rained. Graphene shields well."
    segments = matched_passage(text, _terms(analyzer, "graphene"), analyzer)
    assert _text(segments) == "… We made graphene films. … Graphene shields well."
    assert [segment.text for segment in segments if segment.matched] == ["graphene", "Graphene"]


def test_a_short_text_is_its_own_passage_and_an_empty_one_has_none(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _text(matched_passage("그래핀을 만들었다.", _terms(analyzer, "그래핀"), analyzer)) == "그래핀을 만들었다."
    assert matched_passage("", _terms(analyzer, "그래핀"), analyzer) == []


def test_a_sentence_without_an_end_is_shown_around_its_first_match(analyzer: KoreanEnglishAnalyzer) -> None:
    text = "rice " * 1_000 + "graphene " + "rice " * 1_000
    segments = matched_passage(text, _terms(analyzer, "graphene"), analyzer)
    shown = _text(segments)
    assert len(shown) == LONGEST_PASSAGE
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert [segment.text for segment in segments if segment.matched] == ["graphene"]
    assert shown.index("graphene") == 121  # the ellipsis and what is directly before the match


def test_a_passage_that_just_fits_is_shown_whole(analyzer: KoreanEnglishAnalyzer) -> None:
    terms = _terms(analyzer, "graphene")
    longest = "graphene ".ljust(LONGEST_PASSAGE, "x")
    assert _text(matched_passage(longest, terms, analyzer)) == longest
    assert _text(matched_passage(f"{longest}x", terms, analyzer)) == f"{longest[: LONGEST_PASSAGE - 2]}…"


@pytest.mark.parametrize("text", ["x" * 10_000_000, "graphene films. " * 625_000, "e\u0301\u0300" * 1_000_000])
def test_a_text_of_ten_megabytes_has_a_passage_of_bounded_length(analyzer: KoreanEnglishAnalyzer, text: str) -> None:
    shown = _text(matched_passage(text, _terms(analyzer, "graphene"), analyzer))
    assert shown.endswith("…")
    assert 0 < len(shown) <= LONGEST_PASSAGE


ANALYZER = KoreanEnglishAnalyzer()


@pytest.mark.parametrize(
    ("text", "term", "marked"),
    [
        ("검색엔진을 만든다.", "검색", ["검색엔진"]),  # a compound, without the particle
        ("우리나라의 제도", "우리나라", ["우리나라"]),
        ("연구와데이터", "데이터", ["데이터"]),  # behind a particle another word begins
        ("점수가 높아지는 집단", "높", ["높아지는"]),  # a predicate, with its ending
        ("GPT-4로 답한다.", "gpt", ["GPT-4"]),
        ("Converging technologies converge.", "converg", ["Converging", "converge"]),
    ],
)
def test_a_match_is_marked_as_a_whole_word(text: str, term: str, marked: list[str]) -> None:
    segments = mark_matches(text, {term}, ANALYZER)
    assert [segment.text for segment in segments if segment.matched] == marked
    assert _text(segments) == text


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


def _passages(passages: list[AbstractPart]) -> list[tuple[bool, str]]:
    return [(passage.quoted, _text(passage.segments)) for passage in passages]


ABSTRACT = "물을 끓였다. 그래핀을 만들었다. 필름은 얇았다. 비가 왔다. 그래핀은 강하다."


def test_an_abstract_is_divided_into_what_is_quoted_and_the_rest() -> None:
    quoted = ["그래핀을 만들었다.", "필름은 얇았다.", "그래핀은 강하다."]
    passages = abstract_parts(ABSTRACT, quoted, {"그래핀"}, ANALYZER)
    assert _passages(passages) == [
        (False, "물을 끓였다. "),
        (True, "그래핀을 만들었다. 필름은 얇았다."),
        (False, " 비가 왔다. "),
        (True, "그래핀은 강하다."),
    ]
    assert passages[1].segments[0] == Segment("그래핀", matched=True)


def test_an_abstract_that_is_quoted_whole_has_no_rest() -> None:
    assert _passages(abstract_parts(ABSTRACT, [ABSTRACT], set(), ANALYZER)) == [(True, ABSTRACT)]
    assert abstract_parts("", [], set(), ANALYZER) == []


def test_an_abstract_of_the_largest_length_is_shown_whole() -> None:
    longest = f"{ABSTRACT} ".ljust(LONGEST_ABSTRACT, "x")
    assert _passages(abstract_parts(longest, ["물을 끓였다."], set(), ANALYZER)) == [
        (True, "물을 끓였다."), (False, longest.removeprefix("물을 끓였다.")),
    ]  # fmt: skip
    assert _passages(abstract_parts(f"{longest}x", ["물을 끓였다."], set(), ANALYZER)) == [
        (True, "물을 끓였다."), (False, " … "),
    ]  # fmt: skip


def test_of_a_long_text_the_sentences_quoted_are_shown() -> None:
    text = f"{ABSTRACT} {'비가 왔다. ' * LONGEST_ABSTRACT}끝이다."
    passages = abstract_parts(text, ["그래핀을 만들었다.", "그래핀은 강하다.", "끝이다."], set(), ANALYZER)
    assert _passages(passages) == [
        (False, " … "),
        (True, "그래핀을 만들었다."),
        (False, " … "),
        (True, "그래핀은 강하다."),
        (False, " … "),
        (True, "끝이다."),
    ]


def test_sentences_that_are_not_in_the_text_are_shown_alone() -> None:
    assert _passages(abstract_parts(ABSTRACT, ["비가 왔다.", "없다."], set(), ANALYZER)) == [(True, "비가 왔다. 없다.")]


@pytest.mark.parametrize(("text", "start", "before", "found"), [("우리나라", 2, 0, 0), ("연구와데이터", 3, 2, 3)])
def test_a_word_begins_where_its_letters_do_unless_another_ends_there(
    text: str, start: int, before: int, found: int
) -> None:
    assert _word_start(text, start, before) == found
