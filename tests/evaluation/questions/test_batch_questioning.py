from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from shrag.corpora.records import Topic
from shrag.evaluation.questions.batch import ask_all
from shrag.evaluation.questions.outcome import QuestionOutcome, QuestionRecord

TOPICS = [Topic(f"q{number}", str(number)) for number in range(60)]


@pytest.mark.parametrize("threads", [1, 4])
def test_outcomes_come_in_the_order_of_the_topics_however_long_each_takes(threads: int) -> None:
    def ask(topic: Topic) -> QuestionRecord:
        time.sleep(0.002 * (int(topic.text) % 3))
        return QuestionRecord(QuestionOutcome(topic.qid))

    with ThreadPoolExecutor(threads) as pool:
        assert [asked.outcome.qid for asked in ask_all(ask, TOPICS, pool)] == [topic.qid for topic in TOPICS]
        assert list(ask_all(ask, [], pool)) == []


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
        coming = ask_all(ask, TOPICS, pool)
        with pytest.raises(RuntimeError, match="damaged"):
            got.extend(asked.outcome.qid for asked in coming)
        counted = len(begun)
        time.sleep(0.02)
        assert len(begun) == counted < 40
    assert got == ["q0", "q1", "q2"]


def test_one_that_is_given_up_leaves_nothing_at_work() -> None:
    with ThreadPoolExecutor(2) as pool:
        coming = ask_all(lambda topic: QuestionRecord(QuestionOutcome(topic.qid)), TOPICS, pool)
        assert next(coming).outcome.qid == "q0"
        coming.close()
        assert pool.submit(lambda: 1).result() == 1
