from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrag.serving.answering import answer_parser
from shrag.serving.answering.answer_parser import AnswerParser
from shrag.serving.events import AnswerSentence

KOREAN = """##제목##
그래핀 **차폐**
##서론##
그래핀은 얇다 [1]. 차폐 효율은 30 dB이다. [1][2] 이것은 값싸다 [2, 3].
##본론##
- 첫째로 필름이 쓰인다 [문헌 2].
- 둘째 [링크](http://x.y) 문장이다 [1-3].
##결론##
끝이다. [4]
"""

READ = [
    ("title", "그래핀 차폐", ()),
    ("introduction", "그래핀은 얇다.", (1,)),
    ("introduction", "차폐 효율은 30 dB이다.", (1, 2)),
    ("introduction", "이것은 값싸다.", (2, 3)),
    ("body", "첫째로 필름이 쓰인다.", (2,)),
    ("body", "둘째 링크 문장이다.", (1, 2, 3)),
    ("conclusion", "끝이다.", (4,)),
]


def _read(text: str, size: int = 10**9) -> list[AnswerSentence]:
    parser = AnswerParser()
    said = [each for start in range(0, len(text), size) for each in parser.feed(text[start : start + size])]
    return [*said, *parser.end()]


def _plain(said: list[AnswerSentence]) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(each.part, each.sentence.text, each.sentence.citations) for each in said]


@pytest.mark.parametrize("size", [1, 3, 17, 10_000])
def test_pieces_of_any_size_give_the_same_sentences(size: int) -> None:
    assert _plain(_read(KOREAN, size)) == READ


def test_a_sentence_comes_before_the_answer_ends() -> None:
    parser = AnswerParser()
    early = parser.feed(KOREAN[: KOREAN.index("##본론##")])
    assert [each.sentence.text for each in early] == ["그래핀 차폐", "그래핀은 얇다."]


def test_an_english_title_may_be_a_heading() -> None:
    said = _read("##Graphene shields##\n\n##Introduction##\nIt is thin [1].\n## Main Body\nIt is light [2].\n")
    assert _plain(said) == [
        ("title", "Graphene shields", ()),
        ("introduction", "It is thin.", (1,)),
        ("body", "It is light.", (2,)),
    ]


def test_text_without_a_heading_is_body() -> None:
    assert _plain(_read("It is thin [1]. It is light.")) == [
        ("body", "It is thin.", (1,)),
        ("body", "It is light.", ()),
    ]


@pytest.mark.parametrize("text", ["##답변불가##", "## NO ANSWER ##", "##no answer##\nThe records are about milk."])
def test_a_refusal_has_no_sentences(text: str) -> None:
    parser = AnswerParser()
    assert (parser.feed(text), parser.end(), parser.refused) == ([], [], True)


def test_leading_citations_belong_to_a_sentence_whose_predecessor_has_its_own() -> None:
    said = _read("It is thin [1]. [2] says that it is light.")
    assert _plain(said) == [("body", "It is thin.", (1,)), ("body", "says that it is light.", (2,))]


def test_a_citation_right_behind_the_full_stop_ends_the_sentence() -> None:
    assert _plain(_read("갈등이 커졌다.[1]가정도 그렇다.[2][3]")) == [
        ("body", "갈등이 커졌다.", (1,)),
        ("body", "가정도 그렇다.", (2, 3)),
    ]


def test_a_year_or_a_matrix_is_no_citation() -> None:
    said = _read("In [2020] a matrix [a, b] was used [1].")
    assert _plain(said) == [("body", "In [2020] a matrix [a, b] was used.", (1,))]


@pytest.mark.parametrize(
    ("written", "citations"),
    [
        ("[100]", (100,)),
        ("[Records 1 and 3]", (1, 3)),
        ("[records 2; 4]", (2, 4)),
        ("[문헌 1 및 3]", (1, 3)),
        ("[3·1]", (3, 1)),
        ("[2~4, 3]", (2, 3, 4)),
        # Of a longer range, the first 21 numbers and the last one.
        ("[1-100]", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 100)),
    ],
)
def test_citations_are_read_in_every_form(written: str, citations: tuple[int, ...]) -> None:
    assert _plain(_read(f"It is thin {written}.")) == [("body", "It is thin.", citations)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It is thin [1], and light [2].", [("It is thin, and light.", (1, 2))]),
        ("Is it thin?[1]It is light![2]So it is.", [("Is it thin?", (1,)), ("It is light!", (2,)), ("So it is.", ())]),
        ("It is thin. [1]. It is light.", [("It is thin.", (1,)), ("It is light.", ())]),
        ("It is thin. [1], [2] It is light.", [("It is thin.", (1, 2)), ("It is light.", ())]),
        ("10) It is thin [1].\n· It is light.", [("It is thin.", (1,)), ("It is light.", ())]),
        ("It is __very__ `thin`, as a_b [shows](#a).", [("It is very thin, as a_b shows.", ())]),
    ],
)
def test_citations_bullets_and_marks_are_no_words_of_a_sentence(
    text: str, sentences: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert [each[1:] for each in _plain(_read(text))] == sentences


@pytest.mark.parametrize("heading", ["## Conclusion:", "**## Conclusion**", "## Conclusion**:", "##CONCLUSION## "])
def test_a_heading_is_read_in_every_form(heading: str) -> None:
    assert _plain(_read(f"{heading}\nIt is thin.")) == [("conclusion", "It is thin.", ())]


def test_an_unknown_heading_is_the_title_only_where_it_is_the_first_and_its_text_is_body() -> None:
    said = _read("## Films\n## Conclusion\nIt is thin.\n## Methods\nIt is light.")
    assert _plain(said) == [
        ("title", "Films", ()), ("conclusion", "It is thin.", ()), ("body", "It is light.", ()),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n\n", "##제목##", "[1]", "***", "## ##", "- \n- \n", "#[1]", "##[1]##"])
def test_text_without_words_has_no_sentence(text: str) -> None:
    assert _read(text) == []


@given(st.text("가a#*[]1-, .\n!(", max_size=80), st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_parsed_in_pieces(text: str, size: int) -> None:
    parser = AnswerParser()
    said: list[AnswerSentence] = []
    for start in range(0, len(text), size):
        said += parser.feed(text[start : start + size])
    said += parser.end()
    assert all(each.sentence.text.strip() and "\n" not in each.sentence.text for each in said)
    assert not any("**" in each.sentence.text for each in said)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_sentence_is_complete_once_two_more_have_started(size: int) -> None:
    parser = AnswerParser()
    text = "첫째 문장이다 [1]. 둘째 문장이다 [2]. 셋째 문장"
    said = [each for start in range(0, len(text), size) for each in parser.feed(text[start : start + size])]
    assert _plain(said) == [("body", "첫째 문장이다.", (1,))]


def test_the_text_is_parsed_once_per_sentence_for_any_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0

    def count(text: str) -> Iterator[AnswerSentence]:
        nonlocal reads
        reads += 1
        return original(text)

    original = answer_parser._parse
    monkeypatch.setattr(answer_parser, "_parse", count)
    _read("재택근무 일수와 갈등의 관계를 분석하였다 [1]. " * 50, 1)
    assert reads == 50


@pytest.mark.parametrize("line", ["# {}a#b", "## {}a#b", "##a{}b#"])
def test_a_line_that_is_nearly_a_heading_takes_no_longer_than_any_other(line: str) -> None:
    started = time.process_time()
    said = _read(line.format(" " * 12_000), 12_000)
    assert time.process_time() - started < 1
    assert len(said) == 1
