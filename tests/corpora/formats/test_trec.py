from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.formats import trec
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import FORMATS
from shrag.corpora.readers import source
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Record
from shrag.messages.text import in_language

# The layouts of newswire collections and of Cranfield as TREC, with texts of our own.
NEWS = """<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>
Graphene shields &amp; more
</HEADLINE>
<BYLINE>By A. Kim</BYLINE>
<DATE>1994-03-02</DATE>
<TEXT>
<P>First paragraph, 3 < 5.</P>
<P>Second paragraph.</P>
</TEXT>
</DOC>
"""
CRANFIELD = """<doc><docno>7</docno><title>flow past a plate .</title>
<author>hong,g.d.</author><bib>j. of plates 1, 1961.</bib><text>flow was measured .</text></doc>
"""


def read(tmp_path: Path, text: str | bytes) -> list[ParsedItem]:
    path = tmp_path / "a.trec"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_source(path, FORMATS["trec"]))


def test_documents_of_both_layouts_are_read_with_their_places(tmp_path: Path) -> None:
    assert read(tmp_path, NEWS + CRANFIELD) == [
        ParsedItem(
            1,
            0,
            Record(
                docid="FT-1",
                title="Graphene shields & more",
                text="First paragraph, 3 < 5. Second paragraph.",
                language="en",
                complete=True,
                authors=("By A. Kim",),
                year=1994,
            ),
        ),
        ParsedItem(
            13,
            len(NEWS),
            Record(
                docid="7",
                title="flow past a plate .",
                text="flow was measured .",
                language="en",
                complete=True,
                authors=("hong,g.d.",),
                journal="j. of plates 1, 1961.",
                year=1961,
            ),
        ),
    ]


def test_without_a_text_tag_everything_else_is_the_text(tmp_path: Path) -> None:
    (line,) = read(tmp_path, "<DOC><DOCNO>1</DOCNO><DOCHDR>http</DOCHDR><html><b>그래핀</b> 차폐</html></DOC>")
    assert isinstance(line.outcome, Record)
    assert line.outcome.text == "그래핀 차폐"


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("<DOC><TEXT>a</TEXT></DOC>", ["no identifier: 'docid' is missing or empty"]),
        ("<DOC><DOCNO>1</DOCNO></DOC>", ["document 1 has neither a title nor a text"]),
        ("<DOC><DOCNO>1</DOCNO><TEXT>a", ["<DOC> is not closed by </DOC>"]),
        ("<?xml version='1.0'?>\n<docs>\n\n</docs>\n", []),
        ("text\n", ["text outside <DOC> … </DOC>"]),
        (b"<DOC><DOCNO>1</DOCNO><TEXT>\xb0\xff</TEXT></DOC>", ["not UTF-8: byte 0xb0 at position 22"]),
    ],
)
def test_what_is_no_document_is_a_reason(tmp_path: Path, text: str | bytes, outcomes: list[str]) -> None:
    assert [line.outcome for line in read(tmp_path, text)] == outcomes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<DOC><DOCNO>1</DOCNO><TEXT>a", "<DOC> 태그를 닫는 </DOC> 태그가 없습니다"),
        ("text\n", "<DOC> … </DOC> 밖에 글자가 있습니다"),
        (b"<DOC><DOCNO>1</DOCNO><TEXT>\xb0\xff</TEXT></DOC>", "UTF-8이 아닙니다. 22번째 위치의 바이트: 0xb0"),
    ],
)
def test_reasons_are_in_korean_too(tmp_path: Path, text: str | bytes, reason: str) -> None:
    (line,) = read(tmp_path, text)
    assert in_language(line.outcome, "ko") == reason


def test_text_behind_a_document_is_named_with_its_place(tmp_path: Path) -> None:
    first, second = read(tmp_path, "\n<DOC><DOCNO>1</DOCNO><TEXT>a</TEXT></DOC> more\n")
    assert isinstance(first.outcome, Record)
    assert second == ParsedItem(2, 1 + 41, "text outside <DOC> … </DOC>")


@pytest.mark.parametrize(("end", "line"), [("\n", 2), (" ", 1)])
def test_a_document_that_is_not_closed_does_not_take_the_next_with_it(tmp_path: Path, end: str, line: int) -> None:
    first, second = read(tmp_path, f"<DOC><DOCNO>1</DOCNO><TEXT>a{end}{CRANFIELD}")
    assert first == ParsedItem(1, 0, "<DOC> is not closed by </DOC>")
    assert isinstance(second.outcome, Record)
    assert (second.number, second.offset) == (line, 29)


def test_repeated_fields_are_joined_and_tags_within_a_field_are_dropped(tmp_path: Path) -> None:
    (line,) = read(
        tmp_path,
        "<DOC id='x'><DOCID> 7 </DOCID><TTL>One <I>two</I> three</TTL><TTL>four</TTL><AU>Kim, A.</AU><AU>Lee</AU>"
        "<KW>a</KW><SUBJECT>b, c</SUBJECT><AB>First <B>part</B> ends.</AB> lost <AB>Second.</AB>"
        "<DATE>March 2, 1994</DATE><PUB>P</PUB><URL>http://x.y</URL><PAGE>9</PAGE></DOC>",
    )
    assert line.outcome == Record(
        docid="7",
        title="One two three four",
        text="First part ends. Second.",
        language="en",
        complete=True,
        authors=("Kim, A.", "Lee"),
        publisher="P",
        year=1994,
        link="http://x.y",
        keywords=("a", "b, c"),
    )


def test_a_document_may_be_as_long_as_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = "<DOC><DOCNO>1</DOCNO>\n<TEXT>ab</TEXT>\n</DOC>\n"
    size = len("<DOCNO>1</DOCNO><TEXT>ab</TEXT>")
    for longest, complete in ((size, True), (size - 1, False)):
        monkeypatch.setattr(trec, "LONGEST_LINE", longest)
        (line,) = read(tmp_path, document)
        assert isinstance(line.outcome, Record) is complete


def test_a_document_beyond_the_limit_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec, "LONGEST_LINE", 200)
    monkeypatch.setattr(source, "LONGEST_LINE", 300)
    for size, end in ((50, "\n"), (50, " ")):
        text = "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>" + ("word word" + end) * size + "\n</TEXT>\n</DOC>\n"
        too_long, good = read(tmp_path, text + CRANFIELD)
        assert str(too_long.outcome).startswith("longer than")
        assert isinstance(good.outcome, Record)
