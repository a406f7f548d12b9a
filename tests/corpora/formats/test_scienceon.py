"""One record in every layout that ScienceON's answers come in."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import FORMATS
from shrag.corpora.formats.scienceon import parse_scienceon
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Record

SCIENCEON = FORMATS["scienceon"]
RECORD = Record(
    docid="X1",
    title="그래핀 차폐재",
    text="차폐, 곧 shielding을 쟀다. p < 0.05였다.",
    language="ko",
    complete=True,
    authors=("홍길동", "Kim, A."),
    journal="재료학회지",
    publisher="재료학회",
    year=2021,
    link="http://example.invalid/1",
    keywords=("그래핀", "전자파 차폐", "TCP/IP"),
    doi="10.1234/x.1",
    volume="12",
    issue="3",
    pages="45-67",
    type="article-journal",
    other=(("ISSN", "1234-5678"),),
)
FIELDS = {
    "CN": "X1",
    "title": "그래핀 차폐재",
    "abstract": "<P>차폐, 곧 shielding을 쟀다.&amp;#xD; p &amp;lt; 0.05였다.</P>",
    "author": "홍길동;Kim, A.;",
    "journal": "재료학회지",
    "publisher": "재료학회",
    "year": "2021",
    "link": "http://example.invalid/1",
    "keyword": "그래핀;전자파 차폐;TCP/IP",
    "doi": "https://doi.org/10.1234/x.1",
    "volume": "12",
    "issue": "3",
    "pages": "45-67",
    "type": "JAKO",
    "ISSN": "1234-5678",
}
META_CODES = {
    "title": "Title",
    "abstract": "Abstract",
    "author": "Author",
    "journal": "JournalName",
    "publisher": "Publisher",
    "year": "Pubyear",
    "link": "ContentURL",
    "keyword": "Keyword",
    "doi": "DOI",
    "volume": "VolNo1",
    "issue": "VolNo2",
    "pages": "PageInfo",
    "type": "DBCode",
}
META_NAMES = {
    "title": "논문명",
    "abstract": "초록",
    "author": "저자",
    "journal": "저널명",
    "publisher": "출판사(발행기관)",
    "year": "발행년",
    "link": "ScienceON상세링크",
    "keyword": "키워드",
    "doi": "DOI",
    "volume": "권번호",
    "issue": "호번호",
    "pages": "페이지정보",
    "type": "DB코드",
}


def as_lines() -> bytes:
    return (json.dumps(FIELDS, ensure_ascii=False) + "\n").encode()


def as_array() -> bytes:
    return json.dumps([FIELDS], ensure_ascii=False, indent=2).encode()


def as_xml() -> bytes:
    items = "".join(
        f'<item metaCode="{META_CODES.get(key, key)}" metaName="{META_NAMES.get(key, key)}"><![CDATA[{value}]]></item>'
        for key, value in FIELDS.items()
    )
    head = '<?xml version="1.0" encoding="UTF-8"?><MetaData><resultSummary><TotalCount>1</TotalCount></resultSummary>'
    return f"{head}<recordList><record rownum='1'>{items}</record></recordList></MetaData>".encode()


def as_table(names: dict[str, str], mark: str = "") -> bytes:
    """Write a table as pandas does, with a column of row numbers and, for Excel, a byte order mark."""
    header = ",".join(["", *(names.get(key, key) for key in FIELDS)])
    cells = ",".join(["0", *('"' + value.replace('"', '""') + '"' for value in FIELDS.values())])
    return f"{mark}{header}\n{cells}\n".encode()


LAYOUTS = {
    "records.jsonl": as_lines(),
    "records.json": as_array(),
    "answer.xml": as_xml(),
    "records.csv": as_table({}),
    "metaName.csv": as_table(META_NAMES, mark="\ufeff"),
    "metaCode.csv": as_table(META_CODES),
    "records.jsonl.gz": gzip.compress(as_lines()),
    "answer.xml.gz": gzip.compress(as_xml()),
    "no-suffix": as_array(),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_same_record(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(LAYOUTS[name])
    assert [line.outcome for line in read_source(path, SCIENCEON)] == [RECORD]


def test_a_table_without_the_identifiers_column_is_refused_with_the_columns_it_has(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("번호,논문명\n1,가\n")
    with pytest.raises(CorpusError, match=r"no column CN \(its first line has 번호, 논문명\)"):
        list(read_source(path, SCIENCEON))


def test_a_first_line_that_is_broken_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"[1, 2]\n" + as_lines())
    bad, good = read_source(path, SCIENCEON)
    assert str(bad.outcome).startswith("not a JSON object")
    assert good == ParsedItem(2, 7, RECORD)


def test_the_title_in_the_other_language_stands_in_where_there_is_no_other() -> None:
    assert parse_scienceon({"CN": "1", "Title": "", "Title2": "Graphene", "Abstract": "a b"}).title == "Graphene"
    assert parse_scienceon({"CN": "1", "Title2": "Graphene", "Title": "그래핀", "Abstract": "a"}).title == "그래핀"


def test_the_title_that_is_not_used_is_another_field() -> None:
    fields = {"CN": "1", "Title2": "Graphene", "Title": "그래핀", "lang": "ko", "empty": ""}
    assert parse_scienceon(fields).other == (("Title2", "Graphene"), ("lang", "ko"))


@pytest.mark.parametrize(
    ("docid", "kind"),
    [
        ("JAKO2020123", "article-journal"),
        ("DIKO0001", "thesis"),
        ("NPAP07", "paper-conference"),
        ("JAKOB", ""),
        ("1", ""),
    ],
)
def test_the_databases_code_in_an_identifier_gives_the_type(docid: str, kind: str) -> None:
    assert parse_scienceon({"CN": docid, "title": "a"}).type == kind


@pytest.mark.parametrize(
    ("raw", "keywords"),
    [
        ("그래핀;차폐; ", ("그래핀", "차폐")),
        ("Child, Preschool;Mouth", ("Child, Preschool", "Mouth")),
        ("그래핀, 차폐", ("그래핀", "차폐")),
        ("TCP/IP, UDP", ("TCP/IP", "UDP")),
        ("그래핀/차폐", ("그래핀", "차폐")),
        ("수중로봇 . 실증", ("수중로봇", "실증")),
        ("R&amp;amp;D;R&amp;D", ("R&D",)),
        ("없음", ()),
        ("", ()),
        (None, ()),
        (["그래핀", " 차폐 ", "a;b"], ("그래핀", "차폐", "a;b")),
    ],
)
def test_keywords_are_split_at_the_first_separator_they_have(raw: object, keywords: tuple[str, ...]) -> None:
    assert parse_scienceon({"CN": "1", "title": "a", "keyword": raw}).keywords == keywords
