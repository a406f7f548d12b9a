"""Twelve files as libraries and researchers have them, added by their name alone or with the columns named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.columns import parse_columns
from shrag.corpora.formats.detection import FormatGuess
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.ingest.sources import preview_sources
from shrag.corpora.records import Record
from shrag.corpora.store.open_corpus import open_corpus
from tests.support import realistic_files as files

FIRST = Record(
    docid="K-001",
    title="한지 섬유의 습도에 따른 강도 변화",
    text="닥나무 한지를 습도 30~90%에서 당겨 보았다. 습도가 높을수록 강도가 낮아졌다.",
    language="ko",
    complete=True,
    authors=("김한지", "박섬유"),
    journal="제지학회지",
    year=2021,
    doi="10.1234/hanji.1",
)
LIBRARY = (("소장처", "중앙도서관"),)


def _add(home: Path, *sources: Path, columns: tuple[str, ...] = ()) -> tuple[list[Record], list[FormatGuess]]:
    guesses: list[FormatGuess] = []
    add_corpus(
        home, "c", None, sources, columns=parse_columns(columns), announce=lambda _, guess: guesses.append(guess)
    )
    return list(open_corpus(home, "c")[1]), guesses


CASES: dict[str, tuple[Callable[[Path], Path], str, str, Record]] = {
    "catalogue.csv": (
        files.write_korean_csv, "table", "is a table whose first line names columns (CP949)",
        replace(FIRST, other=LIBRARY),
    ),
    "catalogue.xlsx": (files.write_xlsx, "table", "is an Excel file (XLSX)", replace(FIRST, other=LIBRARY)),
    "references.ris": (
        files.write_ris, "ris", "holds references of RIS (TY … ER)",
        replace(FIRST, volume="12", issue="3", pages="45-67", type="article-journal", keywords=("재료", "측정"),
                other=(("issn", "1234-5678"),)),
    ),
    "library.bib": (
        files.write_bibtex, "bibtex", "holds entries of BibTeX",
        Record("smith2020felted", "Acoustic Damping of Felted Wool", "Felted wool panels were measured in a tube.",
               "en", complete=True, authors=("Smith, J.", "Muñoz, A."), journal="Journal of Soft Acoustics", year=2020,
               doi="10.1234/wool.3", volume="7", issue="2", pages="11-19", type="article-journal"),
    ),
    "lake.parquet": (
        files.write_parquet, "table", "is a Parquet file",
        replace(FIRST, authors=("김한지, 박섬유",), other=(("citations", "3"),)),
    ),
    "unicode.tsv": (
        files.write_utf16_tsv, "table", "is a table whose first line names columns (UTF-16)",
        replace(FIRST, other=LIBRARY),
    ),
    "anserini.jsonl": (
        files.write_anserini, "table", "holds objects with id, contents",
        Record("K-001", "", f"{FIRST.title} {FIRST.text}", "ko", complete=True),
    ),
    "nested.json": (
        files.write_nested_json, "table", "holds objects with identifiers, metadata, abstract, publication, rights",
        replace(FIRST, authors=("김한지, 박섬유",), other=(("rights", "CC BY"),)),
    ),
    "answer.xml": (
        files.write_scienceon_xml, "scienceon", "holds <record> elements",
        replace(FIRST, authors=("김한지, 박섬유",), type="article-journal", other=(("ISSN", "1234-5678"),)),
    ),
    "papers": (
        files.write_pdf_folder, "papers", "is a PDF",
        Record("damping#0", "Acoustic damping of felted wool — Introduction",
               "Panels were measured in a tube for days.", "en", complete=True, other=(("page", "1"),)),
    ),
    "ondol.hwpx": (
        files.write_hwpx, "papers", "is an HWPX document",
        Record("ondol#0", "온돌 바닥의 열 저장과 방출 — 서론",
               "온돌방의 바닥 온도를 사흘 동안 재었다. 구들의 두께는 12 cm였다.", "ko", complete=True),
    ),
    "zotero.json": (
        files.write_csl_json, "csl-json", "holds CSL-JSON",
        replace(FIRST, docid="http://zotero.org/items/K-001", authors=("김, 한지", "한국제지학회"), pages="1-9",
                type="article-journal"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_file_alone_is_recognised_and_its_fields_arrive(tmp_path: Path, name: str) -> None:
    write, format, why, record = CASES[name]
    source = write(tmp_path / name)
    (preview, *_) = preview_sources(None, [source])
    records, guesses = _add(tmp_path, source)
    assert (guesses[0].name, guesses[0].why) == (format, why)
    assert records[0] == record
    assert preview.records == tuple(records[: len(preview.records)])
    assert len(records) == {"library.bib": 2, "papers": 2, "ondol.hwpx": 1}.get(name, 3)


def test_the_mapping_is_said(tmp_path: Path) -> None:
    (guess,) = _add(tmp_path, files.write_korean_csv(tmp_path / "a.csv"))[1]
    assert guess.fields == (
        "id ← 관리번호", "title ← 논문 제목", "text ← 초록", "author ← 저자명", "year ← 발행년도",
        "journal ← 학술지명", "doi ← DOI",
    )  # fmt: skip
    assert guess.others == ("소장처",)


@pytest.mark.parametrize("name", ["catalogue.csv", "catalogue.xlsx", "unicode.tsv"])
def test_columns_that_are_named_go_before_those_that_are_known(tmp_path: Path, name: str) -> None:
    source = CASES[name][0](tmp_path / name)
    records, _ = _add(tmp_path, source, columns=("id=DOI", "publisher=소장처", "title=논문 제목"))
    assert records[0] == replace(
        FIRST, docid="10.1234/hanji.1", doi="", publisher="중앙도서관", other=(("관리번호", "K-001"),)
    )


def test_one_addition_takes_files_of_several_formats(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    files.write_xlsx(folder / "b.xlsx")
    files.write_bibtex(folder / "a.bib")
    (folder / "README.md").write_text("Not a record.")
    records, guesses = _add(tmp_path, folder)
    assert [guess.name for guess in guesses] == ["bibtex", "table"]
    assert [record.docid for record in records] == ["smith2020felted", "kim2018", "K-001", "K-002", "K-003"]


def test_an_unknown_file_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    files.write_bibtex(tmp_path / "a.bib")
    (tmp_path / "b.dat").write_bytes(bytes(range(1, 256)) * 9)
    with pytest.raises(
        CorpusError,
        match=r"The format of .*b\.dat is unknown: it begins with .*Name the format "
        r"with --format",
    ):
        _add(tmp_path, tmp_path / "a.bib", tmp_path / "b.dat")
    with pytest.raises(CorpusError, match="There is no corpus"):
        open_corpus(tmp_path, "c")


def test_a_spreadsheet_or_a_document_that_is_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    files.write_xlsx(tmp_path / "a.xlsx", [("제목",), *[("가" * 30_000,)] * 800])
    files.write_hwpx(tmp_path / "a.hwpx", [f"<hp:p>{' ' * 70 * 2**20}</hp:p>"])
    for name in ("a.xlsx", "a.hwpx"):
        with pytest.raises(CorpusError, match="more than 200 bytes in each of its bytes, like a decompression bomb"):
            _add(tmp_path, tmp_path / name)
