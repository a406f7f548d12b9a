from __future__ import annotations

import io
import zipfile

import pytest

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers import zip_archive
from shrag.corpora.readers.hwpx_reader import is_hwpx, read_hwpx
from shrag.corpora.readers.zip_archive import open_zip

_NAMES = 'xmlns:hs="urn:section" xmlns:hp="urn:paragraph" xmlns:opf="urn:package"'


def _archive(**parts: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            path = "Contents/content.hpf" if name == "package" else f"Contents/{name}.xml"
            archive.writestr(path, f"<hs:sec {_NAMES}>{content}</hs:sec>")
    return data.getvalue()


def _paragraph(text: str) -> str:
    return f"<hp:p><hp:run><hp:t>{text}</hp:t></hp:run></hp:p>"


def test_paragraphs_are_lines_in_the_order_of_the_sections_numbers() -> None:
    data = _archive(
        section10=_paragraph("셋째"),
        section2=_paragraph("둘째") + _paragraph(" ") + _paragraph("또 둘째"),
        section0=_paragraph("첫째"),
        header=_paragraph("머리말"),
    )
    assert read_hwpx(data) == ("", "첫째\n둘째\n또 둘째\n셋째")


def test_the_title_is_the_first_of_the_package() -> None:
    package = "<opf:title> 온돌의\n 열 </opf:title>밖<opf:title>둘째</opf:title><opf:creator>김</opf:creator>"
    assert read_hwpx(_archive(section0=_paragraph("가"), package=package))[0] == "온돌의 열"
    late = "<opf:creator>김</opf:creator><opf:title/><opf:title>둘째</opf:title>"
    assert read_hwpx(_archive(section0=_paragraph("가"), package=late))[0] == "둘째"


def test_runs_are_joined_marks_of_blanks_separate_and_other_text_is_left_out() -> None:
    content = (
        "<hp:p>밖<hp:run><hp:t>한 글</hp:t></hp:run><hp:run><hp:t>자<hp:lineBreak/>줄<hp:tab/>칸</hp:t>"
        "<hp:script>E = mc</hp:script><hp:t>끝</hp:t></hp:run></hp:p><hp:tab/><hp:t>문단 밖</hp:t>"
    )
    assert read_hwpx(_archive(section0=content))[1] == "한 글자 줄 칸끝"


def test_the_cells_of_a_table_are_lines_before_the_paragraph_around_it() -> None:
    cells = "".join(f"<hp:tc>{_paragraph(text)}</hp:tc>" for text in ("가", "나"))
    content = f"<hp:p><hp:run><hp:t>표 1</hp:t><hp:tbl>{cells}</hp:tbl><hp:t>끝</hp:t></hp:run></hp:p>"
    assert read_hwpx(_archive(section0=content))[1] == "가\n나\n표 1끝"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_archive(section0="<hp:p/>"), "the HWPX holds no text"),
        (_archive(**{f"section{'1' * 5_000}": _paragraph("가")}), "a ZIP archive but not an HWPX"),
        (_archive(header="x"), "a ZIP archive but not an HWPX: it has no Contents/section0.xml"),
        (_archive(section0="<hp:p>"), "the HWPX cannot be read .*mismatched tag"),
        (_archive(section0="<a>" * 200), "the HWPX nests XML deeper than 200 elements"),
        (_archive(section0=_paragraph("가"), package="<a>" * 200), "deeper than 200 elements"),
        (_archive(section0=_paragraph("가" * 99))[:-30], "a damaged ZIP archive"),
        (b"PK\x03\x04", "a damaged ZIP archive"),
    ],
)
def test_what_is_no_hwpx_is_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(RejectedLine, match=reason):
        read_hwpx(data)


def test_elements_may_be_nested_two_hundred_deep() -> None:
    content = "<a>" * 196 + _paragraph("가").replace("<hp:run>", "").replace("</hp:run>", "") + "</a>" * 196
    assert read_hwpx(_archive(section0="<a>" + content + "</a>"))[1] == "가"
    with pytest.raises(RejectedLine, match="deeper than 200"):
        read_hwpx(_archive(section0="<a><a>" + content + "</a></a>"))


def test_a_document_type_is_refused() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("Contents/section0.xml", '<!DOCTYPE x [<!ENTITY a "b">]><p><t>&a;</t></p>')
    with pytest.raises(RejectedLine, match="has a document type declaration, which is refused"):
        read_hwpx(data.getvalue())


def test_an_archive_may_hold_as_much_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"0" * 600)
        archive.writestr("b", b"0" * 400)
    monkeypatch.setattr(zip_archive, "LARGEST_RATIO", 1)
    monkeypatch.setattr(zip_archive, "RATIO_FROM", 1_000)
    assert open_zip(data.getvalue()).namelist() == ["a", "b"]
    monkeypatch.setattr(zip_archive, "RATIO_FROM", 999)
    with pytest.raises(RejectedLine, match="more than 1 bytes in each of its bytes"):
        open_zip(data.getvalue())


def test_an_archive_with_an_encrypted_file_is_refused() -> None:
    data = bytearray(_archive(section0=_paragraph("가"), section1=_paragraph("나")))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(RejectedLine, match="the file is encrypted: save a copy without a password"):
        open_zip(bytes(data))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Contents/section0.xml", True),
        ("Contents/section12.xml", True),
        ("Contents/section123456.xml", True),
        ("Contents/section1234567.xml", False),
        ("Contents/section.xml", False),
        ("x/Contents/section0.xml", False),
        ("Contents/section0_xml", False),
    ],
)
def test_an_archive_with_a_section_is_hwpx(name: str, known: bool) -> None:
    assert is_hwpx(["mimetype", name]) is known
