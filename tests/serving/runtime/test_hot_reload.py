"""Generations taken up while questions are answered, on real indexes."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from shrag.indexing.errors import IndexMissing
from shrag.indexing.maintenance.golden_queries import FILE as GOLDEN
from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.open_index import open_generation
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import CURRENT_FILE, generation_folder, read_generation
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import IndexClosed, UnknownStrategy
from shrag.serving.events import Answer, RankedRecord, Ranking
from shrag.serving.request import parse_request
from shrag.serving.results import AskResult
from shrag.serving.runtime import hot_reload as current_index
from shrag.serving.runtime.hot_reload import CurrentIndex
from shrag.serving.runtime.leases import SourceStatus
from tests.support.published import flip, open_files, opener, publish_copy, wait_for

pytestmark = pytest.mark.slow

QUESTIONS = [
    "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?",
    "How much does milk yield fall in dairy cows under heat stress?",
    "아파트 층간소음을 줄이려면 바닥 완충재를 어떻게 골라야 하는가?",
    "김치찌개 끓이는 법은?",
]
ASKED = [(question, strategy) for question in QUESTIONS for strategy in ("shrag", "hybrid")]
THREADS = 16

Outcome = tuple[Answer, tuple[RankedRecord, ...]]


@pytest.fixture
def current(index: Path) -> Iterator[CurrentIndex]:
    """Return the current index of ``index``; refreshed only when a test says so."""
    current = CurrentIndex(index, opener(index))
    yield current
    current.close()


def _outcome(result: AskResult) -> Outcome:
    return result.answer, result.search.ranking.records


class _Asker(threading.Thread):
    """Asks one question after another until it is told to stop, and notes what is not as either content has it."""

    def __init__(self, current: CurrentIndex, expected: Mapping[tuple[int, str, str], Outcome], turn: int) -> None:
        super().__init__()
        self.answered = 0
        self.wrong: list[object] = []
        self.seen: set[int] = set()
        self.stop = threading.Event()
        self._current = current
        self._expected = expected
        self._turn = turn

    def run(self) -> None:
        while not self.stop.is_set():
            question, strategy = ASKED[self._turn % len(ASKED)]
            try:
                (self._ask if self._turn % 3 else self._stream)(question, strategy)
            except Exception as error:
                self.wrong.append(error)
            self.answered += 1
            self._turn += 1

    def _ask(self, question: str, strategy: str) -> None:
        with self._current.use() as engine:
            result = engine.ask(question, strategy=strategy)
        generation = result.search.generation
        self.seen.add(generation)
        # Odd generations have the first content, even ones the second.
        if _outcome(result) != self._expected[2 - generation % 2, question, strategy]:
            self.wrong.append((generation, question, strategy))

    def _stream(self, question: str, strategy: str) -> None:
        events = list(self._current.use().run(parse_request(question, answered=True, strategy=strategy)))
        (answer,) = (event for event in events if isinstance(event, Answer))
        (ranking,) = (event for event in events if isinstance(event, Ranking))
        if (answer, ranking.records) not in [self._expected[number, question, strategy] for number in (1, 2)]:
            self.wrong.append((question, strategy))


@pytest.fixture(scope="module")
def expected(contents: Path) -> dict[tuple[int, str, str], Outcome]:
    """Return what each content answers by itself."""
    outcomes = {}
    for number in (1, 2):
        alone = Engine(open_generation(generation_folder(contents, number), read_generation(contents, number)))
        for question, strategy in ASKED:
            outcomes[number, question, strategy] = _outcome(alone.ask(question, strategy=strategy))
        alone.close()
    return outcomes


@pytest.mark.parametrize(
    ("swaps", "cached"),
    [
        pytest.param(5, True, id="5, cache"),
        pytest.param(20, True, id="20, cache", marks=pytest.mark.soak),
        pytest.param(20, False, id="20, no cache", marks=pytest.mark.soak),
    ],
)
def test_through_many_swaps_every_answer_is_whole_and_of_one_generation(
    contents: Path, expected: dict[tuple[int, str, str], Outcome], index: Path, swaps: int, cached: bool
) -> None:
    assert all(expected[1, *asked] != expected[2, *asked] for asked in ASKED)
    current = CurrentIndex(index, opener(index, AnswerCache() if cached else None))
    current.watch(0.01)
    askers = [_Asker(current, expected, turn) for turn in range(THREADS)]
    for asker in askers:
        asker.start()
    for swap in range(1, swaps + 1):
        number = publish_copy(index, generation_folder(contents, 1 + swap % 2))
        assert wait_for(lambda: current.status.generation == number), current.status  # noqa: B023
        before = sum(asker.answered for asker in askers)
        assert wait_for(lambda: sum(asker.answered for asker in askers) > before + THREADS // 2)  # noqa: B023
    for asker in askers:
        asker.stop.set()
    for asker in askers:
        asker.join()
    assert [asker.wrong for asker in askers] == [[]] * THREADS
    assert set().union(*(asker.seen for asker in askers)) == set(range(1, swaps + 2))
    assert wait_for(lambda: current.status.closing == ())
    assert open_files(index) == {f"gen-{swaps + 1:06}"}
    assert (current.status.swaps, current.status.problem) == (swaps, "")
    current.close()
    assert open_files(index) == set()


def test_nothing_is_opened_while_nothing_is_published(index: Path) -> None:
    opened: list[Verify] = []

    def count(verify: Verify, _: int | None) -> Engine:
        opened.append(verify)
        return open_engine(index.parent, "demo", verify=verify)

    current = CurrentIndex(index, count, verify="quick")
    assert [current.refresh() for _ in range(3)] == [False] * 3
    assert current.status == SourceStatus(1, (), "", 0)
    publish_copy(index, generation_folder(index, 1))
    assert [current.refresh() for _ in range(3)] == [True, False, False]
    # What is taken up is read through first: the one before answers meanwhile.
    assert opened == ["quick", "full"]
    assert current.status.generation == 2
    current.close()


def test_a_step_back_is_taken_up_as_well(contents: Path, index: Path, current: CurrentIndex) -> None:
    publish_copy(index, generation_folder(contents, 2))
    assert current.refresh()
    roll_back(index.parent, "demo")
    assert current.refresh()
    assert current.status.generation == 1


def test_a_damaged_generation_is_refused_with_its_reason_and_a_whole_one_taken_up_after_it(
    contents: Path, index: Path, current: CurrentIndex
) -> None:
    publish_copy(index, generation_folder(contents, 2), change=flip("glossary.sqlite"))
    assert not current.refresh()
    standing = current.status
    assert (standing.generation, standing.swaps) == (1, 0)
    assert "gen-000002/glossary.sqlite has changed since it was published: build it again with" in standing.problem
    assert open_files(index) == {"gen-000001"}
    with current.use() as engine:
        assert engine.ask(QUESTIONS[0]).search.generation == 1
    publish_copy(index, generation_folder(contents, 2))
    assert current.refresh()
    assert (current.status.generation, current.status.swaps, current.status.problem) == (3, 1, "")


def test_a_generation_that_does_not_find_what_it_did_when_it_was_sealed_is_refused(
    contents: Path, index: Path, current: CurrentIndex
) -> None:
    def forget(folder: Path) -> None:
        path = folder / GOLDEN
        path.write_bytes(path.read_bytes().replace(b"DEMO-", b"GONE-", 1))

    publish_copy(index, generation_folder(contents, 2), change=forget, sealed=False)
    assert not current.refresh()
    assert "gen-000002 finds DEMO-" in current.status.problem
    assert ", GONE-" in current.status.problem
    assert open_files(index) == {"gen-000001"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("gen-2\n", "CURRENT does not name a generation"),
        (f"gen-000009 {'0' * 64}\n", "gen-000009/MANIFEST.json is missing"),
    ],
)
def test_a_pointer_to_nothing_leaves_the_old_generation_until_it_is_set_right(
    index: Path, current: CurrentIndex, line: str, problem: str
) -> None:
    right = (index / CURRENT_FILE).read_text()
    (index / CURRENT_FILE).write_text(line)
    assert not current.refresh()
    assert problem in current.status.problem
    (index / CURRENT_FILE).write_text(right)
    assert not current.refresh()
    assert current.status == SourceStatus(1, (), "", 0)


def test_a_removed_index_is_answered_from_until_the_end(index: Path, current: CurrentIndex) -> None:
    shutil.rmtree(index)
    assert not current.refresh()
    assert "There is no index 'demo'" in current.status.problem
    with current.use() as engine:
        assert engine.ask(QUESTIONS[0]).answer.citations[0].docid == "DEMO-SOC-012"


def test_what_was_refused_is_opened_again_only_after_its_time(
    contents: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Verify] = []

    def fail_once(verify: Verify, _: int | None) -> Engine:
        opened.append(verify)
        if len(opened) == 2:
            raise MemoryError("no room")
        return open_engine(index.parent, "demo", verify=verify)

    current = CurrentIndex(index, fail_once)
    publish_copy(index, generation_folder(contents, 2))
    assert [current.refresh(), current.refresh()] == [False, False]
    assert len(opened) == 2
    assert current.status.problem == "The published generation cannot be opened (MemoryError: no room)."
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + 61)
    monkeypatch.setattr(current_index, "time", later)
    assert current.refresh()
    assert (len(opened), current.status.problem) == (3, "")
    current.close()


def test_a_stream_ends_in_the_generation_it_began_in(contents: Path, index: Path, current: CurrentIndex) -> None:
    run = current.use().run(parse_request(QUESTIONS[0], answered=True))
    next(run)
    publish_copy(index, generation_folder(contents, 2))
    assert current.refresh()
    assert current.status.closing == (1,)
    answer = next(event for event in run if isinstance(event, Answer))
    assert not answer.citations[0].title.endswith("판")
    assert open_files(index) == {"gen-000001", "gen-000002"}
    run.close()
    assert wait_for(lambda: current.status.closing == ())
    assert open_files(index) == {"gen-000002"}


@pytest.mark.parametrize("taken", [0, 2, 99])
def test_however_a_stream_ends_its_generation_is_let_go_of(
    contents: Path, index: Path, current: CurrentIndex, taken: int
) -> None:
    run = current.use().run(parse_request(QUESTIONS[0], answered=True))
    for _ in zip(range(taken), run, strict=False):
        pass
    if taken < 99:
        run.close()
    publish_copy(index, generation_folder(contents, 2))
    assert current.refresh()
    assert wait_for(lambda: current.status.closing == ())


def test_a_question_that_is_refused_keeps_no_generation_open(
    contents: Path, index: Path, current: CurrentIndex
) -> None:
    with pytest.raises(UnknownStrategy, match="'toq'"):
        current.use().run(parse_request(QUESTIONS[0], answered=True, strategy="toq"))
    publish_copy(index, generation_folder(contents, 2))
    assert current.refresh()
    assert wait_for(lambda: current.status.closing == ())


def test_closing_waits_for_no_question_and_lets_each_end(index: Path) -> None:
    current = CurrentIndex(index, opener(index))
    current.watch()
    lease = current.use()
    current.close()
    with pytest.raises(IndexClosed, match="Index demo is closed"):
        current.use()
    assert lease.engine.ask(QUESTIONS[0]).answer.citations[0].docid == "DEMO-SOC-012"
    lease.release()
    assert wait_for(lambda: open_files(index) == set())
    assert not current.refresh()


def test_what_is_being_opened_when_it_is_closed_is_closed_again(contents: Path, index: Path) -> None:
    opened: list[Engine] = []

    def close_meanwhile(verify: Verify, _: int | None) -> Engine:
        opened.append(open_engine(index.parent, "demo", verify=verify))
        if len(opened) == 2:
            held.close()
        return opened[-1]

    held = CurrentIndex(index, close_meanwhile)
    publish_copy(index, generation_folder(contents, 2))
    assert not held.refresh()
    assert len(opened) == 2
    assert wait_for(lambda: open_files(index) == set())


def test_a_missing_index_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing, match="`shrag index demo`"):
        CurrentIndex(tmp_path / "demo", opener(tmp_path / "demo"))


def test_the_generation_before_replaces_a_damaged_one(contents: Path, index: Path, current: CurrentIndex) -> None:
    publish_copy(index, generation_folder(contents, 2))
    assert current.refresh()
    (generation_folder(index, 2) / "glossary.sqlite").write_bytes(b"")
    assert current.refresh()
    assert current.status.generation == 1
    assert "Generation 2 is damaged, so generation 1 answers." in current.status.problem
