"""R5: every malformed corpus ends in rejects with file, line, offset and reason, or in one clear error."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.corpora.errors import CorpusError
from shrag.corpora.files import lock_folder
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.open_corpus import list_corpora, open_corpus, stored_rejects
from tests.support.malformed import CASES, FOLDERS, SECOND, TWO, Case, good


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sources"
    made.mkdir()
    return made


def test_the_set_is_large_and_its_names_are_its_own() -> None:
    assert len(CASES) >= 100
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_malformed_corpus_ends_in_rejects_or_one_clear_error_and_loses_no_good_record(
    case: Case, folder: Path, tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = case.build(folder)
    if case.name == "a file that may not be read" and os.geteuid() == 0:
        pytest.skip("root may read every file")
    command = ["corpus", "add", "c", "--format", "scienceon", "--", *map(str, sources)]
    if case.error or case.rejects:
        assert run(command) == 3
        told = capsys.readouterr()
        assert told.out == ""
        _is_one_clear_error(told.err, case.error or case.rejects[0][2])
        assert list_corpora(own_home / "corpora") == []
    if case.error:
        return
    manifest = add_corpus(own_home / "corpora", "c", "scienceon", sources, max_rejects=len(case.rejects)).manifest
    records = {record.docid: record for record in open_corpus(own_home / "corpora", "c")[1]}
    assert tuple(records) == case.kept
    assert all(records[docid].text == "잃어서는 안 되는 초록." for docid in ("G1", "G2"))
    rejects = list(stored_rejects(own_home / "corpora", "c"))
    assert [(reject.line, reject.offset) for reject in rejects] == [where[:2] for where in case.rejects]
    for reject, (*_, reason) in zip(rejects, case.rejects, strict=True):
        assert re.search(reason, reject.reason)
        assert reject.file.startswith(str(folder))
    assert sum(account.duplicates for account in manifest.sources) == case.duplicates
    assert sum(account.blank for account in manifest.sources) == case.blank
    assert run(["corpus", "rejects", "c", "--json"]) == 0
    assert capsys.readouterr().out.count("\n") == len(case.rejects)
    assert run(["corpus", "show", "c"]) == 0
    assert capsys.readouterr().err == ""


def _is_one_clear_error(stderr: str, says: str) -> None:
    assert "Traceback" not in stderr
    assert "unexpected" not in stderr
    assert re.search(says, stderr), stderr
    assert stderr.startswith("shrag: ")
    assert len(stderr) < 6_000


@pytest.mark.slow
def test_a_hundred_thousand_lines_with_one_bad_one_lose_that_one(folder: Path, tmp_path: Path) -> None:
    lines = [b'{"CN":"%d","title":"t"}' % number for number in range(100_000)]
    lines[77_777] = b'{"CN":"77777","title":"t}'
    (folder / "0.jsonl").write_bytes(b"\n".join(lines))
    manifest = add_corpus(tmp_path, "c", "scienceon", [folder], max_rejects=1).manifest
    assert (manifest.records, manifest.sources[0].lines) == (99_999, 100_000)
    (reject,) = stored_rejects(tmp_path, "c")
    assert (reject.line, reject.offset) == (77_778, len(b"\n".join(lines[:77_777])) + 1)


def test_what_is_shown_of_a_hostile_title_is_text(folder: Path, tmp_path: Path) -> None:
    (folder / "0.jsonl").write_bytes(good("G1", "<script>alert(1)</script>") + b"\n" + good("G2", "\u202ea\u200bb"))
    add_corpus(tmp_path, "c", "scienceon", [folder])
    assert [record.title for record in open_corpus(tmp_path, "c")[1]] == ["<script>alert(1)</script>", "ab"]


def test_a_source_that_cannot_be_read_leaves_nothing_of_those_before_it(folder: Path, tmp_path: Path) -> None:
    assert {"a device", "a pipe"} <= {case.name for case in FOLDERS}
    for number, case in enumerate(case for case in FOLDERS if case.error and case.name != "a folder of nothing"):
        here = folder / str(number)
        here.mkdir()
        (here / "00.jsonl").write_bytes(TWO)
        sources = case.build(here)
        if case.name == "a file that may not be read" and os.geteuid() == 0:
            continue
        with pytest.raises(CorpusError):
            add_corpus(tmp_path, "c", "scienceon", sources, max_rejects=99)
    assert [path.name for path in (tmp_path / "c").iterdir()] == [".lock"]
    with lock_folder(tmp_path / "c"):
        assert json.loads(TWO[: SECOND - 1])["CN"] == "G1"
