from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.spreadsheet_reader import read_spreadsheet
from tests.support.realistic_files import write_xlsx


def _known(names: list[str]) -> int:
    return len({"id", "title"} & set(names))


def test_rows_are_fields_by_the_names_of_the_header(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", [("Titles",), ("id", "title", ""), ("1", " A ", "x"), ("2", " ")])
    assert [(item.number, item.fields) for item in read_spreadsheet(path, _known).items] == [
        (3, {"id": "1", "title": "A", "column 3": "x"}),
        (4, {"id": "2", "title": ""}),
    ]


def _write_ods(path: Path, *sheets: list[list[str]]) -> Path:
    """Write a spreadsheet of OpenDocument; the rows hold cells of XML."""
    names = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in _ODS_NAMES)
    tables = "".join(
        f'<table:table table:name="{number}">'
        + "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in rows)
        + "</table:table>"
        for number, rows in enumerate(sheets)
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body><office:spreadsheet>{tables}</office:spreadsheet>"
            "</office:body></office:document-content>",
        )
    return path


_ODS_NAMES = ("office", "table", "text")


def _cell(text: str, kind: str = "string", value: str = "") -> str:
    return f'<table:table-cell office:value-type="{kind}" {value}><text:p>{text}</text:p></table:table-cell>'


def test_cells_become_the_text_of_their_values_in_the_first_sheet_that_has_any(tmp_path: Path) -> None:
    header = [_cell(name) for name in ("id", "title", "day", "time", "at")]
    path = _write_ods(
        tmp_path / "A.ODS",
        [[_cell("")]],
        [
            header,
            [
                _cell("2,020", "float", 'office:value="2020"'),
                _cell("50%", "percentage", 'office:value="0.5"'),
                _cell("4. März", "date", 'office:date-value="2021-03-04"'),
                _cell("9 Uhr", "time", 'office:time-value="PT09H05M00S"'),
                _cell("today", "date", 'office:date-value="2021-03-04T10:05:00"'),
            ],
        ],
        [[_cell("id")], [_cell("third sheet")]],
    )
    rows, unread = read_spreadsheet(path, _known)
    assert unread == ("2",)
    assert [item.fields for item in rows] == [
        {"id": "2020", "title": "0.5", "day": "2021-03-04", "time": "09:05:00", "at": "2021-03-04T10:05:00"}
    ]


def test_the_sheets_that_are_not_read_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[_cell("id"), _cell("title")], [_cell("a"), _cell("A")]]
    path = _write_ods(tmp_path / "a.ods", [], rows, rows, rows)
    assert run(["--home", str(tmp_path), "corpus", "add", "c", str(path)]) == 0
    assert "  sheets that are not read: 2, 3\n" in capsys.readouterr().err


def test_the_header_is_the_best_of_the_first_ten_rows_and_the_first_of_equal_ones(tmp_path: Path) -> None:
    captions = [("caption",)] * 8
    rows = [*captions, ("id", "x"), ("id", "title"), ("id", "title"), ("1", "A")]
    found = list(read_spreadsheet(write_xlsx(tmp_path / "a.xlsx", rows), _known).items)
    assert [(item.number, item.fields) for item in found] == [
        (11, {"id": "id", "title": "title"}),
        (12, {"id": "1", "title": "A"}),
    ]
    found = list(
        read_spreadsheet(write_xlsx(tmp_path / "b.xlsx", [*captions, ("a",), ("id",), ("id", "title")]), _known).items
    )
    assert [(item.number, item.fields) for item in found] == [(11, {"id": "id", "column 2": "title"})]
    found = list(read_spreadsheet(write_xlsx(tmp_path / "c.xlsx", [("",), ("name", "other"), ("id",)]), len).items)
    assert [item.fields for item in found] == [{"name": "id", "other": ""}]


@pytest.mark.parametrize("data", [b"PK\x03\x04" + bytes(60), b"\xd0\xcf\x11\xe0" + bytes(600), b"name;text"])
def test_what_is_no_spreadsheet_is_refused_with_its_path(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"a\.xlsx (?:cannot be read|is not a spreadsheet that can be read)"):
        list(read_spreadsheet(path, _known).items)


def test_a_spreadsheet_without_rows_is_refused(tmp_path: Path) -> None:
    path = _write_ods(tmp_path / "a.ods", [[_cell("")]])
    with pytest.raises(CorpusError, match="has no rows: its sheets are empty"):
        list(read_spreadsheet(path, _known).items)


def test_a_header_that_names_a_column_twice_is_refused_with_its_name(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", [("Titles",), ("id", "title", "title"), ("1", "A", "B")])
    with pytest.raises(CorpusError, match="row 2 has more than one column 'title': rename or delete the others"):
        list(read_spreadsheet(path, _known).items)
