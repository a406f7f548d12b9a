from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.spreadsheet_reader import read_spreadsheet
from tests.support.realistic_files import write_xlsx


def _known(names: list[str]) -> int:
    return len({"id", "title"} & set(names))


def test_rows_are_fields_by_the_names_of_the_header(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", [("Titles",), ("id", "title", ""), ("1", " A ", "x"), ("2", "")])
    assert [(item.number, item.fields) for item in read_spreadsheet(path, _known)] == [
        (3, {"id": "1", "title": "A"}),
        (4, {"id": "2", "title": ""}),
    ]


def test_a_header_that_names_a_column_twice_is_refused_with_its_name(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", [("Titles",), ("id", "title", "title"), ("1", "A", "B")])
    with pytest.raises(CorpusError, match="row 2 has more than one column 'title': rename or delete the others"):
        list(read_spreadsheet(path, _known))
