"""docs/formats.md says what the code reads."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.mapped_json import JsonlKeys
from shrag.corpora.formats.registry import FORMATS, jsonl_format
from shrag.corpora.records import Record

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MAPPED = jsonl_format(
    JsonlKeys(id="doi", title="meta.title", text=("abstract", "sections.text"), author="authors.name", keyword="topics")
)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_files_and_its_command_on_the_page(name: str) -> None:
    (row,) = re.findall(rf"^\| \[`{name}`\]\(#{name}\) \| (.*?) \|", PAGE, re.MULTILINE)
    assert re.findall("`(.*?)`", row) == list(FORMATS[name].patterns)
    assert f"--format {name} " in SECTIONS[name]


def test_every_key_option_is_on_the_page() -> None:
    assert [field.name for field in fields(JsonlKeys) if f"`--{field.name}-key`" not in SECTIONS["jsonl"]] == []


@pytest.mark.parametrize("name", ["scienceon", "miracl", "beir", "jsonl", "papers"])
def test_every_example_is_read(tmp_path: Path, name: str) -> None:
    examples = re.findall(r"```(json|xml)\n(.*?)```", SECTIONS[name], re.DOTALL)
    assert examples
    for kind, example in examples:
        path = tmp_path / "example"
        path.write_text(json.dumps(json.loads(example)) if kind == "json" else example)
        (line, *_) = read_source(path, MAPPED if name == "jsonl" else FORMATS[name])
        assert isinstance(line.outcome, Record), line.outcome


def test_the_table_and_the_document_are_read(tmp_path: Path) -> None:
    blocks = {name: re.findall(r"(?:^    .*\n)+", SECTIONS[name], re.MULTILINE) for name in ("scienceon", "trec")}
    for name, begins in (("scienceon", "CN,"), ("trec", "<DOC>")):
        (block,) = [text for text in blocks[name] if text.strip().startswith(begins)]
        path = tmp_path / name
        path.write_text(re.sub("^    ", "", block, flags=re.MULTILINE))
        (line,) = read_source(path, FORMATS[name])
        assert isinstance(line.outcome, Record), line.outcome
