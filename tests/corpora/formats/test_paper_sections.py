from __future__ import annotations

import pytest

from shrag.corpora.errors import RejectedLine
from shrag.corpora.formats.paper_sections import (
    UNMARKED_LEVEL,
    Heading,
    PaperSection,
    find_heading,
    is_excluded,
    merge_titles,
    sections_of_object,
    sections_of_text,
)


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
        ("APPENDIX B. Tables", Heading("APPENDIX B. Tables", 1)),
        ("Appendix C.1 Prompts, Data and Code", Heading("Appendix C.1 Prompts, Data and Code", 1)),
        ("Appendix II", Heading("Appendix II", 1)),
        ("Appendix B.", Heading("Appendix B", 1)),
        ("Appendix Proofs of the theorems", Heading("Appendix Proofs of the theorems", 1)),
        ("6. Acknowledgements and funding", Heading("Acknowledgements and funding", 1)),
        ("부록 1. 설문지", Heading("부록 1. 설문지", 1)),
        ("부 록", Heading("부 록", 1)),
        ("<부록> 설문 문항", Heading("<부록> 설문 문항", 1)),
        ("부록 가 설문지", Heading("부록 가 설문지", 1)),
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
        "Appendix B shows the results for all seeds and",
        "Appendix B. We train on the data. Then we",
        "Appendix B. The results are there.",
        "Acknowledgements are given to",
        "부록에 실었으며 모형은 자료로 학습하였고",
        "부록 1의 표와 같이",
        "2. 부록 1에 실린 설문지를 사용하였다.",
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


@pytest.mark.parametrize("line", ["Appendix B. We then train the model on the data and", "Appendix B", "부록 나"])
@pytest.mark.parametrize("before", ["All prompts are in", "모든 문항은", "(all prompts)", 'as "prompts"'])
def test_a_line_of_a_sentence_that_begins_like_an_appendix_drops_nothing(before: str, line: str) -> None:
    text = f"A title\n\n1 Introduction\n{before}\n{line}\nreport it.\n\n2 Encoder\nIt has six layers.\n"
    assert sections_of_text(text) == (
        "A title",
        [PaperSection("Introduction", f"{before}\n{line}\nreport it."), PaperSection("Encoder", "It has six layers.")],
    )


@pytest.mark.parametrize("before", ["It ends.", "It ends (so).", "It ends.”", "", "12", "Conclusion"])
def test_an_appendix_after_the_end_of_a_sentence_is_left_out(before: str) -> None:
    text = f"A title\n\n1 Introduction\nIt begins.\n{before}\nAppendix B. Prompts\nThey are long.\n"
    assert "They are long." not in str(sections_of_text(text))


LONG = "Films were made of flakes " * 8  # 208 characters


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  Graphene shields \nIt works.", "Graphene shields"),
        ("# Graphene. Shields.\nIt works.", "Graphene. Shields."),
        ("x" * 200 + "\nIt works.", "x" * 200),
        ("x" * 201 + "\nIt works.", ""),
        ("Graphene shields.\nIt works.", ""),
        ("Do they shield?\nIt works.", ""),
        ("Shields!\nIt works.", ""),
        ("Graphene, which\nshields.", "Graphene, which"),
        ("Graphene shields,\nor not.", ""),
        ("1 Introduction\nIt works.", ""),
        ("Abstract\nIt works.", ""),
        ("A title:\nIt works.", "A title:"),
        ("", ""),
    ],
)
def test_the_title_is_a_short_first_line_that_is_no_heading_and_no_sentence(text: str, title: str) -> None:
    found, sections = sections_of_text(text, paragraph_lines=False)
    assert found == title
    whole = "\n".join(f"{section.heading}\n{section.text}" for section in sections)
    assert all(line.strip(" #") in (title, *whole.splitlines()) or line[:1] == "1" for line in text.splitlines())


def test_each_line_is_a_paragraph_where_most_of_the_text_is_in_long_lines() -> None:
    short = "A closer look"
    for rest, headings in ((len(LONG) - len(short) - 3, ["", short]), (len(LONG) - len(short) - 2, [""])):
        # Of the text, LONG is the half or more; two line breaks and the end of the rest count too.
        text = f"{LONG}\n{short}\n{'y' * rest}"
        assert [section.heading for section in sections_of_text(text)[1]] == headings


def test_sections_that_are_left_out_end_at_a_heading_of_their_level_or_at_a_usual_name() -> None:
    markdown = "# T\nOne.\n## References\nHong.\n### Appendix\nKim.\n### Results\nLee.\n## More\nTwo.\n"
    assert sections_of_text(markdown) == ("T", [PaperSection("", "One."), PaperSection("More", "Two.")])
    printed = (
        "T\nOne.\nReferences\n1 Hong Plates\nAcknowledgements\nWe thank.\n2 Kim Films\nand flakes\nDiscussion\nTwo.\n"
    )
    assert sections_of_text(printed) == ("T", [PaperSection("", "One."), PaperSection("Discussion", "Two.")])


@pytest.mark.parametrize(
    ("known", "found", "merged"),
    [
        ("A", "A", ("A", [])),
        ("A  b", "A b", ("A  b", [])),
        ("A", "", ("A", [])),
        ("", "B", ("B", [])),
        ("A", "B", ("A", [PaperSection("", "B")])),
    ],
)
def test_a_title_in_the_text_that_differs_from_the_known_one_is_text(
    known: str, found: str, merged: tuple[str, list[PaperSection]]
) -> None:
    assert merge_titles(known, found, []) == merged


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"title": "T", "abstract": ["One.", "Two."]}, ("T", [PaperSection("Abstract", "One.\nTwo.")])),
        ({"sections": ["One.", {"text": "Two."}]}, ("", [PaperSection("", "One."), PaperSection("", "Two.")])),
        (
            {"sections": [{"heading": "A", "content": [{"text": "One."}, "Two."], "sections": [{"text": "Three."}]}]},
            ("", [PaperSection("A", "One.\nTwo."), PaperSection("", "Three.")]),
        ),
        (
            {"sections": [{"heading": "References", "text": "x", "subsections": [{"text": "y"}]}, {"text": "One."}]},
            ("", [PaperSection("", "One.")]),
        ),
        ({"title": "T", "sections": [], "text": "T\nOne."}, ("T", [PaperSection("", "One.")])),
        ({"title": "T", "text": "Other\nOne."}, ("T", [PaperSection("", "Other"), PaperSection("", "One.")])),
        ({"sections": [{"text": "One."}], "text": "Two."}, ("", [PaperSection("", "One.")])),
        ({"full_text": {"section_name": ["A", "B"], "paragraphs": ["One."]}}, ("", [PaperSection("A", "One.")])),
        ({"title": 7, "abstract": 8}, ("7", [PaperSection("Abstract", "8")])),
    ],
)
def test_the_sections_of_an_object(fields: dict[str, object], found: tuple[str, list[PaperSection]]) -> None:
    assert sections_of_object(fields) == found


@pytest.mark.parametrize("listed", [{"text": "One."}, [7], "One.", {"section_name": ["A"], "paragraphs": "One."}])
def test_sections_of_another_form_are_rejected(listed: object) -> None:
    with pytest.raises(RejectedLine, match="sections is not a list of objects with a heading and a text"):
        sections_of_object({"abstract": "A.", "sections": listed})


@pytest.mark.parametrize("fields", [{}, {"title": "T"}, {"abstract": " ", "sections": [{"heading": "A", "text": " "}]}])
def test_a_paper_without_text_is_rejected(fields: dict[str, object]) -> None:
    with pytest.raises(RejectedLine, match="a paper without text: expected abstract, sections or text"):
        sections_of_object(fields)
