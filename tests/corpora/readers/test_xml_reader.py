from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers import xml_reader as xml_records
from shrag.corpora.readers.item import SourceItem
from shrag.corpora.readers.xml_reader import read_xml

# The layout of ScienceON's search interface, with a text of our own.
ANSWER = """<?xml version="1.0" encoding="UTF-8"?>
<MetaData>
 <resultSummary><statusCode>200</statusCode><TotalCount>2</TotalCount></resultSummary>
 <parameterData><item metaCode="CN">no record</item></parameterData>
 <recordList>
  <record rownum="1">
   <item metaCode="CN" metaName="CN"><![CDATA[X1]]></item>
   <item metaCode="Title" metaName="논문명"><![CDATA[그래핀 <b>차폐</b>]]></item>
   <item metaCode="Author" metaName="저자"><![CDATA[홍길동;김하나]]></item>
   <item metaCode="Keyword" metaName="키워드"><![CDATA[그래핀]]></item>
   <item metaCode="Keyword" metaName="키워드"><![CDATA[차폐]]></item>
   <item metaCode="DOI" metaName="DOI"><![CDATA[]]></item>
   <item metaCode="CallAPIInfo" metaGroupName="API호출정보" number="1">
    <item metaCode="CN"><![CDATA[another]]></item>
   </item>
  </record>
  <record rownum="2"><item metaCode="CN">X2</item><item metaCode="Title">H<sub>2</sub>O &amp; 물</item></record>
 </recordList>
</MetaData>
"""


def items_of(tmp_path: Path, data: bytes) -> list[SourceItem]:
    path = tmp_path / "a.xml"
    path.write_bytes(data)
    return list(read_xml(path))


def test_the_records_of_an_answer_are_found_with_their_places(tmp_path: Path) -> None:
    data = ANSWER.encode()
    first, second = items_of(tmp_path, data)
    assert first == SourceItem(
        6,
        data.index(b'<record rownum="1"'),
        {"CN": "X1", "Title": "그래핀 <b>차폐</b>", "Author": "홍길동;김하나", "Keyword": "그래핀;차폐"},
    )
    assert second == SourceItem(17, data.index(b'<record rownum="2"'), {"CN": "X2", "Title": "H2O & 물"})


def test_plain_elements_are_fields_too_whatever_their_namespace(tmp_path: Path) -> None:
    data = b'<list xmlns="urn:x"><Record><CN>A</CN><title>a <b>b</b></title></Record></list>'
    assert [item.fields for item in items_of(tmp_path, data)] == [{"CN": "A", "title": "a b"}]


@pytest.mark.parametrize(
    "bomb",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x><record><CN>&b;</CN></record></x>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x><record><CN>1</CN></record></x>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x><record><CN>&a;</CN></record></x>',
    ],
)
def test_a_document_type_is_refused_and_with_it_every_entity(tmp_path: Path, bomb: str) -> None:
    with pytest.raises(CorpusError, match="document type declaration, which is refused"):
        items_of(tmp_path, bomb.encode())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"<x><record><CN>1</CN>", "line 1, column 22, is not well-formed XML"),
        (b"<x><record><CN>1</record></x>", "mismatched tag"),
        (b"<x><record><CN>\x08</CN></record></x>", "not well-formed"),
        (b"<x><record><CN>&a;</CN></record></x>", "undefined entity"),
        (b"<x/><x/>", "junk after document element"),
        (b"", "no element found"),
        (b"<x><record><CN>\xb0\xa1</CN></record></x>", "not well-formed"),
        (b'<?xml version="1.0" encoding="Shift_JIS"?><x/>', "not UTF-8"),
        (b'<?xml version="1.0" encoding="EUC-KR"?><x>\xb0</x>', "damaged CP949"),
        (b'<?xml version="1.0" encoding="klingon"?><x/>', "klingon|unknown encoding"),
        (b"<x>" * 200, "deeper than 100"),
        (
            b"<MetaData><resultSummary><statusCode>400</statusCode><errorCode>E4103</errorCode>"
            b"<errorMessage>expired</errorMessage></resultSummary></MetaData>",
            r"an error response of the search API \(E4103 'expired'\)",
        ),
    ],
)
def test_what_is_no_answer_is_an_error_that_says_why(tmp_path: Path, data: bytes, problem: str) -> None:
    with pytest.raises(CorpusError, match=problem):
        items_of(tmp_path, data)


@pytest.mark.parametrize("name", ["EUC-KR", "euc-kr", "CP949", "ks_c_5601-1987"])
def test_an_answer_in_cp949_is_converted(tmp_path: Path, name: str) -> None:
    data = ANSWER.replace("UTF-8", name).encode("cp949")
    assert [item.fields for item in items_of(tmp_path, data)] == [
        item.fields for item in items_of(tmp_path, ANSWER.encode())
    ]


def test_elements_may_be_nested_a_hundred_deep(tmp_path: Path) -> None:
    record = "<record><CN>1</CN></record>"
    data = "<x>" * 98 + record + "</x>" * 98
    assert [item.fields for item in items_of(tmp_path, data.encode())] == [{"CN": "1"}]
    with pytest.raises(CorpusError, match="nests XML deeper than 100 elements"):
        items_of(tmp_path, f"<x>{data}</x>".encode())


def test_an_error_beside_records_or_without_a_code_costs_no_record(tmp_path: Path) -> None:
    data = b"<x><errorCode>E1</errorCode><record><CN>1</CN></record><record/></x>"
    assert [item.fields for item in items_of(tmp_path, data)] == [{"CN": "1"}, {}]
    assert items_of(tmp_path, b"<x><errorCode> </errorCode><errorMessage>none</errorMessage></x>") == []


def test_blank_values_are_no_values_and_repeated_ones_are_joined(tmp_path: Path) -> None:
    data = b"<x><record><a> </a><a>1</a><a/><a>2</a><item metaName='B'>3</item><item metaCode=''>4</item></record></x>"
    assert [item.fields for item in items_of(tmp_path, data)] == [{"a": "1;2", "B": "3", "item": "4"}]


def test_an_answer_without_records_has_none(tmp_path: Path) -> None:
    assert items_of(tmp_path, b"<MetaData><recordList></recordList></MetaData>") == []


def test_a_record_beyond_the_limit_is_a_reason_and_the_next_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_records, "LONGEST_LINE", 1_000)
    data = b"<x><record><CN>A</CN><title>" + b"a " * 1_000 + b"</title></record><record><CN>B</CN></record></x>"
    assert [item.fields for item in items_of(tmp_path, data)] == ["record 1: longer than 1000 bytes", {"CN": "B"}]


def test_a_tag_that_never_ends_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_records, "LONGEST_LINE", 2**20)
    path = tmp_path / "a.xml"
    path.write_bytes(b"<x><!-- " + b"a" * (40 * 2**20) + b" --></x>")
    tracemalloc.start()
    with pytest.raises(CorpusError, match="a piece of XML is longer than"):
        list(read_xml(path))
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()


def test_a_field_of_many_pieces_is_whole(tmp_path: Path) -> None:
    data = b"<x><record><title>" + b"<i>a</i>b" * 150 + b"</title></record></x>"
    assert [item.fields for item in items_of(tmp_path, data)] == [{"title": "ab" * 150}]
