"""R6: whatever the text does to the analyser, it costs one record."""

from __future__ import annotations

import os
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFailed
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.records import Record
from shrag.corpora.store.open_corpus import open_corpus
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import PackedRecord, analyze_record, decode_record, pack_record
from shrag.indexing.build import worker_pool
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.job import BuildOptions
from shrag.indexing.build.worker import AnalyzedBatch, RejectedRecord, WorkerSetup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import DependencyMissing, IndexingError, IndexMissing, TooManyRejectedRecords
from shrag.indexing.storage.generations import current_generation
from tests.support.killed_build import shorten_builds

pytestmark = pytest.mark.process

# The worker itself, in which some words do what odd input has done to Kiwi.
HOSTILE = """
import os, sqlite3, sys, time
from shrag.indexing.build import worker
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

def sqlite3_error():
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    return error

worker._PIECE_SECONDS = 0.3
there = KoreanEnglishAnalyzer.terms
def terms(self, texts):
    for text in texts:
        if "segfault" in text: os.kill(os.getpid(), 11)
        if "abort" in text: os.abort()
        while "hang" in text: pass
        if "disk" in text: raise sqlite3_error()
        if "descriptors" in text: raise OSError(24, "Too many open files", "/words")
        if "raise" in text: raise UnicodeDecodeError("utf-8", b"x", 0, 1, "odd")
    return there(self, texts)
KoreanEnglishAnalyzer.terms = terms
worker.main()
"""

Grow = Callable[[Path, str, int], None]


def _corpus(home: Path, records: list[tuple[str, str]]) -> Path:
    source = home / "source.jsonl"
    home.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.encode({"docid": docid, "title": "제목", "text": text}) for docid, text in records]
    source.write_bytes(b"\n".join(lines))
    add_corpus(home / "corpora", "odd", "miracl", [source])
    return home / "corpora" / "odd" / open_corpus(home / "corpora", "odd")[0].records_file


def _all(frames: list[AnalyzedBatch]) -> list[PackedRecord | RejectedRecord]:
    return [record for frame in frames for record in frame.records]


def test_frames_hold_every_record_in_order_as_this_process_would_pack_it(
    tmp_path: Path, grow_corpus: Grow, analyzer: KoreanEnglishAnalyzer
) -> None:
    grow_corpus(tmp_path, "grown", 1_200)
    manifest, records = open_corpus(tmp_path / "corpora", "grown")
    wanted = [pack_record(analyze_record(record, analyzer)) for record in records]
    with WorkerPool(3, WorkerSetup(None, 1_000, str(tmp_path))) as pool:
        frames = list(pool.analyze(tmp_path / "corpora" / "grown" / manifest.records_file, 0, 1_200))
        assert _all(frames) == wanted
        part = list(pool.analyze(tmp_path / "corpora" / "grown" / manifest.records_file, 700, 905))
        assert _all(part) == wanted[700:905]
    assert all(frame.analysis_seconds > 0 and frame.reading_seconds > 0 for frame in frames)
    words = {word for frame in frames for word, _ in frame.words}
    assert {"있다", "연구"} & words


def test_workers_stay_for_the_next_call_and_tell_each_word_once(tmp_path: Path) -> None:
    path = _corpus(tmp_path, [("a", "그래핀 필름"), ("b", "그래핀 필름")])
    with WorkerPool(1, WorkerSetup(None, 1_000, str(tmp_path))) as pool:
        words = [[word for frame in pool.analyze(path, n, n + 1) for word, _ in frame.words] for n in range(2)]
    assert words == [["제목", "그래핀", "필름"], []]


def test_a_worker_reads_the_file_that_it_is_asked_for_and_says_which_record_is_missing(tmp_path: Path) -> None:
    first, second = (_corpus(tmp_path / docid, [(docid, "그래핀"), (f"{docid}2", "필름")]) for docid in "ab")
    with WorkerPool(1, WorkerSetup(None, 1_000, str(tmp_path))) as pool:
        found = [_all(list(pool.analyze(path, 0, 1))) for path in (first, second, first)]
        assert [record.docid for records in found for record in records] == ["a", "b", "a"]
        with pytest.raises(CorpusError, match=r"\.parquet ends before record 4\.$"):
            list(pool.analyze(first, 1, 4))


def test_a_packed_record_unpacks_to_what_it_was(analyzer: KoreanEnglishAnalyzer, record: Record) -> None:
    empty = Record("e", "", "…", "und", complete=False)
    for one in (record, empty):
        analysed = analyze_record(one, analyzer)
        packed = pack_record(analysed)
        assert decode_record(f"{packed.raw}\n{packed.contents}".encode()) == analysed
        assert packed.contents.split() == analysed.contents_terms


def test_r6_a_record_that_crashes_hangs_or_raises_is_refused_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "COMMAND", (sys.executable, "-c", HOSTILE))
    odd = {7: "segfault", 8: "abort", 40: "hang", 41: "raise", 99: "segfault"}
    path = _corpus(tmp_path, [(f"d{n}", f"인공지능 {odd.get(n, 'text')} 검색 {n}.") for n in range(100)])
    with WorkerPool(2, WorkerSetup(None, 1_000, str(tmp_path))) as pool:
        found = _all(list(pool.analyze(path, 0, 100)))
    assert len(found) == 100
    assert {place for place, record in enumerate(found) if isinstance(record, RejectedRecord)} == odd.keys()
    assert found[41] == RejectedRecord(
        "d41", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x78 in position 0: odd"
    )
    assert found[7] == RejectedRecord("", "the analysis of this record crashed or exceeded the time limit")


def test_r6_such_records_are_accounted_for_and_published_only_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "COMMAND", (sys.executable, "-c", HOSTILE))
    _corpus(tmp_path, [("a", "그래핀 필름"), ("b", "segfault"), ("c", "hang here"), ("d", "그래핀")])
    corpora, indexes = tmp_path / "corpora", tmp_path / "indexes"
    with pytest.raises(
        TooManyRejectedRecords,
        match=r"2 records cannot be analyzed, at most 0 may be: b \(the anal.*`--max-rejected 2`",
    ):
        build_index(corpora, indexes, "odd")
    with pytest.raises(IndexMissing):
        current_generation(indexes / "odd")
    stages: list[str] = []
    options = BuildOptions(max_rejected=2, report=lambda stage, done: stages.append(stage))
    manifest, _ = build_index(corpora, indexes, "odd", options=options)
    assert stages == ["token store", "glossary", "calibration", "checksums"]  # nothing is analysed again for that
    assert (manifest.source.records, manifest.records, manifest.rejected) == (4, 2, 2)
    rejects = (indexes / "odd" / "gen-000001" / "rejects.jsonl").read_text().splitlines()
    assert [msgspec.json.decode(line)["docid"] for line in rejects] == ["b", "c"]


def test_workers_wait_for_a_slow_consumer_so_that_memory_does_not_grow_with_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "_TASK_RECORDS", 1)
    path = _corpus(tmp_path, [(f"d{n}", f"text {n}") for n in range(8)])
    with WorkerPool(1, WorkerSetup(None, 1_000, str(tmp_path))) as pool:
        assert len(_all(list(pool.analyze(path, 0, 8)))) == 8
        batches = pool.analyze(path, 0, 8)
        next(batches)
        for _ in range(20):  # a second, in which a worker that does not wait analyzes all eight
            time.sleep(0.05)
            assert sum(not task.left for task in pool._tasks) <= 2
        # The end of the block ends a worker that waits.


def test_workers_that_cannot_be_started_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _corpus(tmp_path, [("a", "x")])
    for code, error, said in (
        (
            "import sys; print('Kiwi is gone: run `make setup`.', file=sys.stderr); sys.exit(6)",
            DependencyMissing,
            "^Kiwi is",
        ),
        ("raise MemoryError", IndexingError, "keep ending .exit status 1, MemoryError"),
        ("import sys; print('116 /m/words', file=sys.stderr); sys.exit(74)", OSError, "Stale file handle: '/m/words'"),
    ):
        monkeypatch.setattr(worker_pool, "COMMAND", (sys.executable, "-c", code))
        with WorkerPool(1, WorkerSetup(None, 10, str(tmp_path))) as pool, pytest.raises(error, match=said):
            list(pool.analyze(path, 0, 1))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("disk", "disk I/O error"),
        (
            "descriptors",
            "/words cannot be read (Too many open files): the process has too many files open, raise the limit",
        ),
    ],
)
def test_a_fault_of_the_machine_ends_the_build_and_is_no_record_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, says: str
) -> None:
    shorten_builds(monkeypatch)
    corpora, indexes = tmp_path / "corpora", tmp_path / "indexes"
    _corpus(tmp_path, [("a", "그래핀 필름"), ("b", fault), ("c", "그래핀")])
    with monkeypatch.context() as patch:
        patch.setattr(worker_pool, "COMMAND", (sys.executable, "-c", HOSTILE))
        with pytest.raises(DiskFailed, match=re.escape(says)):
            build_index(corpora, indexes, "odd")
    manifest, _ = build_index(corpora, indexes, "odd")
    assert (manifest.records, manifest.rejected) == (3, 0)


def test_a_store_of_words_that_cannot_be_read_ends_the_build_and_is_no_record_s(tmp_path: Path) -> None:
    path = _corpus(tmp_path, [("a", "그래핀 필름")])
    setup = WorkerSetup(str(tmp_path / "none" / "words"), 10, str(tmp_path))
    with WorkerPool(1, setup) as pool, pytest.raises(DiskFailed, match="words cannot be read or written"):
        list(pool.analyze(path, 0, 1))


def test_a_corpus_that_cannot_be_read_ends_the_build_with_its_own_error(tmp_path: Path, grow_corpus: Grow) -> None:
    grow_corpus(tmp_path, "grown", 2_500)
    path = next((tmp_path / "corpora" / "grown").glob("*.parquet"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 999] = bytes(999)
    path.write_bytes(bytes(data))
    with pytest.raises(CorpusError, match=r"cannot be read .*read its sources again with `shrag corpus replace`"):
        build_index(tmp_path / "corpora", tmp_path / "indexes", "grown")


@pytest.mark.soak
@pytest.mark.parametrize(
    "unit", ["가", "a", "1.", "인공지능 ", "the word ", "α₂-β ", "한글abc", "\ud55c\u0301", "! ", "가. "]
)
def test_r6_ten_megabytes_of_anything_take_less_than_a_minute(tmp_path: Path, unit: str) -> None:
    text = unit * (10_000_000 // len(unit.encode()))
    path = _corpus(tmp_path, [("big", text), ("small", "그래핀")])
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with WorkerPool(1, WorkerSetup(None, 1_000, str(tmp_path))) as pool:
        found = _all(list(pool.analyze(path, 0, 2)))
    assert not any(isinstance(record, RejectedRecord) for record in found)
    assert time.monotonic() - started < 60 * max(os.getloadavg()[0] / (os.cpu_count() or 1), 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20


def test_records_that_crash_are_rejected_unless_so_many_follow_each_other_that_the_machine_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "COMMAND", (sys.executable, "-c", HOSTILE))
    monkeypatch.setattr(worker_pool, "_MOST_CRASHES_IN_A_ROW", 5)  # of a batch, and of its records one by one
    path = _corpus(tmp_path, [(f"d{n}", "segfault" if n not in {0, 5, 6} else f"text {n}") for n in range(12)])
    with WorkerPool(1, WorkerSetup(None, 1_000, str(tmp_path))) as pool:
        found = _all(list(pool.analyze(path, 0, 7)))
        assert [number for number, record in enumerate(found) if isinstance(record, RejectedRecord)] == [1, 2, 3, 4]
        with pytest.raises(IndexingError, match="keep ending"):
            list(pool.analyze(path, 7, 12))
