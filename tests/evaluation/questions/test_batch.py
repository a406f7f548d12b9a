"""Runs of an engine, and questions asked by several threads."""

from __future__ import annotations

import errno
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from shrag.corpora.files import DiskFull
from shrag.corpora.records import Topic
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import read_run
from shrag.evaluation.questions import batch
from shrag.evaluation.questions.batch import ask_all, read_outcome_file, write_run
from shrag.evaluation.questions.outcome import QuestionOutcome, QuestionRecord, record_search
from shrag.serving.engine import Engine

NEVER_ASKED = cast("Engine", None)
TOPICS = [Topic("a", "그래핀 전자파 차폐"), Topic("b", "???"), Topic("c", "salt marsh blue carbon")]


@pytest.mark.parametrize(
    ("strategy", "depths"),
    [("shrag", (10, 15)), ("bm25", (5, 5)), ("pipeline-2", (15, 15)), ("retrieve(9) > rerank(3)", (9, 9))],
)
def test_a_run_is_what_the_engine_ranks(demo: Engine, tmp_path: Path, strategy: str, depths: tuple[int, int]) -> None:
    assert write_run(demo, TOPICS, tmp_path / "r", k=5, strategy=strategy) == (1, 0, depths)
    lines = read_run(tmp_path / "r")
    for topic in TOPICS:
        ranked = demo.search(topic.text, k=5, strategy=strategy).ranking.records
        assert [line.docid for line in lines if line.qid == topic.qid] == [r.record.docid for r in ranked]
    assert {line.tag for line in lines} == {f"shrag-{strategy}".replace(" ", "")}


@pytest.mark.parametrize("strategy", ["shrag", "bm25"])
def test_a_run_ranks_a_paper_under_each_of_its_numbers(demo: Engine, tmp_path: Path, strategy: str) -> None:
    write_run(demo, [Topic("a", "재택근무 강도와 일-가정 갈등")], tmp_path / "r", k=5, strategy=strategy)
    assert {"DEMO-SOC-004", "DEMO-SOC-012"} <= {line.docid for line in read_run(tmp_path / "r")}


def test_two_runs_of_the_same_are_the_same_bytes(demo: Engine, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(demo, TOPICS, tmp_path / name, k=100, strategy="shrag")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_name_in_gz_gives_the_same_run_compressed(demo: Engine, tmp_path: Path) -> None:
    for name in ("run", "run.gz"):
        write_run(demo, TOPICS, tmp_path / name, k=5, strategy="bm25")
    assert (tmp_path / "run.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert read_run(tmp_path / "run.gz") == read_run(tmp_path / "run")


def test_a_topic_that_cannot_be_asked_is_named_and_leaves_no_half_run(demo: Engine, tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="Topic x cannot be asked: The question is empty"):
        write_run(demo, [TOPICS[0], Topic("x", " ")], tmp_path / "r", k=5, strategy="shrag")
    assert list(tmp_path.glob("*r*")) == []
    with pytest.raises(EvaluationError, match="cannot be written"):
        write_run(demo, TOPICS, tmp_path / "no" / "r", k=5, strategy="shrag")


@pytest.mark.parametrize(
    ("run", "outcomes", "named"), [("r", "no/o", "no/o"), ("no/r", "o", "no/r"), ("f/r", "o", "f/r")]
)
def test_a_file_that_cannot_be_written_is_named_before_the_first_question(
    tmp_path: Path, run: str, outcomes: str, named: str
) -> None:
    (tmp_path / "f").write_text("no folder")
    with pytest.raises(EvaluationError, match=f"{tmp_path / named} cannot be written: No"):
        write_run(NEVER_ASKED, TOPICS, tmp_path / run, k=5, strategy="bm25", outcomes=tmp_path / outcomes)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(("code", "error"), [(errno.ENOSPC, DiskFull), (errno.EIO, OSError)])
def test_a_full_or_failing_disk_is_no_wrong_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception]
) -> None:
    def fail(path: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(batch, "open_run", fail)
    with pytest.raises(error, match=r"The disk is full|\[Errno 5\]"):
        write_run(NEVER_ASKED, TOPICS, tmp_path / "r", k=5, strategy="bm25")


NUMBERED_TOPICS = [Topic(f"q{number}", str(number)) for number in range(60)]


@pytest.mark.parametrize("threads", [1, 4])
def test_outcomes_come_in_the_order_of_the_topics_however_long_each_takes(threads: int) -> None:
    def ask(topic: Topic) -> QuestionRecord:
        time.sleep(0.002 * (int(topic.text) % 3))
        return QuestionRecord(QuestionOutcome(topic.qid))

    with ThreadPoolExecutor(threads) as pool:
        assert [asked.outcome.qid for asked in ask_all(ask, NUMBERED_TOPICS, pool, threads)] == [
            topic.qid for topic in NUMBERED_TOPICS
        ]
        assert list(ask_all(ask, [], pool, threads)) == []


def test_as_many_questions_are_asked_at_once_as_there_are_threads() -> None:
    threads = 24
    together = threading.Barrier(threads, timeout=20)

    def ask(topic: Topic) -> QuestionRecord:
        together.wait()
        return QuestionRecord(QuestionOutcome(topic.qid))

    with ThreadPoolExecutor(threads) as pool:
        assert len(list(ask_all(ask, NUMBERED_TOPICS[: 2 * threads], pool, threads))) == 2 * threads


def test_an_error_comes_at_its_place_and_most_of_the_rest_is_not_asked() -> None:
    begun: list[str] = []
    lock = threading.Lock()

    def ask(topic: Topic) -> QuestionRecord:
        with lock:
            begun.append(topic.qid)
        if topic.qid == "q3":
            raise RuntimeError("the index is damaged")
        return QuestionRecord(QuestionOutcome(topic.qid))

    got: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        coming = ask_all(ask, NUMBERED_TOPICS, pool, 2)
        with pytest.raises(RuntimeError, match="damaged"):
            got.extend(asked.outcome.qid for asked in coming)
        counted = len(begun)
        time.sleep(0.02)
        assert len(begun) == counted < 40
    assert got == ["q0", "q1", "q2"]


def test_one_that_is_given_up_leaves_nothing_at_work() -> None:
    with ThreadPoolExecutor(2) as pool:
        coming = ask_all(lambda topic: QuestionRecord(QuestionOutcome(topic.qid)), NUMBERED_TOPICS, pool, 2)
        assert next(coming).outcome.qid == "q0"
        coming.close()
        assert pool.submit(lambda: 1).result() == 1


def test_outcomes_are_written_beside_the_run_and_read_again(demo: Engine, tmp_path: Path) -> None:
    write_run(demo, TOPICS, tmp_path / "r", k=5, strategy="shrag", outcomes=tmp_path / "o.jsonl")
    outcomes = read_outcome_file(tmp_path / "o.jsonl")
    assert [each.qid for each in outcomes] == ["a", "b", "c"]
    assert outcomes == [record_search(each.qid, demo.search(each.text, k=5), {}).outcome for each in TOPICS]
    answered = tmp_path / "answered.jsonl"
    write_run(demo, TOPICS, tmp_path / "r2", k=5, strategy="shrag", outcomes=answered, answered=True)
    assert (tmp_path / "r2").read_bytes() == (tmp_path / "r").read_bytes()
    assert [each.answer is not None and each.refused for each in read_outcome_file(answered)] == [False, True, False]


def test_what_has_no_outcomes_or_one_twice_is_refused(demo: Engine, tmp_path: Path) -> None:
    write_run(demo, TOPICS, tmp_path / "r", k=5, strategy="bm25", outcomes=tmp_path / "o.jsonl")
    with pytest.raises(EvaluationError, match=r"r has no outcomes of questions .* give a file of `shrag run"):
        read_outcome_file(tmp_path / "r")
    with pytest.raises(EvaluationError, match=r"missing.jsonl cannot be read: No such file"):
        read_outcome_file(tmp_path / "missing.jsonl")
    (tmp_path / "o.jsonl").write_bytes((tmp_path / "o.jsonl").read_bytes() * 2)
    with pytest.raises(EvaluationError, match="has the question 'a' 2 times"):
        read_outcome_file(tmp_path / "o.jsonl")
