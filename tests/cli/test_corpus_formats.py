"""``shrag corpus add`` for every format; topics and judgements in every layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.corpora.store.open_corpus import open_corpus

NESTED = [{"doi": f"10.1/{at}", "meta": {"title": f"제목 {at}"}, "body": ["가", "나"], "kw": "a;b"} for at in range(3)]


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    path = tmp_path / "nested.jsonl"
    path.write_text("".join(json.dumps(found) + "\n" for found in NESTED))
    return path


def test_columns_are_mapped_by_options(own_home: Path, nested: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ("id=doi", "title=meta.title", "text=body", "text=kw", "keyword=kw")
    assert run(["corpus", "add", "c", *(f"--column={each}" for each in named), str(nested)]) == 0
    assert "corpus c: 3 records" in capsys.readouterr().out
    record = next(open_corpus(own_home / "corpora", "c")[1])
    assert (record.docid, record.title, record.text) == ("10.1/0", "제목 0", "가 나 a;b")
    assert record.keywords == ("a", "b")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (
            ["--format", "ris", "--column", "id=doi"],
            3,
            "--column needs --format table or no --format: the fields of ris",
        ),
        (["--format", "miracl"], 3, "did you mean --format table?"),
        (["--column", "text=bodi"], 3, "has no 'bodi' in its 3 records: their columns are doi, meta.title, body, kw"),
        (["--column", "text=meta"], 3, "name a key in it (meta.title)"),
        (["--column", "key=meta"], 2, "write FIELD=NAME"),
        (["--format", "trec"], 3, "does not look like trec"),
    ],
)
def test_a_format_that_does_not_fit_is_answered_with_the_way_on(
    own_home: Path, nested: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, says: str
) -> None:
    assert run(["corpus", "add", "c", *arguments, str(nested)]) == status
    captured = capsys.readouterr()
    assert says in captured.err.replace("\n", " ")
    assert "Traceback" not in captured.err
    assert not (own_home / "corpora" / "c" / "manifest.json").exists()


def test_a_dry_run_shows_records_and_stores_nothing(
    own_home: Path, nested: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["corpus", "add", "c", "--dry-run", str(nested)]) == 0
    captured = capsys.readouterr()
    assert "10.1/0  제목 0\n  ko · 10.1/0\n  kw: a;b\n  가 나\n" in captured.out
    assert "id ← doi, else a digest of the row" in captured.err
    assert "text ← body" in captured.err
    assert "stored but not searched: kw" in captured.err
    assert not (own_home / "corpora").exists()


def test_in_korean_a_number_made_of_the_row_is_named_in_korean(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_LANG", "ko")
    table = tmp_path / "table.csv"
    table.write_text("제목,초록\n가,나\n", encoding="utf-8")
    assert run(["corpus", "add", "c", "--dry-run", str(table)]) == 0
    assert "  id ← 행의 내용으로 만든 번호, title ← 제목, text ← 초록\n" in capsys.readouterr().err


def test_a_dry_run_says_which_lines_an_addition_would_reject(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"A{number},Title {number},Text" for number in range(20)]
    Path("dup.csv").write_text("\n".join(["id,title,text", *rows, "A1,Title 1,Text", "A1,Other,Text", "A9,,"]) + "\n")
    assert run(["corpus", "add", "c", "--dry-run", "dup.csv"]) == 0
    captured = capsys.readouterr()
    assert "rejected (1 lines): identifier A1 is already in dup.csv line 3, with other content" in captured.out
    assert "rejected (1 lines): record A9 has neither a title nor a text" in captured.out
    assert "were checked" not in captured.err
    assert run(["corpus", "add", "c", "--dry-run", "--on-duplicate", "newest", "dup.csv"]) == 0
    assert "identifier A1" not in capsys.readouterr().out
    monkeypatch.setattr("shrag.corpora.ingest.sources.CHECKED_LINES", 1)
    Path("many.csv").write_text("\n".join(["id,title,text", *(f"{number},," for number in range(99))]) + "\n")
    assert run(["corpus", "add", "c", "--dry-run", "many.csv"]) == 0
    captured = capsys.readouterr()
    assert "  rejected for other reasons: 20 lines\n" in captured.out
    assert "lines were checked." in captured.err


def test_topics_and_judgements_of_beir_run_and_evaluate(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    topics, qrels, output = tmp_path / "queries.jsonl", tmp_path / "test.tsv", tmp_path / "run"
    topics.write_text(json.dumps({"_id": "q1", "text": "그래핀 전자파 차폐", "metadata": {}}) + "\n")
    qrels.write_text("query-id\tcorpus-id\tscore\nq1\tDEMO-MAT-001\t1\n")
    assert run(["run", "demo", "--topics", str(topics), "--output", str(output), "-k", "5"]) == 0
    assert run(["evaluate", "--qrels", str(qrels), "--run", str(output), "--measures", "Success@1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("\t1.0000")
