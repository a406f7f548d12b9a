from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.indexing.record_filter import NO_FACETS, FacetValue, RecordFilter
from shrag.serving.answering.formats import (
    AnswerFormat,
    answer_text,
    authors_lines,
    confidence_line,
    for_reader,
    title_and_page,
    unknown_value_line,
)
from shrag.serving.events import Answer, Authors, Citation, Confidence, NearestRecord, Section, Sentence
from shrag.serving.request import AnswerLanguage

SECTIONS = (
    Section("title", (Sentence("GPT-4 and *milk*", ()),)),
    Section("body", (Sentence("It costs -5 to 7.", (1, 2)), Sentence("Well-known.", (3,)))),
)
ENGLISH = Answer("generated", "en", SECTIONS, ())
KOREAN = Answer("generated", "ko", SECTIONS, ())
HYPHEN = "\N{NON-BREAKING HYPHEN}"


@pytest.mark.parametrize(
    ("answer", "form", "text"),
    [
        (ENGLISH, "cited", "##Title##\nGPT-4 and *milk*\n\n##Main Body##\nIt costs -5 to 7. [1][2] Well-known. [3]"),
        (ENGLISH, "plain", "GPT-4 and *milk*\n\nIt costs -5 to 7. Well-known."),
        (
            ENGLISH,
            "scienceon",
            f"##GPT{HYPHEN}4 and milk##\n\n##Main Body##\nIt costs {HYPHEN}5 to 7. Well{HYPHEN}known.",
        ),
        (
            KOREAN,
            "scienceon",
            f"##제목##\nGPT{HYPHEN}4 and milk\n\n##본론##\nIt costs {HYPHEN}5 to 7. Well{HYPHEN}known.",
        ),
    ],
)
def test_each_format_has_its_form(answer: Answer, form: AnswerFormat, text: str) -> None:
    assert answer_text(answer, form) == text


def test_a_reason_is_the_same_in_every_format() -> None:
    nothing = Answer("extractive", "en", (), (), "nothing_found")
    forms: tuple[AnswerFormat, ...] = ("cited", "scienceon", "plain")
    assert {answer_text(nothing, form) for form in forms} == {
        "No record was found that can support an answer (one with a title and an abstract)."
    }


ARTICLES = replace(NO_FACETS, type=(FacetValue("article-journal", 9), FacetValue("thesis", 2)))


def test_a_value_of_a_filter_that_no_hit_has_is_said_with_those_that_hits_have() -> None:
    nonsense = RecordFilter(type=("nonsense",))
    assert unknown_value_line(nonsense, ARTICLES, "en") == (
        "No hit passes the filter type: nonsense. Values of the hits: article-journal, thesis."
    )
    assert unknown_value_line(nonsense, NO_FACETS, "ko") == (
        "필터(자료 유형: nonsense)에 맞는 검색 결과가 없습니다. 검색 결과에 있는 값: 없음."
    )
    both = RecordFilter(language=("und",), type=("nonsense",))
    assert unknown_value_line(both, ARTICLES, "en").startswith("No hit passes the filter type: nonsense.")


def test_nothing_is_said_of_a_filter_that_a_hit_passes_or_that_other_fields_leave_nothing_to() -> None:
    nonsense = RecordFilter(type=("nonsense", "thesis"))
    assert unknown_value_line(nonsense, replace(ARTICLES, total=2), "en") == ""
    assert unknown_value_line(nonsense, None, "en") == ""
    assert unknown_value_line(RecordFilter(year_from=2015), ARTICLES, "en") == ""
    assert unknown_value_line(RecordFilter(language=("und",), type=("nonsense",)), NO_FACETS, "en") == ""


LEAD = Citation(1, "a", "GPT-4 and *milk*")
OTHER = Citation(3, "b", "")
SAID = tuple(Sentence(f"Sentence {number}.", (1,)) for number in range(1, 5))
QUOTED = Answer(
    "extractive",
    "en",
    (
        Section("record", SAID, LEAD),
        Section("related", (Sentence("It rose.", (3,)),), OTHER),
        Section("related", (Sentence("It fell.", (4,)),), Citation(4, "c", "Falls")),
    ),
    (LEAD, OTHER),
    uncovered=("milk", "tea"),
    quoted_language="ko",
)


def test_an_extractive_answer_has_the_titles_of_its_records_as_headings() -> None:
    assert answer_text(QUOTED) == (
        "The abstract of the closest record is in Korean; it is quoted in its own language.\n\n"
        "##GPT-4 and *milk* [1]##\nSentence 1. Sentence 2. Sentence 3. Sentence 4. [1]\n\n"
        "Words of the question not found in the quoted record: milk, tea\n\n"
        "##Related records##\nb [3]\nIt rose. [3]\n\nFalls [4]\nIt fell. [4]"
    )
    assert answer_text(QUOTED, "plain") == (
        "GPT-4 and *milk*\nSentence 1. Sentence 2. Sentence 3. Sentence 4.\n\nIt rose.\n\nFalls\nIt fell."
    )


def test_what_a_quotation_leaves_out_is_marked_but_in_the_papers_form() -> None:
    first, *rest = QUOTED.sections
    gaps = tuple(replace(each, after_gap=number == 2) for number, each in enumerate(first.sentences))
    answer = replace(QUOTED, sections=(replace(first, sentences=gaps), *rest))
    marked = "Sentence 1. Sentence 2. […] Sentence 3. Sentence 4."
    assert f"{marked} [1]" in answer_text(answer)
    assert marked in answer_text(answer, "plain")
    assert answer_text(answer, "scienceon") == answer_text(QUOTED, "scienceon")


def test_an_uncertain_answer_begins_with_saying_so() -> None:
    english = answer_text(replace(QUOTED, uncertain=True)).split("\n\n")
    assert english[:3] == [
        "It is not certain that a record answers this question; the closest one is quoted.",
        "Words of the question not found in the quoted record: milk, tea",
        "The abstract of the closest record is in Korean; it is quoted in its own language.",
    ]
    uncertain = replace(QUOTED, uncertain=True, quoted_language=None, language="ko", suggestion="silk and tea")
    assert answer_text(uncertain).split("\n\n")[:4] == [
        "이 질문에 답하는 문헌이 있는지 확실하지 않아 가장 가까운 문헌을 인용합니다.",
        "인용한 문헌에서 찾지 못한 질문의 단어: milk, tea",
        "혹시 다음을 찾으셨나요? silk and tea",
        "##GPT-4 and *milk* [1]##\nSentence 1. Sentence 2. Sentence 3. Sentence 4. [1]",
    ]


@pytest.mark.parametrize(
    ("sentences", "parts"),
    [
        (1, "##Main Body##\nSentence 1."),
        (2, "##Introduction##\nSentence 1.\n\n##Main Body##\nSentence 2."),
        (3, "##Introduction##\nSentence 1.\n\n##Main Body##\nSentence 2.\n\n##Conclusion##\nSentence 3."),
        (4, "##Introduction##\nSentence 1.\n\n##Main Body##\nSentence 2. Sentence 3.\n\n##Conclusion##\nSentence 4."),
    ],
)
def test_the_form_of_the_challenge_is_filled_from_the_leading_record_alone(sentences: int, parts: str) -> None:
    answer = replace(QUOTED, sections=(Section("record", SAID[:sentences], LEAD), *QUOTED.sections[1:]))
    assert answer_text(answer, "scienceon") == f"##GPT{HYPHEN}4 and milk##\n\n{parts}"


def test_a_refusal_names_what_is_not_covered_and_the_nearest_titles() -> None:
    nearest = (NearestRecord("a", "GPT-4"), NearestRecord("b", ""))
    refused = Answer("extractive", "en", (), (), "nothing_fits", nearest=nearest, uncovered=("milk",))
    assert answer_text(refused) == (
        "No record was found that answers this question.\n"
        "Words of the question not found in the closest records: milk\n"
        "Nearest titles:\n- GPT-4 (a)\n- b (b)"
    )
    assert answer_text(replace(refused, nearest=(), uncovered=())) == "No record was found that answers this question."
    assert answer_text(replace(refused, suggestion="silk")).splitlines()[1:4] == [
        "Words of the question not found in the closest records: milk",
        "Did you mean: silk",
        "Nearest titles:",
    ]
    assert answer_text(replace(refused, language="ko")).splitlines()[:3] == [
        "이 질문에 답하는 문헌을 찾지 못했습니다.",
        "가장 가까운 문헌에서 찾지 못한 질문의 단어: milk",
        "가장 가까운 문헌:",
    ]


def test_a_confidence_is_said_in_words_and_as_a_number() -> None:
    assert confidence_line(Confidence(0.914, "high"), "en") == "Confidence: high (0.91)"
    assert confidence_line(Confidence(0.1, "low"), "ko") == "답변 확신도: 낮음 (0.10)"
    assert confidence_line(Confidence(0.1999, "low"), "en") == "Confidence: low (0.19)"
    assert confidence_line(Confidence(0.29, "medium"), "en") == "Confidence: medium (0.29)"


def test_the_authors_of_a_question_are_counted_and_named_and_what_became_of_them_is_said() -> None:
    one = Authors(("Kavraki, Lydia E.",), 1, "first")
    assert authors_lines(Authors(("장혁진",), 1, "possible"), "ko") == ["이 이름의 저자: 장혁진."]
    assert authors_lines(one, "en") == [
        "Author of this name: Kavraki, Lydia E.",
        "Their records that match the question come first.",
    ]
    several = Authors(("Kim, A.", "Kim, B."), 1_000, "possible")
    assert authors_lines(several, "en") == ["1,000 authors of this name: Kim, A.; Kim, B.; …"]
    assert authors_lines(several, "ko") == ["이 이름의 저자 1,000명: Kim, A.; Kim, B.; …"]
    two = Authors(("Kim, A.", "Lee, B"), 2, "listed")
    assert authors_lines(two, "en") == ["2 authors of this name: Kim, A.; Lee, B."]


def test_the_records_of_an_author_are_listed_without_the_line_of_the_nearest() -> None:
    nearest = (NearestRecord("a", "GPT-4"),)
    assert answer_text(Answer("extractive", "en", (), (), "names_author", nearest=nearest)) == (
        "These records are by authors of this name, newest first where the year is known. "
        "For an answer, ask about a subject.\n- GPT-4 (a)"
    )


def test_a_related_record_may_have_no_sentence_and_its_language_is_said_of_those_behind_the_first() -> None:
    sections = [
        Section("record", SAID[:1], LEAD, "ko"),
        Section("related", (), OTHER, "en"),
        Section("related", (Sentence("올랐다.", (5,)),), Citation(5, "d", "가격"), "ko"),
    ]
    answer = Answer("extractive", "en", tuple(sections), ())
    assert answer_text(answer) == (
        "##GPT-4 and *milk* [1]##\nSentence 1. [1]\n\n##Related records##\nb [3]\n\n"
        "가격 [5] (abstract in Korean)\n올랐다. [5]"
    )


def test_a_leading_record_without_a_title_is_named_by_its_docid_in_the_form_of_the_challenge() -> None:
    answer = replace(QUOTED, sections=(Section("record", SAID[:1], OTHER),))
    assert answer_text(answer, "scienceon") == "##b##\n\n##Main Body##\nSentence 1."


@pytest.mark.parametrize(
    ("page", "language", "shown"),
    [("3", "en", "Tea, p. 3"), ("3-4", "en", "Tea, pp. 3-4"), ("3-4", "ko", "Tea, 3-4쪽"), ("", "en", "Tea")],
)
def test_a_citation_names_its_title_and_its_pages(page: str, language: AnswerLanguage, shown: str) -> None:
    assert title_and_page("Tea", page, language) == shown


def test_the_labels_of_a_quotation_are_in_the_readers_language_where_the_question_shows_none() -> None:
    assert for_reader(QUOTED, "2024", "ko").language == "ko"
    assert for_reader(QUOTED, "Which film shields best?", "ko").language == "en"
    assert for_reader(ENGLISH, "2024", "ko").language == "en"
