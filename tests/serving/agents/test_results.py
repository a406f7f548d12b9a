"""Results for agents: limited in size for any records, text and values alike."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from shrag.corpora.records import Record
from shrag.serving.agents.connector import results_text
from shrag.serving.agents.results import (
    IndexesReply,
    ask_reply,
    ask_text,
    document_reply,
    document_text,
    indexes_text,
    search_reply,
)
from shrag.serving.engine import Engine
from shrag.serving.events import Answer, Authors, Citation, Fallback, FollowUp, RankedRecord, Section, Sentence, Timings
from shrag.serving.results import AskResult
from shrag.serving.runtime.index_registry import ServedIndex

# Written out, so that a change of the module's own is noticed.
MOST_ANSWER_BYTES = 16_384
MOST_RECORD_BYTES = 2_048
PAGE_CHARACTERS = 8_000

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"

HOSTILE = [
    Record("A#1", "제목" * 5_000, "본문 " * 1_000_000, "ko", complete=True),
    Record("A#1", '"' * 5_000, '\\"\n\u0000' * 50_000, "en", complete=True),
    Record(
        "가" * 512, "제목" * 500, "본문" * 500, "ko", complete=True, authors=("이름" * 90,) * 900, journal="지" * 999
    ),
    Record("A#1", "", "x" * 3_000, "en", complete=False),
]


@pytest.mark.parametrize("record", HOSTILE, ids=["long", "escapes", "long docid", "no title"])
def test_a_record_found_is_at_most_2_kilobytes_with_its_whole_docid(demo: Engine, record: Record) -> None:
    result = demo.search(QUESTION, k=2)
    ranking = replace(result.ranking, records=(RankedRecord(1, 1, 1.0, record),) * 50)
    reply = search_reply(replace(result, ranking=ranking))
    assert len(reply.records) == 50
    for found in reply.records:
        assert len(msgspec.json.encode(found)) <= MOST_RECORD_BYTES
        assert (found.docid, found.truncated) == (record.docid, True)
        assert record.text.startswith(found.text.removesuffix("…").rstrip())
    assert len(results_text(reply.results, reply.message).encode()) <= 51 * MOST_RECORD_BYTES


def test_a_cut_record_uses_the_room_it_has(demo: Engine) -> None:
    result = demo.search(QUESTION, k=1)
    for text in ("x" * 5_000, "가" * 5_000, "\n" * 10 + '"' * 5_000):
        ranked = RankedRecord(1, 1, 1.0, Record("A#1", "제목", text, "ko", complete=True))
        (found,) = search_reply(replace(result, ranking=replace(result.ranking, records=(ranked,)))).records
        assert MOST_RECORD_BYTES - 6 <= len(msgspec.json.encode(found)) <= MOST_RECORD_BYTES


def test_a_short_record_is_given_whole(demo: Engine) -> None:
    (found,) = search_reply(demo.search(QUESTION, k=1)).records
    record = demo.document("DEMO-SOC-012")
    assert record is not None
    assert (found.docid, found.text, found.title, found.truncated) == ("DEMO-SOC-012", record.text, record.title, False)


def test_the_text_of_a_search_is_its_results_as_json_or_the_reason_where_there_is_none(demo: Engine) -> None:
    reply = search_reply(demo.search(QUESTION, k=2))
    said = json.loads(results_text(reply.results, reply.message))
    assert said == {"results": [msgspec.to_builtins(each) for each in reply.results]}
    assert [each["id"] for each in said["results"]] == ["DEMO-SOC-012", reply.records[1].docid]
    nothing = search_reply(demo.search("zzzz qqqq"))
    assert (nothing.records, nothing.results, nothing.reason) == ((), (), "unknown_words")
    assert (
        nothing.message == "None of the question's words is in a title or abstract of this index. Ask in other words."
    )
    assert json.loads(results_text(nothing.results, nothing.message)) == {"results": [], "message": nothing.message}


def test_an_answer_says_who_wrote_it_what_is_unsupported_and_what_it_cites(demo: Engine) -> None:
    sentences = (Sentence("맞다.", (1,)), Sentence("틀리다.", (1,), supported=False, issue="number"))
    answer = Answer(
        "generated",
        "ko",
        (Section("body", sentences),),
        (Citation(1, "A#1", "제목"),),
        model="m",
        citation_precision=0.5,
    )
    search = replace(
        demo.search(QUESTION),
        generation=3,
        timings=Timings({}, cached=True),
        fallbacks=(Fallback("keywords", "unavailable", "no model"),),
    )
    reply = ask_reply(AskResult(answer, search))
    assert (reply.index_generation, reply.citation_precision, reply.fallbacks, reply.cached) == (
        3,
        0.5,
        ("no model",),
        True,
    )
    assert [(each.text, each.supported, each.issue) for each in reply.sentences] == [
        ("맞다.", True, ""),
        ("틀리다.", False, "number"),
    ]
    assert ask_text(reply).splitlines() == [
        "(생성 답변: 언어 모델(m)이 검색한 문헌을 근거로 작성했습니다.)",
        "no model",
        "",
        "##본론##",
        "맞다. [1] 틀리다. [1]",
        "",
        "! 틀리다. (근거 문헌에 없는 수치가 있습니다)",
        "[1] A#1 제목",
    ]


def test_a_refusal_says_how_the_question_was_read_and_what_was_done_without_the_model(demo: Engine) -> None:
    refusal = Answer("extractive", "en", (), (), "nothing_fits")
    search = demo.search(QUESTION)
    reason = "No record was found that answers this question."
    assert ask_text(ask_reply(AskResult(refusal, search))) == reason
    read = replace(
        search,
        follow_up=FollowUp("Kim and robots", ("robots",)),
        authors=Authors(("Kim, Ann",), 1, "possible"),
        fallbacks=(Fallback("query", "unavailable", "no model"),),
    )
    assert ask_text(ask_reply(AskResult(refusal, read))).splitlines() == [
        "Together with the earlier questions, this was understood as: Kim and robots",
        "Author of this name: Kim, Ann.",
        "no model",
        "",
        reason,
    ]


def test_an_answer_of_any_length_is_bounded(demo: Engine) -> None:
    sentences = tuple(Sentence("가" * 10_000, (1,)) for _ in range(500))
    answer = Answer("generated", "ko", (Section("body", sentences),), (Citation(1, "A#1", "제" * 9_999),), model="m")
    search = replace(demo.search(QUESTION), fallbacks=(Fallback("answer", "refused", "x" * 9_999),))
    reply = ask_reply(AskResult(answer, search))
    assert len(msgspec.json.encode(reply.answer)) <= MOST_ANSWER_BYTES + 2
    assert len(msgspec.json.encode(reply)) < 100_000


def test_a_long_document_comes_by_pages_that_make_the_whole() -> None:
    record = Record(
        "A#1", "제목", "".join(chr(0xAC00 + place % 11_172) for place in range(20_001)), "ko", complete=True
    )
    offset: int | None = 0
    pages = []
    while offset is not None:
        reply = document_reply("demo", 1, record, offset)
        assert (reply.offset, reply.characters) == (offset, 20_001)
        pages.append(reply)
        offset = reply.next_offset
    assert [len(page.text) for page in pages] == [PAGE_CHARACTERS, PAGE_CHARACTERS, 4_001]
    assert "".join(page.text for page in pages) == record.text
    assert document_text(pages[0]).endswith("(8000 of 20001 characters; the next page has offset=8000)")
    assert document_text(pages[2]) == f"A#1 제목\n{pages[2].text}"


def test_a_document_without_text_is_one_empty_page() -> None:
    reply = document_reply("demo", 1, Record("A#1", "제목", "", "ko", complete=False), 0)
    assert (reply.text, reply.characters, reply.next_offset, reply.complete) == ("", 0, None, False)


def test_the_list_of_indexes_has_a_line_for_each_with_what_is_wrong() -> None:
    rows = (ServedIndex("a", 2, 170, "2026", "lsa", ""), ServedIndex("b", 0, 0, "", "", "It is damaged."))
    assert indexes_text(IndexesReply(rows)) == "a: 170 records, generation 2\nb: It is damaged."
