from __future__ import annotations

import pytest

from shrag.corpora.formats.paper_sections import UNMARKED_LEVEL, Heading, find_heading, is_excluded


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("## 2.1 Data ##", Heading("Data", 2)),
        ("1. Introduction", Heading("Introduction", 1)),
        ("3.2.1 Training of the model", Heading("Training of the model", 3)),
        ("II. Related Work", Heading("Related Work", 1)),
        ("Ⅱ. 이론적 배경", Heading("이론적 배경", 1)),
        ("제2장 연구 방법", Heading("연구 방법", 1)),
        ("가. 연구 대상의 선정", Heading("연구 대상의 선정", 1)),
        ("서  론", Heading("서  론", 1)),
        ("ABSTRACT", Heading("ABSTRACT", 1)),
        ("참고문헌", Heading("참고문헌", 1)),
        ("Appendix A: Proofs", Heading("Appendix A: Proofs", 1)),
        ("Results", Heading("Results", 1)),
    ],
)
def test_headings_are_known_by_mark_number_or_name(line: str, heading: Heading) -> None:
    assert find_heading(line, by_length=False) == heading


@pytest.mark.parametrize(
    "line",
    [
        "",
        "3.5 dB was measured.",
        "12 of the participants, who",
        "We measured the results",
        "1. Kim A. Shielding of graphene. 2020.",
        "a" * 200,
        "2.1 " + "word " * 20,
    ],
)
def test_sentences_and_their_parts_are_no_headings(line: str) -> None:
    assert find_heading(line, by_length=False) is None


def test_short_lines_are_headings_only_where_a_line_is_a_paragraph() -> None:
    assert find_heading("Shielding of graphene", by_length=True) == Heading("Shielding of graphene", UNMARKED_LEVEL)
    assert find_heading("Shielding of graphene", by_length=False) is None


@pytest.mark.parametrize(
    "title",
    [
        "References", "REFERENCES:", "Reference", "[참고문헌]", "참 고 문 헌", "7. Acknowledgements", "Acknowledgments",
        "Acknowledgment of funding", "감사의 글", "사사", "Appendix", "Appendices", "APPENDIX B. Tables", "부록",
        "부록 1. 설문지",         "Supplementary Material", "Bibliography", "Appendix ::: Proofs",
    ],
)  # fmt: skip
def test_what_is_not_worth_searching_is_known_in_both_languages(title: str) -> None:
    assert is_excluded(title)


@pytest.mark.parametrize(
    "title",
    [
        "Reference model",
        "References to beauty in Kant",
        "Appendicitis in children",
        "사사오입의 역사",
        "Results",
        "부동산",
    ],
)
def test_titles_that_only_begin_alike_are_kept(title: str) -> None:
    assert not is_excluded(title)
