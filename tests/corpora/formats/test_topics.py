from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.records import Qrel, Topic


def test_a_tag_within_a_title_is_text_and_does_not_end_the_question(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    path.write_text(
        "<top>\n<num> Number: 1\n<title> What does List<String> in Java do\n<smry> Left out\n<desc> Unread\n</top>\n"
        "<top><num>2</num><title><Map> or <b>Set</b>?</title><fac>Left out</fac></top>\n"
        "<topic number='3'><question>If a <b and c> d</question></topic>\n"
    )
    assert [(topic.qid, topic.text) for topic in read_topics(path)] == [
        ("1", "What does List<String> in Java do"),
        ("2", "<Map> or <b>Set</b>?"),
        ("3", "If a <b and c> d"),
    ]


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("Topic: crime", "crime"),
        (" \n topic : crime", "crime"),
        ("Description: Topic: crime", "Topic: crime"),
        ("Quantum number: a definition", "Quantum number: a definition"),
        ("What is\na List<String> in\nJava", "What is a List<String> in Java"),
        ("first</title><title>second <x> more", "first"),
    ],
)
def test_only_a_label_in_front_of_a_title_is_left_out(tmp_path: Path, title: str, question: str) -> None:
    path = tmp_path / "topics.txt"
    path.write_text(f"<top><num> Number: 1 <title>{title}</top>")
    assert read_topics(path) == [Topic("1", question)]


@pytest.mark.parametrize(
    ("fields", "topic"),
    [
        ({"_id": "a", "qid": "b", "text": "c", "question": "d"}, Topic("a", "c")),
        ({"query_id": "a", "id": "b", "query": "c", "title": "d"}, Topic("a", "c")),
        ({"id": 7, "title": " c\nd "}, Topic("7", "c d")),
        ({"_id": ["a"], "qid": None, "id": "b", "text": {"a": 1}, "question": "c"}, Topic("b", "c")),
    ],
)
def test_a_topic_in_json_has_the_first_of_the_known_keys_that_is_a_text(
    tmp_path: Path, fields: dict[str, object], topic: Topic
) -> None:
    (tmp_path / "t").write_text(json.dumps(fields))
    assert read_topics(tmp_path / "t") == [topic]


def test_topics_are_tab_separated(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(" 1 \t무엇인가?\n\n2\twhat\tis\t\n")
    assert read_topics(tmp_path / "t") == [Topic("1", "무엇인가?"), Topic("2", "what\tis")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 no tab\n", "line 1 is not a topic"),
        ("1\ta\n2\t \n", "line 2 is not a topic"),
        ('{"_id": "1", "text": " "}\n', "line 1 is not a topic"),
        ("1\ta\n1\tb\n", "line 2 gives topic 1 a second time"),
        ("q 1\ta\n", "line 1: the qid .q 1. has a space"),
        ("", "holds no topic"),
    ],
)
def test_what_is_no_topics_file_is_named_by_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        read_topics(tmp_path / "t")


def test_questions_may_be_listed_under_the_text_that_they_are_asked_of(tmp_path: Path) -> None:
    path = tmp_path / "papers.jsonl"
    path.write_text(
        '{"id": "p1", "text": "…", "qas": [{"qid": "a", "question": "how\\nmany"}, {"id": 7, "question": "why"}]}\n'
        '{"id": "p2", "text": "…", "qas": []}\n',
        encoding="utf-8",
    )
    assert read_topics(path) == [Topic("a", "how many"), Topic("7", "why")]
    for wrong in ('{"qas": ["how"]}', '{"qas": [{"qid": "a"}]}', '{"id": "a", "text": "x", "qas": [[]]}'):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(CorpusError, match="line 1 is not a topic"):
            read_topics(path)


def test_beir_queries_are_json_lines(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "무엇인가?", "metadata": {}}\n\n{"_id": 2, "text": "what\\nis"}\n'
    )
    assert read_topics(tmp_path / "queries.jsonl") == [Topic("q1", "무엇인가?"), Topic("2", "what is")]


TREC = """<top>
<num> Number: 301
<title> International Crime

<desc> Description:
What is it?
<narr> Narrative: none
</top>

<top><num>302</num><title></title><desc>Description: Films &
flakes?</desc></top>
"""


def test_trec_topics_are_their_titles_and_their_descriptions_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TREC)
    assert read_topics(tmp_path / "t") == [Topic("301", "International Crime"), Topic("302", "Films & flakes?")]


def test_trec_topics_may_be_xml_with_numbers_as_attributes(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(
        '<topics>\n<topic number="1">\n<query>a b</query><question>c</question></topic>\n'
        "<topic id='2'><title>d</title></topic></topics>"
    )
    assert read_topics(tmp_path / "t") == [Topic("1", "a b"), Topic("2", "d")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"_id": "1"}\n', "line 1 is not a topic: expected an object with _id and text"),
        ('{"_id": "1", "text": "a"}\n{\n', "line 2 is not a topic: not a JSON object"),
        ('{"_id": "1", "text": "a"}\n{"_id": "1", "text": "a"}\n', "line 2 gives topic 1 a second time"),
        ("<top>\n<num>1\n</top>\n", "line 1 is not a topic: expected <num> and <title>"),
        ("\n<x>\n<top><title>a</top>\n", "line 3 is not a topic"),
        ("<top>\n<num>1<title>a\n", "line 1: this topic is not closed by </top>"),
        ("<top>\n<num>1<title>a\n<top>\n<num>2<title>b</top>\n", "line 1: this topic is not closed by </top>"),
        ("<top>\n<num>1<title>a</top>\n<top><title>b\n", "line 3: this topic is not closed by </top>"),
        ("<x></x>", "holds no topic"),
        (TREC + TREC, "line 12 gives topic 301 a second time"),
    ],
)
def test_broken_topics_of_the_other_layouts_are_named_by_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        read_topics(tmp_path / "t")


def test_beir_qrels_have_a_header_and_three_columns(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t5#0\t1\nq1\tMED-1\t0\n")
    assert read_qrels(tmp_path / "test.tsv") == [Qrel("q1", "5#0", 1), Qrel("q1", "MED-1", 0)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("query-id\tcorpus-id\tscore\n1 0 a 1\n", "line 2 is not a judgement: expected query-id, corpus-id, score"),
        ("query-id corpus-id score\n", "holds no judgement"),
        ("1 a 1\n", "line 1 is not a judgement: expected qid, 0, docid, relevance"),
        ("1 0 a 1\nquery-id corpus-id score\n", "line 2 is not a judgement: expected qid, 0, docid, relevance"),
        ("query-id corpus-id score\n" * 2, "line 2 is not a judgement: expected query-id, corpus-id, score"),
    ],
)
def test_the_two_layouts_of_judgements_are_not_mixed(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "q").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        read_qrels(tmp_path / "q")


def test_qrels_are_read_with_any_whitespace(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1\tQ0\t5#0\t1\n1 0 6#2   0\n")
    assert read_qrels(tmp_path / "q") == [Qrel("1", "5#0", 1), Qrel("1", "6#2", 0)]


@pytest.mark.parametrize(
    ("text", "problem"), [("1 0 a\n", "line 1 is not a judgement"), ("1 0 a b\n", "line 1"), ("", "no jud")]
)
def test_what_is_no_qrels_file_is_named_by_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "q").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        read_qrels(tmp_path / "q")


def test_text_that_is_not_utf_8_is_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"1\tok\n2\t\xb0\xff\n")
    with pytest.raises(CorpusError, match="line 2 is not UTF-8"):
        read_topics(tmp_path / "t")


def test_a_document_judged_twice_for_a_topic_is_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n2 0 a 1\n1 0 a 0\n")
    with pytest.raises(CorpusError, match="line 3 judges a for topic 1 a second time: keep one of them"):
        read_qrels(tmp_path / "q")


def test_miracls_questions_and_judgements_are_read_as_they_are_published_also_from_gzip(tmp_path: Path) -> None:
    topics = "2\t합성생물학을 연구하는 방식은?\n4\t룩셈부르크의 수도는 어디인가?\n"
    (tmp_path / "topics.tsv.gz").write_bytes(gzip.compress(topics.encode()))
    (tmp_path / "qrels.tsv").write_text("2\tQ0\t317339#6\t1\n2\tQ0\t317339#9\t0\n")
    assert [topic.qid for topic in read_topics(tmp_path / "topics.tsv.gz")] == ["2", "4"]
    assert read_qrels(tmp_path / "qrels.tsv") == [Qrel("2", "317339#6", 1), Qrel("2", "317339#9", 0)]


def test_identifiers_with_decomposed_hangul_are_those_of_the_stored_records(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "질문1")
    (tmp_path / "t").write_text(f"{decomposed}\t무엇인가?\n")
    assert [topic.qid for topic in read_topics(tmp_path / "t")] == ["질문1"]
    (tmp_path / "t").write_text(json.dumps({"_id": decomposed, "text": "무엇인가?"}))
    assert [topic.qid for topic in read_topics(tmp_path / "t")] == ["질문1"]
    (tmp_path / "q").write_text(unicodedata.normalize("NFD", "질문1 0 논문#1 2\n"))
    assert read_qrels(tmp_path / "q") == [Qrel("질문1", "논문#1", 2)]
    (tmp_path / "q").write_text("질문1 0 논문#1 2\n" + unicodedata.normalize("NFD", "질문1 0 논문#1 2\n"))
    with pytest.raises(CorpusError, match="line 2 judges 논문#1 for topic 질문1 a second time"):
        read_qrels(tmp_path / "q")
