"""The glossary's evidence and spellings are the same by any number of processes, also where one of them is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFailed
from shrag.corpora.store.manifest import read_manifest
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.build import glossary_workers
from shrag.indexing.build.glossary_workers import GlossaryWorkers
from shrag.indexing.errors import IndexingError
from shrag.indexing.glossary.evidence import CountedEvidence
from shrag.indexing.glossary.spelling.table import SpelledWords
from shrag.indexing.storage.generations import current_generation
from shrag.models.fork_server import Connection, ForkServer

Counted = tuple[list[CountedEvidence], SpelledWords]
Count = Callable[..., Counted]


@pytest.fixture
def count(demo_home: Path, monkeypatch: pytest.MonkeyPatch, analyzer: KoreanEnglishAnalyzer) -> Count:
    """Return what counts the demonstration's 235 records, fifty at a time."""
    monkeypatch.setattr(glossary_workers, "RANGE", 50)
    corpus = demo_home / "corpora" / "demo"
    records = corpus / read_manifest(corpus).records_file
    folder, _ = current_generation(demo_home / "indexes" / "demo")

    def counted(workers: int, rejected: tuple[str, ...] = (), file: Path = records) -> Counted:
        with GlossaryWorkers(file, folder, analyzer, workers) as processes:
            return list(processes.count(rejected)), processes.spelled()

    return counted


def test_ranges_are_counted_the_same_here_and_in_processes(count: Count) -> None:
    evidence, spelled = count(1)
    assert len(evidence) == 5
    assert sum(len(each.bilingual) for each in evidence) > 0
    assert {mention[0][2] for each in evidence for mention in each.contexts} >= {"transfer learning"}
    assert {text for text, *_ in spelled.rows} >= {"learning", "알고리즘"}
    assert count(3) == (evidence, spelled)


def test_rejected_records_are_left_out(count: Count) -> None:
    docids = [docid for each in count(1)[0] for _, docid, _, _ in each.bilingual]
    left = [docid for each in count(2, (docids[0],))[0] for _, docid, _, _ in each.bilingual]
    assert left == docids[1:]


def test_a_process_that_is_killed_is_replaced(count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    here, left, connect = count(1), [2], ForkServer.connect

    def broken(server: ForkServer) -> Connection:
        connection = connect(server)
        if left[0]:
            left[0] -= 1
            connection.shut_down()
        return connection

    monkeypatch.setattr(ForkServer, "connect", broken)
    assert count(2) == here
    assert left == [0]


def test_processes_that_keep_ending_are_an_error(count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    start = ForkServer.start

    def killed(server: ForkServer) -> None:
        start(server)
        assert server._process is not None
        os.killpg(server._process.pid, signal.SIGKILL)
        server._process.wait()

    monkeypatch.setattr(ForkServer, "start", killed)
    with pytest.raises(IndexingError, match=r"keep ending \(exit status -9, it left no message\): free some memory"):
        count(2)


def test_a_file_that_a_process_cannot_read_is_named(
    count: Count, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo_home: Path
) -> None:
    corpus = demo_home / "corpora" / "demo"
    copy = tmp_path / "records.parquet"
    copy.write_bytes((corpus / read_manifest(corpus).records_file).read_bytes())
    start = ForkServer.start

    def damaged(server: ForkServer) -> None:
        copy.write_bytes(b"PAR1" + bytes(100))
        start(server)

    monkeypatch.setattr(ForkServer, "start", damaged)
    with pytest.raises(CorpusError, match=r"records\.parquet cannot be read"):
        count(2, file=copy)


def test_another_file_that_a_process_cannot_read_is_no_fault_of_the_corpus(
    demo_home: Path, tmp_path: Path, analyzer: KoreanEnglishAnalyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossary_workers, "RANGE", 50)
    corpus = demo_home / "corpora" / "demo"
    with (
        GlossaryWorkers(corpus / read_manifest(corpus).records_file, tmp_path, analyzer, 2) as processes,
        pytest.raises(DiskFailed, match=r"A database under .* cannot be read"),
    ):
        list(processes.count(()))
