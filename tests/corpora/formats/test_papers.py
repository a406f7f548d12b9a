from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.corpora.errors import RejectedLine
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.paper_sections import PaperSection, sections_of_text
from shrag.corpora.formats.papers import chunk_paper, replace_urls
from shrag.corpora.formats.registry import FORMATS
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Record

MARKDOWN = """# Graphene shields

Graphene is thin. Code is at https://example.invalid/a.b/c.

## 1. Method

Films were made
from flakes.

### 1.1 Acknowledgements

We thank nobody.

## 2. 결과

차폐 효율은 30 dB였다.

## References

1. Hong G. Plates. 1961.

### Books

Kim A. Shields.

## Appendix A

Tables.

# Postscript

It worked.
"""
PRINTED = """Graphene shields

Abstract
Films shield.
1 Introduction
Graphene is thin and
light.
References
[1] Hong, G.
2 Kim A
Appendix
A.1 Tables
Conclusion
It worked.
"""


def records_of(path: Path) -> list[tuple[str, str, str]]:
    outcomes = [line.outcome for line in read_source(path, FORMATS["papers"])]
    assert all(isinstance(outcome, Record) for outcome in outcomes), outcomes
    return [(outcome.docid, outcome.title, outcome.text) for outcome in outcomes if isinstance(outcome, Record)]


def test_markdown_gives_chunks_with_title_and_section_and_drops_what_is_not_worth_searching(tmp_path: Path) -> None:
    path = tmp_path / "shield paper.md"
    path.write_text(MARKDOWN)
    assert records_of(path) == [
        ("shield_paper#0", "Graphene shields", "Graphene is thin. Code is at URL."),
        ("shield_paper#1", "Graphene shields — Method", "Films were made from flakes."),
        ("shield_paper#2", "Graphene shields — 결과", "차폐 효율은 30 dB였다."),
        ("shield_paper#3", "Graphene shields — Postscript", "It worked."),
    ]


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ("---\ntitle: Graphene: shields\nauthor: Kim\n---\n\n# Graphene: shields\n", "Graphene: shields"),
        ("--- \r\nauthor: Kim\r\nTitle:  'Shields'  \r\n...\r\n", "Shields"),
        ("---\ntitle: \"A 'b'\"\n---\n", "A 'b'"),
        ("---\ntitle:\nauthor: Kim\n---\n# Shields\n", "Shields"),
    ],
)
def test_the_metadata_in_front_of_markdown_are_no_text_and_have_the_title(
    tmp_path: Path, front: str, title: str
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(f"{front}One.\n\n---\n\nTwo.\n".encode())
    assert records_of(path) == [("a#0", title, "One. --- Two.")]
    for text in ("One.\n---\ntitle: x\n---\nTwo.", "---\nOne. Two.\n---\n", "---\ntitle: x\nOne.\n"):
        path.write_text(text)
        assert "".join(body for _, _, body in records_of(path)).endswith(
            text.removeprefix("---").strip().replace("\n", " ")
        )


def test_printed_lines_are_joined_and_references_end_only_at_a_usual_heading(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text(PRINTED)
    assert records_of(path) == [
        ("p#0", "Graphene shields — Abstract", "Films shield."),
        ("p#1", "Graphene shields — Introduction", "Graphene is thin and light."),
        ("p#2", "Graphene shields — Conclusion", "It worked."),
    ]


def test_short_lines_between_long_paragraphs_are_headings() -> None:
    paragraph = "Graphene shields well, as was measured here. " * 8
    _, sections = sections_of_text(f"Introduction\n{paragraph}\nA closer look\n{paragraph}\n")
    assert [section.heading for section in sections] == ["Introduction", "A closer look"]


@pytest.mark.parametrize(
    "body",
    [
        {"sections": [{"heading": "1 Method", "text": "Films."}, {"heading": "References", "text": "Hong."}]},
        {"full_text": [{"section_name": "1 Method", "paragraphs": ["Films."]}]},
        {"full_text": {"section_name": ["1 Method", "Appendix"], "paragraphs": [["Films."], ["Tables."]]}},
        {"body_text": [{"section": "1 Method", "text": "Films."}]},
        {"sections": [{"name": "1 Method", "text": "", "subsections": [{"title": "1 Method", "content": "Films."}]}]},
    ],
)
def test_objects_of_every_known_shape_give_the_same_chunks(tmp_path: Path, body: dict[str, object]) -> None:
    path = tmp_path / "a.jsonl"
    paper = {"paper_id": "P1", "title": "Shields", "abstract": "Thin.", "authors": ["Kim, A."], "year": 2020, **body}
    path.write_text(json.dumps(paper) + "\n")
    first, second = read_source(path, FORMATS["papers"])
    assert isinstance(first.outcome, Record)
    assert isinstance(second.outcome, Record)
    assert (first.outcome.docid, first.outcome.title, first.outcome.text) == ("P1#0", "Shields — Abstract", "Thin.")
    assert (second.outcome.docid, second.outcome.title, second.outcome.text) == ("P1#1", "Shields — 1 Method", "Films.")
    assert (second.outcome.authors, second.outcome.year, second.number) == (("Kim, A.",), 2020, 1)


def test_a_body_with_headings_on_lines_of_their_own_needs_no_title(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"paper_id": "q", "text": "Introduction\nThin.\nMethod ::: Data\nFilms.", "qas": []}))
    assert records_of(path)[0] == ("q#0", "Introduction", "Thin. Method ::: Data Films.")
    long = "Films were made of flakes and measured. " * 10
    path.write_text(json.dumps({"paper_id": "q", "text": f"Introduction\n{long}\nMethod ::: Data\n{long}"}))
    assert {title for _, title, _ in records_of(path)} == {"Introduction", "Method: Data"}


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.jsonl", b'{"paper_id": "P"}\n', "a paper without text: expected abstract, sections or text"),
        ("a.jsonl", b'{"text": "a"}\n', "no identifier: 'paper_id' is missing or empty"),
        ("a.jsonl", b'{"paper_id": "P", "sections": 7}\n', "sections is not a list of objects"),
        ("a.txt", b"References\nHong.\n", "paper a has no text outside references, acknowledgements and appendices"),
        ("a.txt", b"\xb0\xff\n", "not UTF-8"),
        ("a.txt", b"", "paper a has no text"),
        ("a.pdf", b"%PDF-1.7\nnonsense", "the PDF cannot be read"),
    ],
)
def test_what_is_no_paper_is_a_reason(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    (line,) = read_source(path, FORMATS["papers"])
    assert isinstance(line, ParsedItem)
    assert str(line.outcome).startswith(reason)


def test_a_paper_that_is_nested_too_deeply_is_rejected_and_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deep = "[" * 800 + "]" * 800
    path.write_text(f'{{"paper_id": "P", "title": "T", "abstract": {deep}}}\n{{"id": "Q", "text": "It works."}}\n')
    rejected, record = (item.outcome for item in read_source(path, FORMATS["papers"]))
    assert rejected == "nested too deeply"
    assert isinstance(record, Record)
    assert record.docid == "Q#0"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("see http://a.invalid/x?y=1&z.", "see URL."),
        ("(http://a.invalid)", "(URL)"),
        ("www.a.invalid, doi:10.1/a.b;", "URL, URL;"),
        ("WWW is no address", "WWW is no address"),
        ("주소는 https://a.invalid/논문 이다", "주소는 URL 이다"),
    ],
)
def test_addresses_become_one_word(raw: str, clean: str) -> None:
    assert replace_urls(raw) == clean


def test_chunks_share_words_or_with_the_other_format_whole_sentences(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    sentence = "The film numbered {} shields " + "well and " * 14 + "reflects."
    path.write_text("Introduction\n" + " ".join(sentence.format(number) for number in range(9)))
    texts = {
        name: [line.outcome.text for line in read_source(path, FORMATS[name]) if isinstance(line.outcome, Record)]
        for name in ("papers", "papers-sentences")
    }
    assert [text[:8] for text in texts["papers"][:3]] == ["The film", "well and", "well and"]
    assert all(text.startswith("The film") for text in texts["papers-sentences"])


@pytest.mark.parametrize(
    "fields",
    [
        {"author": "Kim, A.;Lee, B.", "journal": "J", "link": "http://x.y/?a=1&copy=2", "keyword": "a;b"},
        {"authors": ["Kim, A.", "Lee, B."], "venue": "J", "url": "http://x.y/?a=1&copy=2", "keywords": "a, b, a"},
        {
            **{"author": "Kim, A.;Lee, B.", "journal": "J", "link": "http://x.y/?a=1&copy=2", "keyword": ["a", "b"]},
            **{"authors": ["X"], "venue": "X", "url": "X", "keywords": ["X"]},
        },
    ],
)
def test_chunks_have_the_fields_of_their_paper_under_either_name(fields: dict[str, object]) -> None:
    more = {
        "publisher": "P",
        "year": "2020",
        "doi": "doi:10.1/x",
        "volume": 1,
        "issue": 2,
        "pages": "3-4",
        "type": "JOUR",
    }
    sections = [
        PaperSection("", "가나 다라 http://a.b"),
        PaperSection("1 A ::: <b>B</b>", "one two"),
        PaperSection("C", ""),
    ]
    records = chunk_paper("p", "<i>T</i>", sections, {**fields, **more}, str.split)
    assert [(record.docid, record.title, record.text, record.language) for record in records] == [
        ("p#0", "T", "가나", "ko"),
        ("p#1", "T", "다라", "ko"),
        ("p#2", "T", "URL", "en"),
        ("p#3", "T — 1 A: B", "one", "en"),
        ("p#4", "T — 1 A: B", "two", "en"),
    ]
    for record in records:
        assert record.complete
        assert (record.authors, record.journal, record.publisher) == (("Kim, A.", "Lee, B."), "J", "P")
        assert (record.year, record.link, record.keywords) == (2020, "http://x.y/?a=1&copy=2", ("a", "b"))
        assert (record.doi, record.volume, record.issue, record.pages) == ("10.1/x", "1", "2", "3-4")
        assert record.type == "article-journal"


def test_a_paper_whose_lists_are_empty_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"paper_id": "p", "abstract": "One.", "authors": [], "keywords": []}))
    assert records_of(path) == [("p#0", "Abstract", "One.")]


def test_an_identifier_leaves_room_for_the_number_of_the_chunk() -> None:
    sections = [PaperSection("", "a b")] * 10
    assert chunk_paper("p" * 509, "T", sections, {}, str.split)[19].docid == "p" * 509 + "#19"
    with pytest.raises(RejectedLine, match="the identifier has 513 characters, at most 512"):
        chunk_paper("p" * 510, "T", sections, {}, str.split)
    with pytest.raises(RejectedLine, match="has whitespace or control characters"):
        chunk_paper("p q", "T", sections, {}, str.split)


@pytest.mark.parametrize(
    ("fields", "docid"),
    [
        ({"paper_id": "a", "id": "b"}, "a#0"),
        ({"paper_id": "", "id": None, "_id": 0, "docid": "c"}, "0#0"),
        ({"docid": "c", "doi": "10.1/x"}, "c#0"),
        ({"doi": "10.1/x", "CN": "d"}, "10.1/x#0"),
        ({"CN": "d"}, "d#0"),
    ],
)
def test_the_identifier_of_a_paper_is_the_first_of_its_keys_that_has_a_value(
    tmp_path: Path, fields: dict[str, object], docid: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**fields, "abstract": "One."}))
    assert records_of(path) == [(docid, "Abstract", "One.")]


@pytest.mark.parametrize(
    ("name", "docid"),
    [("a b\tc.txt", "a_b_c#0"), ("a.b.md.gz", "a.b#0"), ("e\u0301.txt", "\u00e9#0"), ("a&amp;b.txt", "a&b#0")],
)
def test_the_identifier_of_a_file_is_its_name_without_blanks(tmp_path: Path, name: str, docid: str) -> None:
    path = tmp_path / name
    path.write_text("A title\n\nIt works.")
    assert records_of(path) == [(docid, "A title", "It works.")]
