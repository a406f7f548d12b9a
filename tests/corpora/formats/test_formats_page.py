"""docs/en/reference/formats.md says what the code reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shrag.corpora.formats.columns import FIELDS, parse_columns
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import FORMATS, table_format
from shrag.corpora.records import Record

PAGE = (Path(__file__).resolve().parents[3] / "docs/en/reference/formats.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MAPPED = table_format(
    parse_columns("id=doi title=meta.title text=abstract text=sections.text author=authors.name keyword=topics".split())
)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_files_and_its_command_on_the_page(name: str) -> None:
    (row,) = re.findall(rf"^\| \[`{name}`\]\(#{name}\) \| (.*?) \|", PAGE, re.MULTILINE)
    assert re.findall("`(.*?)`", row) == list(FORMATS[name].patterns)
    assert "shrag corpus add " in SECTIONS[name]


def test_every_field_of_a_table_is_on_the_page() -> None:
    assert [field for field in FIELDS if f"| `{field}` |" not in SECTIONS["table"]] == []


@pytest.mark.parametrize("name", ["scienceon", "miracl", "beir", "table", "csl-json", "papers"])
def test_every_example_is_read(tmp_path: Path, name: str) -> None:
    examples = re.findall(r"```(json|xml)\n(.*?)```", SECTIONS[name], re.DOTALL)
    assert examples
    for kind, example in examples:
        path = tmp_path / "example"
        path.write_text(json.dumps(json.loads(example)) if kind == "json" else example)
        (line, *_) = read_source(path, MAPPED if name == "table" else FORMATS[name])
        assert isinstance(line.outcome, Record), line.outcome


def test_the_table_and_the_document_are_read(tmp_path: Path) -> None:
    examples = (("scienceon", "CN,"), ("table", "관리번호,"), ("ris", "TY"), ("bibtex", "@article"), ("trec", "<DOC>"))
    for name, begins in examples:
        blocks = re.findall(r"(?:^    .*\n)+", SECTIONS[name], re.MULTILINE)
        (block,) = [text for text in blocks if text.strip().startswith(begins)]
        path = tmp_path / name
        path.write_text(re.sub("^    ", "", block, flags=re.MULTILINE))
        (line,) = read_source(path, FORMATS[name])
        assert isinstance(line.outcome, Record), line.outcome
