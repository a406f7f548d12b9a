"""``shrag corpus replace``, ``remove`` and ``undo``, and ``shrag index remove``: what deletes says so and asks."""

from __future__ import annotations

import json
import shutil
import sys
from io import StringIO
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.corpora.store.open_corpus import list_corpora, open_corpus
from shrag.indexing.open_index import open_index


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def corpus(own_home: Path, tmp_path: Path) -> Path:
    """Return the folder of corpora with one of five records, and files with others beside."""
    for name, docids in (("five", "ABCDE"), ("two", "AF")):
        lines = [json.dumps({"CN": docid, "title": f"제목 {docid}", "abstract": "초록."}) for docid in docids]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    assert run(["corpus", "add", "c", str(tmp_path / "five.jsonl")]) == 0
    return own_home / "corpora"


def _docids(corpora: Path) -> str:
    return "".join(record.docid for record in open_corpus(corpora, "c")[1])


def test_adding_a_second_file_deletes_nothing_and_undo_takes_it_back(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["corpus", "add", "c", str(tmp_path / "two.jsonl")]) == 0
    assert "1 added, 0 changed, 0 deleted, 5 unchanged" in capsys.readouterr().out
    assert _docids(corpus) == "ABCDEF"
    assert run(["corpus", "add", "c", str(tmp_path / "two.jsonl")]) == 0
    assert "0 added, 0 changed, 0 deleted, 6 unchanged: nothing to store" in capsys.readouterr().out
    assert run(["corpus", "undo", "c"]) == 0
    assert "0 added, 0 changed, 1 deleted, 5 unchanged" in capsys.readouterr().out
    assert _docids(corpus) == "ABCDE"


def test_a_damaged_version_is_undone_and_that_is_said(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["corpus", "add", "c", str(tmp_path / "two.jsonl")]) == 0
    (corpus / "c" / open_corpus(corpus, "c")[0].records_file).write_bytes(b"PAR1")
    capsys.readouterr()
    assert run(["corpus", "undo", "c"]) == 0
    assert "is damaged, so its records could not be compared" in capsys.readouterr().err
    assert _docids(corpus) == "ABCDE"


def test_replacing_without_a_terminal_refuses_to_delete_unless_told(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["corpus", "replace", "c", str(tmp_path / "two.jsonl")]
    capsys.readouterr()
    assert run(command) == 2
    said = capsys.readouterr().err
    assert "This deletes 4 records (제목 B; 제목 C; 제목 D and 1 more) of corpus c." in said
    assert "There is no terminal for the confirmation, and nothing was deleted: add --yes to delete." in said
    assert _docids(corpus) == "ABCDE"
    assert run([*command, "--yes"]) == 0
    assert "1 added, 0 changed, 4 deleted, 1 unchanged" in capsys.readouterr().out
    assert _docids(corpus) == "AF"
    assert run(["corpus", "undo", "c"]) == 0
    assert _docids(corpus) == "ABCDE"


@pytest.mark.parametrize(("answer", "status", "left"), [("n\n", 130, "ABCDE"), ("\n", 130, "ABCDE"), ("y\n", 0, "AF")])
def test_on_a_terminal_it_asks(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    status: int,
    left: str,
) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal(answer))
    assert run(["corpus", "replace", "c", str(tmp_path / "two.jsonl")]) == status
    assert "Delete? [y/N]" in capsys.readouterr().err
    assert _docids(corpus) == left


def test_replacing_without_deleting_asks_nothing(corpus: Path, tmp_path: Path) -> None:
    both = [str(tmp_path / "five.jsonl"), str(tmp_path / "two.jsonl")]
    assert run(["corpus", "replace", "c", *both]) == 0
    assert _docids(corpus) == "ABCDEF"


def test_removing_a_corpus_says_what_goes(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpus", "remove", "c"]) == 2
    assert "This deletes corpus c: 5 records (제목 A; 제목 B; 제목 C and 2 more)." in capsys.readouterr().err
    assert run(["corpus", "remove", "c", "--yes"]) == 0
    assert list_corpora(corpus) == []
    assert run(["corpus", "remove", "c", "--yes"]) == 3


@pytest.mark.slow
def test_an_index_is_removed_unless_it_is_open(
    demo_home: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(demo_home / "indexes", own_home / "indexes")
    assert run(["index", "remove", "demo"]) == 2
    assert "This deletes index demo: 1 generation" in capsys.readouterr().err
    opened = open_index(own_home / "indexes", "demo")
    assert run(["index", "remove", "demo", "--yes"]) == 1
    assert "Index demo is open in a server or another command (generation 1): stop it first." in capsys.readouterr().err
    opened.close()
    assert run(["index", "remove", "demo", "--yes"]) == 0
    assert not (own_home / "indexes" / "demo").exists()
    assert run(["index", "remove", "demo", "--yes"]) == 4
