"""A running server whose system calls fail for a while, injected by strace: it answers or says 503, and recovers.

While the fault lasts, a generation is published and questions are asked; health says what happened. Afterwards the next
generation is taken up, every answer is 200, the log is written and no thread is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faulted_server import PROCESS_WIDE, FaultedServer, faulted_server
from tests.support.injected_faults import Fault, draw_faults, seed

pytestmark = pytest.mark.process

CHOSEN = (
    *(fault for fault in PROCESS_WIDE if fault.when in ("1", "3")),
    Fault("write", "server.log", "ENOSPC", "1+"),
    Fault("openat", "indexes/demo/CURRENT", "ESTALE", "1+"),
    Fault("read", "indexes/demo/CURRENT", "EIO", "1"),
    Fault("newfstatat", "indexes/demo/gen-NOW/golden.json", "EACCES", "1+"),
    Fault("newfstatat", "indexes/demo/gen-NOW", "EIO", "1+"),
    Fault("openat", "indexes/demo/gen-NEW/MANIFEST.json", "EACCES", "1+"),
    Fault("openat", "indexes/demo/gen-NEW/vectors/encoder/vocabulary.json", "EMFILE", "1"),
    Fault("mmap", "indexes/demo/gen-NEW/lucene/_1.fdt", "EACCES", "1+"),
    Fault("mmap", "indexes/demo/gen-NEW/lucene/_1.nvd", "EIO", "1"),
    Fault("read", "indexes/demo/gen-NEW/golden.json", "EIO", "1+"),
    Fault("getdents64", "indexes/demo/gen-NEW/lucene", "ESTALE", "1+"),
    Fault("close", "indexes/demo/gen-NEW/MANIFEST.json", "EIO", "1"),
)

DRAWN = 130
"""How many faults ``make soak`` draws, beside those that are not of one file."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, strace: str, demo_home: Path) -> Iterator[FaultedServer]:
    """Serve the demonstration for the whole module."""
    with faulted_server(tmp_path_factory.mktemp("faults"), strace, demo_home) as server:
        yield server


@pytest.mark.parametrize("fault", CHOSEN, ids=map(str, CHOSEN))
def test_a_server_whose_system_call_fails_answers_or_says_503_and_recovers(server: FaultedServer, fault: Fault) -> None:
    outcome = server.case(fault)
    assert outcome.happened
    assert outcome.problems == ()


@pytest.mark.soak
def test_a_server_whose_system_calls_fail_at_random_recovers_each_time(server: FaultedServer) -> None:
    outcomes = []
    for fault in (*PROCESS_WIDE, *draw_faults(server.points(), seed(), DRAWN)):
        outcomes.append(server.case(fault))
        print(outcomes[-1], flush=True)
    happened = [outcome for outcome in outcomes if outcome.happened]
    print(f"server: {len(happened)} of {len(outcomes)} happened; {Counter(each.state for each in happened)}")
    print(Counter(each.fault.error for each in happened), Counter(each.fault.call for each in happened))
    assert len(happened) > 0.9 * len(outcomes)
    assert not [str(outcome) for outcome in outcomes if outcome.problems]
