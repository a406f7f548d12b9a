from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from shrag.corpora.records import Record
from shrag.serving.agents.connector import citable_url, cut_to_json, fetch_reply, read_document_uri, results_of
from shrag.serving.errors import QuestionError


@pytest.mark.parametrize(("length", "truncated"), [(63_999, False), (64_000, False), (64_001, True)])
def test_of_a_record_fetched_64000_characters_are_given_and_it_says_whether_there_are_more(
    record: Record, length: int, truncated: bool
) -> None:
    reply = fetch_reply("sci", 3, replace(record, text="가" * length))
    assert len(reply.text) == min(length, 64_000)
    assert reply.metadata.truncated == truncated


@pytest.mark.parametrize(
    ("link", "cited"),
    [
        ("https://example.org/a?b=1", True),
        ("http://example.org/" + "a" * 1_005, True),  # 1,024 characters
        ("http://example.org/" + "a" * 1_006, False),
        ("https://example.org/\u202ea", False),
        ("javascript:alert(1)", False),
        ("", False),
    ],
)
def test_a_record_is_cited_by_a_link_that_a_browser_opens_safely_else_by_its_uri(
    record: Record, link: str, cited: bool
) -> None:
    url = citable_url(replace(record, link=link), "sci")
    assert url == (link if cited else "shrag://document/A%231?index=sci")


def test_a_record_without_a_link_whose_docid_makes_too_long_a_uri_has_no_url(record: Record) -> None:
    long = replace(record, docid="가" * 500)
    (result,) = results_of([long])
    assert (result.id, result.title, result.url) == ("가" * 500, record.title, "")


@pytest.mark.parametrize(
    "uri",
    [
        "shrag://document/",
        "shrag://record/a",
        "http://document/a",
        "shrag://document/a#b",
        "shrag://document/a?name=b",
        "shrag://document/a?index=b&index=c",
        "shrag://document/%ff",
        "shrag://[document/a",
    ],
)
def test_a_uri_of_no_record_is_refused_with_what_one_is(uri: str) -> None:
    with pytest.raises(QuestionError, match=r"a record is shrag://document/\{docid\}\{\?index\}"):
        read_document_uri(uri)


@pytest.mark.parametrize("text", ["가" * 100, 'a"' * 100, "word " * 40, "\x01" * 100])
def test_a_text_is_cut_so_that_its_json_uses_the_bytes_that_it_may_have(text: str) -> None:
    for most in (20, 61, 199):
        cut = cut_to_json(text, most)
        assert cut.endswith("…")
        assert text.startswith(cut[:-1])
        assert most - 7 < len(msgspec.json.encode(cut)) - 2 <= most
    assert cut_to_json(text, len(msgspec.json.encode(text)) - 2) == text


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        ("abcdefghij" * 10, 13, "abcdefghij…"),  # the ellipsis has three bytes
        ("abcdefghij" * 10, 12, "abcdefghi…"),
        ("가나다라마", 12, "가나다…"),
        ("가나다라마", 14, "가나다…"),
        ("가나다라마", 15, "가나다라마"),
        ('"' * 10, 7, '""…'),
        ("word word word", 8, "word…"),
        ("abcdef", 3, "…"),
    ],
)
def test_a_text_is_cut_at_its_last_character_that_fits(text: str, most: int, cut: str) -> None:
    assert cut_to_json(text, most) == cut


def test_a_result_of_2048_bytes_is_whole_and_one_of_more_has_neither_text_nor_url(record: Record) -> None:
    long = replace(record, title="t" * 240, text="x" * 240, link="http://x/" + "y" * 1_000)
    (shortest,) = results_of([replace(long, docid="")])
    room = 2_048 - len(msgspec.json.encode(shortest))
    (whole,) = results_of([replace(long, docid="d" * room)])
    assert (len(msgspec.json.encode(whole)), whole.text, whole.url) == (2_048, long.text, long.link)
    (cut,) = results_of([replace(long, docid="d" * (room + 1))])
    assert (cut.id, cut.title, cut.text, cut.url) == ("d" * (room + 1), long.title, "", "")
