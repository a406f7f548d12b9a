"""PDFs made here, by hand: two fonts, one of them Korean by its ToUnicode table, as word processors write them."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

from shrag.corpora.errors import RejectedLine
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.pdf import PageFinder, PdfPage, read_pdf
from shrag.corpora.formats.registry import FORMATS
from shrag.corpora.records import Record

LINES = [
    "Graphene shields",
    "1 Introduction",
    "Films are thin and measure-",
    "ments were made.",
    "2 결과",
    "차폐 효율은 30 dB였다.",
    "References",
    "Hong, G. Plates. 1961.",
]


def make_pdf(lines: list[str], title: str = "", compress: bool = True) -> bytes:
    """Return a PDF of one page with these lines, Latin in Helvetica, what holds Hangul in a two-byte font."""
    letters = sorted({letter for line in lines for letter in line})
    code = {letter: index + 1 for index, letter in enumerate(letters)}
    table = "\n".join(f"<{code[letter]:04x}> <{letter.encode('utf-16-be').hex()}>" for letter in letters)
    to_unicode = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(letters)} beginbfchar\n{table}\nendbfchar endcmap end end"
    ).encode()
    shown = []
    for line in lines:
        if line.isascii():
            shown.append(f"/F1 12 Tf ({line.replace('(', '').replace(')', '')}) Tj 0 -16 Td")
        else:
            shown.append(f"/F2 12 Tf <{''.join(f'{code[letter]:04x}' for letter in line)}> Tj 0 -16 Td")
    content = ("BT 50 750 Td\n" + "\n".join(shown) + "\nET").encode()

    def stream(data: bytes) -> bytes:
        packed = zlib.compress(data) if compress else data
        kind = b"/Filter /FlateDecode " if compress else b""
        return b"<< %s/Length %d >>\nstream\n%s\nendstream" % (kind, len(packed), packed)

    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
        stream(content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Batang /Encoding /Identity-H /DescendantFonts [7 0 R] "
        b"/ToUnicode 8 0 R >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Batang /DW 1000 "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        stream(to_unicode),
        b"<< /Title <feff%s> >>" % title.encode("utf-16-be").hex().encode(),
    ]
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R /Info 9 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    return bytes(out)


@pytest.mark.parametrize("packed", [False, True])
def test_a_pdf_becomes_chunks_in_both_languages(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("a.pdf.gz" if packed else "a.pdf")
    data = make_pdf(LINES, title="그래핀 차폐")
    path.write_bytes(gzip.compress(data) if packed else data)
    outcomes = [line.outcome for line in read_source(path, FORMATS["papers"])]
    assert [(found.docid, found.title, found.text, found.page) for found in outcomes if isinstance(found, Record)] == [
        ("a#0", "그래핀 차폐", "Graphene shields", "1"),
        ("a#1", "그래핀 차폐 — Introduction", "Films are thin and measurements were made.", "1"),
        ("a#2", "그래핀 차폐 — 결과", "차폐 효율은 30 dB였다.", "1"),
    ]


def test_a_passage_is_found_on_its_pages_in_spite_of_repairs_hyphens_and_what_was_left_out() -> None:
    pages = [
        PdfPage("iv", "Graphene shields\n1 Introduction\nFilms are thin and measure-"),
        PdfPage("1", "ments were made. See URL for more.\nReferences\nHong, G."),
        PdfPage("2", "부록\n차폐 효율은 30dB였다.\n차폐 효율은 30dB였다."),
    ]
    finder = PageFinder(pages)
    assert finder.find("Films are thin and measurements were made. See URL for more.") == "iv-1"
    assert finder.find("measurements were broken off here.") == "iv-1"
    assert finder.find("차폐 효율은 30 dB였다.") == "2"
    assert [finder.find(passage) for passage in ("Graphene shields", "nowhere", "…", "")] == ["", "", "", ""]


def test_pages_have_the_labels_that_readers_show_or_their_numbers() -> None:
    assert [page.label for page in read_pdf(make_pdf(LINES)).pages] == ["1"]
    labelled = make_pdf(LINES).replace(
        b"/Catalog /Pages 2 0 R", b"/Catalog /Pages 2 0 R /PageLabels << /Nums [0 << /S /D /St 45 >>] >>"
    )
    assert [page.label for page in read_pdf(labelled).pages] == ["45"]
    for prefix, label in ((b"x" * 12, "x" * 12), (b"x" * 13, "1"), (b"a\\007b", "1")):
        prefixed = make_pdf(LINES).replace(
            b"/Catalog /Pages 2 0 R", b"/Catalog /Pages 2 0 R /PageLabels << /Nums [0 << /P (%s) >>] >>" % prefix
        )
        assert [page.label for page in read_pdf(prefixed).pages] == [label]


def test_a_passage_from_the_last_letter_of_a_page_to_the_first_of_another_is_on_both() -> None:
    pages = [PdfPage("1", "Films are thin x"), PdfPage("2", ""), PdfPage("3", "y more of it z"), PdfPage("4", "w end.")]
    assert PageFinder(pages).find("x y more of it") == "1-3"
    assert PageFinder(pages).find("more of it z, w") == "3-4"
    assert PageFinder(pages).find("more of it z") == "3"
    finder = PageFinder([PdfPage("1", "The same line. Next."), PdfPage("2", "The same line. Last.")])
    assert [finder.find(text) for text in ("The same line. Next.", "The same line. Last.", "The same line.")] == [
        *("1", "2", "2"),
    ]


@pytest.mark.parametrize("title", ["", "  ", "Microsoft Word - final2.docx", "Untitled ", "paper.hwp"])
def test_what_a_word_processor_writes_is_no_title(tmp_path: Path, title: str) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(make_pdf(LINES, title=title))
    first = next(read_source(path, FORMATS["papers"]))
    assert isinstance(first.outcome, Record)
    assert first.outcome.title == "Graphene shields — Introduction"


def test_a_pdf_without_text_is_told_from_a_damaged_one() -> None:
    with pytest.raises(RejectedLine, match="holds no text; it may be a scan"):
        read_pdf(make_pdf([]))
    with pytest.raises(RejectedLine, match="cannot be read"):
        read_pdf(b"%PDF-1.7\n")


def test_no_damage_to_a_pdf_raises_anything_but_a_reason() -> None:
    whole = make_pdf(LINES, compress=False)
    read = rejected = 0
    for at in range(0, len(whole), 37):
        for damaged in (whole[:at], whole[:at] + b"\xff<<[(" + whole[at + 5 :]):
            try:
                read_pdf(damaged)
                read += 1
            except RejectedLine:
                rejected += 1
    assert read + rejected == 2 * len(range(0, len(whole), 37))
    assert rejected > 20
