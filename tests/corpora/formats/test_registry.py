from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.formats.passages import parse_miracl
from shrag.corpora.formats.registry import FORMATS, find_files, find_format, folder_files
from shrag.corpora.formats.scienceon import parse_scienceon
from shrag.corpora.records import Record
from shrag.messages.text import in_language

ANSWER = {
    "CN": " JAKO1 ",
    "title": "그래핀 &amp; 차폐",
    "abstract": "<P>차폐(shielding)를 쟀다.</P>",
    "author": "홍길동;Kim, A.;",
    "publisher": "학회",
    "journal": "학회지",
    "year": "2021.03",
    "link": "http://example.invalid/1",
    "lang": "ko",
}


def test_files_are_found_whatever_the_case_of_their_ending_and_the_digits_of_their_names(tmp_path: Path) -> None:
    names = ["a.ris", "B.RIS", "c.Ris.GZ", "①2023_보고서.ris", "²x.ris"]
    for name in (*names, "README.ris", "d.bib"):
        (tmp_path / name).write_text("")
    assert sorted(path.name for path in find_files(FORMATS["ris"], [tmp_path])) == sorted(names)
    assert len(folder_files(tmp_path)) == 6


def test_a_scienceon_answer_becomes_a_clean_record() -> None:
    assert parse_scienceon(ANSWER) == Record(
        docid="JAKO1",
        title="그래핀 & 차폐",
        text="차폐(shielding)를 쟀다.",
        language="ko",
        complete=True,
        authors=("홍길동", "Kim, A."),
        journal="학회지",
        publisher="학회",
        year=2021,
        link="http://example.invalid/1",
        other=(("lang", "ko"),),
    )


@pytest.mark.parametrize("abstract", ["", "없음", None, "<P> </P>", "N/A"])
def test_a_scienceon_answer_without_abstract_is_kept_as_incomplete(abstract: str | None) -> None:
    record = parse_scienceon({**ANSWER, "abstract": abstract})
    assert (record.text, record.complete, record.language) == ("", False, "ko")


def test_an_abstract_without_title_is_kept_as_incomplete() -> None:
    record = parse_scienceon({**ANSWER, "title": ""})
    assert (record.title, record.complete) == ("", False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"CN": ""}, "no identifier: 'CN' is missing or empty"),
        ({"CN": None}, "no identifier"),
        ({"CN": "a b"}, "has whitespace"),
        ({"CN": "a\x00b"}, "control characters"),
        ({"CN": "x" * 4096}, "4096 characters"),
        ({"CN": ["a"]}, "'CN' is a list"),
        ({"title": {"ko": "가"}}, "'title' is an object"),
        ({"abstract": True}, "'abstract' is true or false"),
        ({"title": "", "abstract": "없음"}, "neither a title nor an abstract"),
    ],
)
def test_what_is_no_scienceon_record_is_rejected_with_its_reason(change: dict[str, object], reason: str) -> None:
    with pytest.raises(RejectedLine, match=reason):
        parse_scienceon({**ANSWER, **change})


@pytest.mark.parametrize("docid", ["10.1234/a;b(2)", "39#0", "논문-1", 7])
def test_identifiers_may_hold_what_real_ones_hold(docid: object) -> None:
    assert parse_scienceon({**ANSWER, "CN": docid}).docid == str(docid)


def test_a_miracl_passage_needs_no_title_to_be_evidence() -> None:
    record = parse_miracl({"docid": "5#0", "title": "", "text": "지미 카터는 대통령이다."})
    assert (record.docid, record.language, record.complete) == ("5#0", "ko", True)
    assert not parse_miracl({"docid": "5#0", "title": "지미 카터", "text": ""}).complete
    with pytest.raises(RejectedLine, match="neither a title nor a text"):
        parse_miracl({"docid": "5#0"})


def test_a_folder_gives_its_files_in_natural_order_and_no_others(tmp_path: Path) -> None:
    for name in ("docs-10.jsonl.gz", "docs-2.jsonl.gz", "docs-1.jsonl", "README.md", "topics.tsv"):
        (tmp_path / name).touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    files = find_files(FORMATS["miracl"], [tmp_path])
    assert [file.name for file in files] == ["docs-1.jsonl", "docs-2.jsonl.gz", "docs-10.jsonl.gz"]


def test_files_that_may_hold_records_are_neither_hidden_nor_about_the_folder(tmp_path: Path) -> None:
    for name in ("b10.csv", "b9.csv", "a.xyz", ".a.csv", "LICENSE.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert [file.name for file in folder_files(tmp_path)] == ["a.xyz", "b9.csv", "b10.csv"]
    assert [file.name for file in find_files(FORMATS["table"], [tmp_path])] == ["b9.csv", "b10.csv"]


def test_a_link_that_leads_nowhere_is_named_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone")
    assert folder_files(tmp_path) == find_files(FORMATS["table"], [tmp_path]) == [tmp_path / "a.csv"]


def test_nothing_to_read_is_an_error_and_so_is_reading_twice(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"holds no miracl file \(docs-\*"):
        find_files(FORMATS["miracl"], [tmp_path])
    with pytest.raises(CorpusError, match="name at least one") as nothing:
        find_files(FORMATS["miracl"], [])
    assert "파일 또는 폴더: 하나 이상" in in_language(nothing.value, "ko")
    (tmp_path / "a.ris").touch()
    with pytest.raises(CorpusError, match=r"files; there are files that may be ris\.") as other:
        find_files(FORMATS["papers"], [tmp_path])
    assert "(*.pdf 또는 *.hwpx" in in_language(other.value, "ko")
    assert "지정해 주세요. ris 형식일 수 있는 파일은 있습니다." in in_language(other.value, "ko")
    with pytest.raises(CorpusError, match="named twice"):
        find_files(FORMATS["miracl"], [tmp_path / "a", tmp_path / "a"])


def test_an_unknown_format_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        CorpusError, match="'csv': use one of scienceon, miracl, beir, table, ris, bibtex, csl-json, trec, papers"
    ):
        find_format("csv")
