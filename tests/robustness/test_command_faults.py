"""Adding a corpus, building an index and updating one while system calls fail: the old state, the new one, a sentence.

A fault is injected by strace at a chosen point, or at one that is drawn from a traced run (``make soak``). The corpus
and the current generation are whole after each; the command without the fault then ends in the new state, with nothing
left behind. ``SHRAG_SEED`` repeats a drawn run.
"""

from __future__ import annotations

from collections import Counter

import pytest

from shrag.indexing.glossary import vocabulary_selection
from shrag.indexing.glossary.vocabulary import read_vocabulary
from tests.support.faulted_commands import FaultedCommands, Kind
from tests.support.injected_faults import Fault, draw_faults, seed
from tests.support.killed_build import ROOT

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("few_words")]

_STAGE = "indexes/c/build-000002/stage"
_INDEX = "indexes/c/build-000002/index"

CHOSEN: tuple[tuple[Kind, Fault], ...] = (
    ("replace", Fault("pread64", "corpora/c/.draft/seen", "ESTALE", "1+")),
    ("replace", Fault("write", "corpora/c/.draft/read", "ENOSPC", "2")),
    ("replace", Fault("openat", "corpora/c/.draft/rejects", "EMFILE", "1")),
    ("replace", Fault("fsync", "corpora/c/.manifest.json.new", "EIO", "1")),
    ("replace", Fault("rename", "corpora/c/.manifest.json.new", "EACCES", "1")),
    ("replace", Fault("flock", "corpora/c/.lock", "ESTALE", "1")),
    ("build", Fault("ftruncate", f"{_STAGE}/notes.sqlite-journal", "EIO", "3")),
    ("build", Fault("rmdir", "indexes/c/old-build-000002", "ESTALE", "1")),
    ("update", Fault("mmap", f"{_INDEX}/lucene/_2.nvm", "EACCES", "2")),
)

CHOSEN_FOR_SOAK: tuple[tuple[Kind, Fault], ...] = (
    ("replace", Fault("pread64", "corpora/c/.draft/keys", "EIO", "2")),
    ("replace", Fault("openat", "corpora/c/.draft/seen", "EIO", "1")),
    ("replace", Fault("stat", "corpora/c/.draft/read", "EACCES", "1")),
    ("replace", Fault("lseek", "corpora/c/.draft/read", "EIO", "3+")),
    ("replace", Fault("fsync", "corpora/c", "ENOSPC", "2")),
    ("replace", Fault("close", "new.jsonl", "EIO", "1")),
    ("replace", Fault("read", "corpora/c/manifest.json", "EIO", "1+")),
    ("replace", Fault("rmdir", "corpora/c/.draft", "EACCES", "1+")),
    ("replace", Fault("newfstatat", "corpora/c/.draft", "EACCES", "1+")),
    ("replace", Fault("ftruncate", "corpora/c/.lock", "EIO", "1")),
    ("replace", Fault("write", "corpora/c/.manifest.json.new", "ENOSPC", "1")),
    ("build", Fault("openat", "indexes/c/CURRENT", "ESTALE", "1+")),
    ("build", Fault("fsync", f"{_INDEX}/.MANIFEST.json.new", "ESTALE", "1")),
    ("build", Fault("fsync", "indexes/c/.CURRENT.new", "ENOSPC", "1")),
    ("build", Fault("pread64", "indexes/c/gen-000001/tokens.sqlite", "EIO", "1+")),
    ("update", Fault("write", f"{_INDEX}/lucene/_2.fdm", "ESTALE", "2")),
    ("update", Fault("stat", f"{_STAGE}/changed.parquet", "EACCES", "1")),
)
"""Each of all is of a kind of its own; those that once were no sentence, or lost something, are among them."""

DRAWN: dict[Kind, int] = {"replace": 170, "build": 140, "update": 80}
"""How many faults ``make soak`` draws; those on calls that do not come in that run do not happen."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory, strace: str) -> FaultedCommands:
    """Return the commands, over the demonstration's first records."""
    with pytest.MonkeyPatch.context() as patch:
        _shorten(patch)
        return FaultedCommands(tmp_path_factory.mktemp("faults"), strace, ROOT / "corpora" / "demo" / "records.jsonl")


@pytest.fixture
def few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let builds of this process use as few words of the general vocabulary as the faulted ones."""
    _shorten(monkeypatch)


def _shorten(patch: pytest.MonkeyPatch) -> None:
    words = read_vocabulary()[::2000]
    patch.setattr(vocabulary_selection, "read_vocabulary", lambda: words)


@pytest.mark.parametrize(("kind", "fault"), CHOSEN, ids=[f"{kind} {fault}" for kind, fault in CHOSEN])
def test_a_command_whose_system_call_fails_leaves_a_whole_state_and_says_so_in_one_sentence(
    commands: FaultedCommands, kind: Kind, fault: Fault
) -> None:
    outcome = commands.case(kind, fault)
    assert outcome.happened
    assert outcome.problems == ()


@pytest.mark.parametrize(
    ("kind", "call", "path", "error", "status", "says"),
    [
        (
            "build",
            "pwrite64",
            "indexes/c/build-000002/stage/notes.sqlite",
            "EIO",
            5,
            "(disk I/O error): check the disk",
        ),
        (
            "build",
            "openat",
            "corpora/c/records-*",
            "EACCES",
            2,
            "(Permission denied): give this user permission to use it",
        ),
        pytest.param(
            *(
                "build",
                "openat",
                "corpora/c/records-*",
                "ESTALE",
                5,
                "its network file system was lost, mount it again.",
            ),
            marks=pytest.mark.soak,
        ),
        pytest.param(
            *(
                "build",
                "pread64",
                "corpora/c/records-*",
                "EIO",
                5,
                "the disk or its connection fails, check it (`dmesg`).",
            ),
            marks=pytest.mark.soak,
        ),
    ],
    ids=["a database", "no right", "a lost network", "a corpus"],
)
def test_what_is_said_of_a_fault_is_its_cause_and_not_a_full_disk_or_a_damaged_corpus(
    commands: FaultedCommands, kind: Kind, call: str, path: str, error: str, status: int, says: str
) -> None:
    run = commands.run(kind, call, path, error)
    assert run is not None
    assert run.status == status
    assert says in run.said
    assert "disk is full" not in run.said
    assert "corpus replace" not in run.said


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "fault"), CHOSEN_FOR_SOAK, ids=[f"{kind} {fault}" for kind, fault in CHOSEN_FOR_SOAK])
def test_so_do_the_other_commands(commands: FaultedCommands, kind: Kind, fault: Fault) -> None:
    outcome = commands.case(kind, fault)
    assert outcome.happened
    assert outcome.problems == ()


@pytest.mark.soak
@pytest.mark.parametrize("kind", DRAWN)
def test_commands_whose_system_calls_fail_at_random_leave_whole_states(commands: FaultedCommands, kind: Kind) -> None:
    faults = draw_faults(commands.points(kind), seed(), DRAWN[kind])
    outcomes = []
    for fault in faults:
        outcomes.append(commands.case(kind, fault))
        print(outcomes[-1], flush=True)
    happened = [outcome for outcome in outcomes if outcome.happened]
    print(f"{kind}: {len(happened)} of {len(outcomes)} happened; {Counter(each.state for each in happened)}")
    print(Counter(each.fault.error for each in happened), Counter(each.fault.call for each in happened))
    assert len(happened) > 0.9 * len(outcomes)
    assert not [str(outcome) for outcome in outcomes if outcome.problems]
