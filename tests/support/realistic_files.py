"""Files as libraries and researchers have them: exports of catalogues, databases, programs; all texts are made up."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow
import pyarrow.parquet

ROWS: tuple[tuple[str, str, str, str, str, str, str], ...] = (
    ("K-001", "한지 섬유의 습도에 따른 강도 변화",
     "닥나무 한지를 습도 30~90%에서 당겨 보았다. 습도가 높을수록 강도가 낮아졌다.",
     "김한지, 박섬유", "2021", "제지학회지", "10.1234/hanji.1"),
    ("K-002", "온돌 바닥의 열 저장과 방출",
     "온돌방의 바닥 온도를 사흘 동안 재었다. 구들의 두께가 열 방출 시간을 결정하였다.",
     "이온돌", "2019", "건축환경학회지", "10.1234/ondol.2"),
    ("K-003", "Acoustic damping of felted wool",
     "Felted wool panels were measured in a tube. Damping grew with thickness.",
     "Smith, J.; Doe, A.", "2020", "Journal of Soft Acoustics", "10.1234/wool.3"),
)  # fmt: skip
KOREAN_HEADER = ("관리번호", "논문 제목", "초록", "저자명", "발행년도", "학술지명", "DOI", "소장처")
ENGLISH_HEADER = ("Title", "Abstract", "Authors", "Year", "Source title", "DOI")


def write_korean_csv(path: Path) -> Path:
    """Write a CSV as Excel in Korea saves it: CP949."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(KOREAN_HEADER)
    writer.writerows([*row, "중앙도서관"] for row in ROWS)
    path.write_bytes(text.getvalue().encode("cp949"))
    return path


def write_xlsx(path: Path, rows: list[tuple[str, ...]] | None = None) -> Path:
    """Write an Excel file with a caption above the header."""
    cells = rows or [("검색 결과 3건",), KOREAN_HEADER, *((*row, "중앙도서관") for row in ROWS)]
    sheet = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' for cell in row) + "</row>"
        for row in cells
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="목록" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def write_ris(path: Path) -> Path:
    """Write references as a reference manager exports them."""
    lines: list[str] = []
    for number, title, abstract, authors, year, journal, doi in ROWS:
        names = [name.strip() for name in authors.replace(",", ";" if "Smith" not in authors else ",").split(";")]
        lines += ["TY  - JOUR", *(f"AU  - {name}" for name in names), f"TI  - {title}", f"T2  - {journal}"]
        lines += [f"PY  - {year}", "VL  - 12", "IS  - 3", "SP  - 45", "EP  - 67", f"DO  - {doi}", f"AB  - {abstract}"]
        lines += ["KW  - 재료", "KW  - 측정", f"ID  - {number}", "SN  - 1234-5678", "ER  - ", ""]
    path.write_text("\r\n".join(lines), encoding="utf-8")
    return path


def write_bibtex(path: Path) -> Path:
    """Write a bibliography as LaTeX uses it."""
    path.write_text(
        "@comment{made up}\n@string{jsa = {Journal of Soft Acoustics}}\n"
        "@article{smith2020felted,\n  title = {Acoustic Damping of {F}elted Wool},\n"
        "  author = {Smith, J. and Mu{\\~n}oz, A.},\n"
        "  journal = jsa,\n  year = {2020},\n  volume = {7},\n  number = {2},\n  pages = {11--19},\n"
        "  doi = {10.1234/wool.3},\n  abstract = {Felted wool panels were measured in a tube.}\n}\n"
        "@phdthesis{kim2018, title={온돌의 열 해석}, author={김온돌}, school={한옥대학교}, year=2018}\n",
        encoding="utf-8",
    )
    return path


def write_parquet(path: Path) -> Path:
    """Write a table as a data lake has it, with numbers, a list and an unknown column."""
    names = ("paper_id", "title", "abstract", "authors", "publication_year", "journal_name", "doi")
    columns: dict[str, list[object]] = {name: [row[at] for row in ROWS] for at, name in enumerate(names)}
    columns["authors"] = [[name.strip() for name in row[3].split(";")] for row in ROWS]
    columns["publication_year"] = [int(row[4]) for row in ROWS]
    columns["citations"] = [3, None, 12]
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def write_utf16_tsv(path: Path) -> Path:
    """Write what Excel calls Unicode text."""
    lines = ["\t".join(KOREAN_HEADER), *("\t".join((*row, "중앙도서관")) for row in ROWS)]
    path.write_bytes("\r\n".join(lines).encode("utf-16"))
    return path


def write_anserini(path: Path) -> Path:
    """Write Anserini's JSON Lines."""
    lines = [json.dumps({"id": row[0], "contents": f"{row[1]}\n{row[2]}"}, ensure_ascii=False) for row in ROWS]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_nested_json(path: Path) -> Path:
    """Write objects of a repository's interface."""
    objects = [
        {
            "identifiers": {"uid": row[0], "doi": row[6]},
            "metadata": {"title": {"ko": row[1]}, "creators": [{"name": name.strip()} for name in row[3].split(";")]},
            "abstract": {"text": row[2]},
            "publication": {"journal": row[5], "year": int(row[4])},
            "rights": "CC BY",
        }
        for row in ROWS
    ]
    path.write_text(json.dumps(objects, ensure_ascii=False, indent=2), encoding="utf-8")
    return path


def write_csl_json(path: Path) -> Path:
    """Write what Zotero exports."""
    objects = [
        {
            "id": f"http://zotero.org/items/{row[0]}",
            "type": "article-journal",
            "title": row[1],
            "abstract": row[2],
            "author": [{"family": "김", "given": "한지"}, {"literal": "한국제지학회"}],
            "issued": {"date-parts": [[int(row[4]), 5]]},
            "container-title": row[5],
            "DOI": row[6],
            "page": "1-9",
        }
        for row in ROWS
    ]
    path.write_text(json.dumps(objects, ensure_ascii=False), encoding="utf-8")
    return path


def write_scienceon_xml(path: Path) -> Path:
    """Write an answer of ScienceON's interface."""
    codes = ("CN", "Title", "Abstract", "Author", "Pubyear", "JournalName", "DOI")
    records = "".join(
        "<record>"
        + "".join(f'<item metaCode="{code}"><![CDATA[{value}]]></item>' for code, value in zip(codes, row, strict=True))
        + '<item metaCode="DBCode">JAKO</item><item metaCode="ISSN">1234-5678</item></record>'
        for row in ROWS
    )
    path.write_text(f'<?xml version="1.0" encoding="UTF-8"?><MetaData><recordList>{records}</recordList></MetaData>')
    return path


def write_pdf_folder(folder: Path) -> Path:
    """Write two papers as PDF, and a README that is none."""
    folder.mkdir()
    (folder / "README.md").write_text("Two papers.")
    for name, title in (("damping.pdf", "Acoustic damping of felted wool"), ("floors.pdf", "Heat of warm floors")):
        (folder / name).write_bytes(pdf_of([title, "", "1 Introduction", "Panels were measured in a tube for days."]))
    return folder


def pdf_of(lines: list[str]) -> bytes:
    """Return a PDF of one page with these lines of ASCII."""
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return data + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        size,
        table,
        size,
        len(data),
    )


def write_hwpx(path: Path, sections: list[str] | None = None) -> Path:
    """Write a document of the Hangul word processor, with a table."""
    paragraph = "http://www.hancom.co.kr/hwpml/2011/paragraph"
    body = [
        "<hp:p><hp:run><hp:t>온돌 바닥의 열 저장과 방출</hp:t></hp:run></hp:p>",
        "<hp:p><hp:run><hp:t>1. 서론</hp:t></hp:run></hp:p>",
        "<hp:p><hp:run><hp:t>온돌방의 바닥 온도를</hp:t></hp:run>"
        "<hp:run><hp:t> 사흘 동안<hp:tab/>재었다.</hp:t></hp:run></hp:p>",
        "<hp:p><hp:run><hp:tbl><hp:tr><hp:tc><hp:subList>"
        "<hp:p><hp:run><hp:t>구들의 두께는 12 cm였다.</hp:t></hp:run></hp:p>"
        "</hp:subList></hp:tc></hp:tr></hp:tbl></hp:run></hp:p>",
    ]
    opf = "http://www.idpf.org/2007/opf/"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/hwp+zip")
        archive.writestr(
            "Contents/content.hpf",
            f'<opf:package xmlns:opf="{opf}"><opf:metadata><opf:title>온돌 바닥의 열 저장과 방출</opf:title>'
            "</opf:metadata></opf:package>",
        )
        for number, text in enumerate(sections or ["".join(body)]):
            archive.writestr(
                f"Contents/section{number}.xml",
                f'<hs:sec xmlns:hs="urn:s" xmlns:hp="{paragraph}">{text}</hs:sec>',
            )
    return path
