"""Hundreds of small files that cost much to read, and of cut ones: each addition ends within its limits."""

from __future__ import annotations

import resource
import time
from collections import Counter
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError, TooManyRejectedLines
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.ingest.parser import ParserLimits
from shrag.corpora.store.manifest import read_manifest
from shrag.corpora.store.open_corpus import check_corpus, failed_rejects
from tests.support.parser_bombs import bombs, damaged

pytestmark = [pytest.mark.soak, pytest.mark.process]

BOMBS = 300
MIB = 2**20
LIMITS = ParserLimits(seconds=3, seconds_per_mib=1, memory=512 * MIB, output=32 * MIB, output_ratio=16)
_STARTING = 2.0
"""Processor seconds for starting the worker, and for ending it after its time is over."""
_BEYOND = ("processor time", "of memory", "of records", "was ended by", "exit status", "for its data")
"""Words of the reasons why the reading of a file was ended."""
_OWN_SECONDS = 60.0
"""Most processor seconds of the adding process itself, for as much output as the limits allow."""


def _good_corpus(home: Path, records: int = 50) -> Path:
    source = home / "good.jsonl"
    source.write_text(
        "".join(f'{{"CN": "G{n}", "title": "A title", "abstract": "Text {n}."}}\n' for n in range(records))
    )
    manifest = add_corpus(home, "c", "scienceon", [source], replace=True).manifest
    return home / "c" / manifest.records_file


def _outcome(home: Path, format: str, path: Path) -> str:
    """Add a file; return how it ended."""
    before = read_manifest(home / "c")
    try:
        add_corpus(home, "c", format, [path], limits=LIMITS)
    except TooManyRejectedLines:
        reasons = " ".join(reject.reason for reject in failed_rejects(home, "c") or ())
        return next((limit for limit in _BEYOND if limit in reasons), "rejects")
    except CorpusError:
        assert read_manifest(home / "c") == before
        return "error"
    return "records"


def test_every_bomb_ends_within_the_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = _good_corpus(tmp_path).read_bytes()
    outcomes: Counter[tuple[str, str]] = Counter()
    slowest = longest = own = 0.0
    for number, bomb in enumerate(bombs(BOMBS, 17, parquet)):
        _good_corpus(tmp_path)
        path = tmp_path / f"{number}-{bomb.name}"
        path.write_bytes(bomb.data)
        children, itself, clock = _children(), time.process_time(), time.monotonic()
        outcomes[bomb.kind, _outcome(tmp_path, bomb.format, path)] += 1
        worker, parent = _children() - children, time.process_time() - itself
        size = len(bomb.data)
        assert worker < LIMITS.file_seconds(size) + _STARTING, (number, bomb.kind, size, worker)
        assert parent < _OWN_SECONDS, (number, bomb.kind, size, parent)
        slowest, longest, own = max(slowest, time.monotonic() - clock), max(longest, worker), max(own, parent)
        path.unlink()
    assert sum(outcomes.values()) == BOMBS
    # None of them needs more memory than allowed; that limit has a test in test_parser.py.
    assert {outcome for _, outcome in outcomes} >= {"records", "rejects", "error", "processor time", "of records"}
    with capsys.disabled():
        print(f"\nslowest addition {slowest:.1f} s; processor time: workers {longest:.1f} s, adding {own:.1f} s")
        for (kind, outcome), count in sorted(outcomes.items()):
            print(f"{kind:>26}  {outcome:<15} {count:>3}")


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_corpus_that_is_added_to_is_an_error_or_stays_as_it_was(tmp_path: Path, seed: int) -> None:
    records = _good_corpus(tmp_path)
    whole = records.read_bytes()
    records.write_bytes(damaged(seed, whole))
    more = tmp_path / "more.jsonl"
    more.write_text('{"CN": "M", "title": "More"}\n')
    try:
        manifest = add_corpus(tmp_path, "c", "scienceon", [more]).manifest
    except CorpusError:
        _good_corpus(tmp_path)
    else:
        assert manifest.records == 51
    assert check_corpus(tmp_path, "c") in (50, 51)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
