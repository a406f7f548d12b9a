"""Previews of source files: their first records, what each is taken for, and how much of them is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.corpora.ingest import sources
from shrag.corpora.ingest.reading import OnDuplicate
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


@pytest.mark.parametrize(
    ("on_duplicate", "shown", "rejects"),
    [
        ("error", [["a one", "b one"], ["c one"]], [1, 1]),
        ("first", [["a one", "b one"], ["c one"]], [0, 0]),
        ("newest", [["a two", "b one"], ["b two", "c one"]], [0, 0]),
    ],
)
def test_a_record_that_is_read_twice_is_shown_once_as_it_would_be_stored(
    tmp_path: Path, on_duplicate: OnDuplicate, shown: list[list[str]], rejects: list[int]
) -> None:
    for name, records in (("1.jsonl", ("a one", "a one", "b one", "a two")), ("2.jsonl", ("b two", "c one", "c one"))):
        lines = [json.dumps({"docid": record[0], "title": record, "text": "b"}) for record in records]
        (tmp_path / name).write_text("\n".join(lines))
    previews = list(preview_sources("table", [tmp_path], on_duplicate=on_duplicate))
    assert [[record.title for record in each.records] for each in previews] == shown
    assert [len(each.rejects) for each in previews] == rejects


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
