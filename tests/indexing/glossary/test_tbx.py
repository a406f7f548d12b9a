from __future__ import annotations

import pytest

from shrag.indexing.errors import GlossaryRejected
from shrag.indexing.glossary.tbx import ConceptTerms, parse_tbx

OLD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX"><text><body>
  <termEntry id="c1">
    <langSet xml:lang="en-US"><tig><term>artificial
      intelligence</term></tig><tig><term>AI</term></tig></langSet>
    <langSet xml:lang="ko"><tig><term>인공<hi>지능</hi></term></tig></langSet>
    <langSet xml:lang="de"><tig><term>KI</term></tig></langSet>
  </termEntry>
  <termEntry id="c2"><langSet xml:lang="en"><tig><term>alone</term></tig></langSet></termEntry>
</body></text></martif>"""
NEW = """<tbx xmlns="urn:iso:std:iso:30042:ed-2" type="TBX-Basic"><text><body>
<conceptEntry><langSec xml:lang="ko-KR"><termSec><term>전지</term></termSec></langSec>
<langSec xml:lang="en"><termSec><term>battery</term></termSec></langSec></conceptEntry>
</body></text></tbx>"""


def test_concepts_of_both_editions_are_read() -> None:
    assert parse_tbx(OLD.encode(), "old.tbx") == [ConceptTerms(("인공지능",), ("artificial intelligence", "AI"), 4)]
    assert parse_tbx(NEW.encode(), "new.tbx") == [ConceptTerms(("전지",), ("battery",), 2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<!DOCTYPE a [<!ENTITY e "x">]>\n<a>&e;</a>', r"mine\.tbx, line 1: a document type declaration with"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd">\n<a>&e;</a>', r"mine\.tbx, line 2: the entity &e; is not known"),
        ("<a>\n<b></a>", r"mine\.tbx, line 2: not well-formed XML \(mismatched tag\)"),
        ("<a/>", r"mine\.tbx has no concept with a Korean and an English term"),
        ("<a>" * 101, r"mine\.tbx, line 1: XML nested deeper than 100"),
        ("<a>\n<term>" + "x" * 501 + "</term></a>", r"mine\.tbx, line 2: a term of 501 characters"),
        ('<?xml version="1.0" encoding="EUC-KR"?><a/>', "mine.tbx"),
    ],
)
def test_other_files_are_rejected_by_line(content: str, message: str) -> None:
    with pytest.raises(GlossaryRejected, match=message):
        parse_tbx(content.encode(), "mine.tbx")


def test_elements_beside_each_other_are_not_nested() -> None:
    beside = NEW.replace("<body>", f"<body>{'<note/>' * 300}")
    assert parse_tbx(beside.encode(), "new.tbx") == [ConceptTerms(("전지",), ("battery",), 2)]
    with pytest.raises(GlossaryRejected, match="XML nested deeper than 100"):
        parse_tbx(f"<a>{'<note/>' * 300}{'<a>' * 100}".encode(), "new.tbx")
