"""Previews of source files: their first records, what each is taken for, and how much of them is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.corpora.ingest import sources
from shrag.corpora.ingest.sources import preview_sources


def _write(folder: Path, name: str, count: int) -> Path:
    lines = [json.dumps({"docid": f"{name}-{number}", "title": "a", "text": "b"}) for number in range(count)]
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_preview_shows_the_first_three_records_of_each_file_or_as_many_as_asked_for(tmp_path: Path) -> None:
    _write(tmp_path, "a.jsonl", 5)
    _write(tmp_path, "b.jsonl", 2)
    shown = [[record.docid for record in each.records] for each in preview_sources(None, [tmp_path])]
    assert shown == [["a.jsonl-0", "a.jsonl-1", "a.jsonl-2"], ["b.jsonl-0", "b.jsonl-1"]]
    assert [len(each.records) for each in preview_sources("miracl", [tmp_path / "a.jsonl"], most=1)] == [1]


def test_each_file_is_taken_for_what_it_is(tmp_path: Path) -> None:
    _write(tmp_path, "a.jsonl", 1)
    (tmp_path / "b.md").write_text("# 서론\n가나다라.\n")
    previews = list(preview_sources(None, [tmp_path]))
    assert [(each.path.name, each.guess.name, each.complete) for each in previews] == [
        ("a.jsonl", "miracl", True),
        ("b.md", "papers", True),
    ]


def test_a_preview_checks_a_number_of_lines_of_all_files_and_of_each_the_first_thirty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sources.CHECKED_LINES == 10_000
    monkeypatch.setattr(sources, "CHECKED_LINES", 50)
    _write(tmp_path, "a.jsonl", 50)
    _write(tmp_path, "b.jsonl", 31)
    _write(tmp_path, "c.jsonl", 30)
    assert [each.complete for each in preview_sources(None, [tmp_path])] == [True, False, True]
