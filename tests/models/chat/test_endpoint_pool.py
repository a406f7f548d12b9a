"""Several endpoints of one model, each a real local server: choice, second tries, checks and recovery."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.endpoint_pool import EndpointPool, PoolTimes
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelRefused, ModelUnavailable
from shrag.models.language_model import Message
from tests.support.fake_endpoint import Behaviour, Endpoint, Handler, answers, breaks_after, goes_on, says, serving
from tests.support.live import wait_until

ASK = [Message("user", "그래핀이란?")]
NEVER = PoolTimes(check=3600.0)
OFTEN = PoolTimes(check=0.02)


@contextmanager
def _pool(endpoints: Sequence[Endpoint | str], times: PoolTimes = NEVER, model: str = "") -> Iterator[EndpointPool]:
    """Serve the endpoints, or take the address where nobody listens, and give the pool of them."""
    with ExitStack() as stack:
        urls = [each if isinstance(each, str) else stack.enter_context(serving(each)) for each in endpoints]
        members = [OpenAIModel(LlmSettings(url=url, model=model, retries=0)) for url in urls]
        yield stack.enter_context(closing(EndpointPool(members, times)))


def _asked(*endpoints: Endpoint) -> list[int]:
    return [len(each.asked) for each in endpoints]


class _Held:
    """A behaviour that answers when it is told to."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()

    def __call__(self, handler: Handler, body: dict[str, Any]) -> None:
        assert self.may_answer.wait(60)
        answers("held")(handler, body)


def test_requests_take_turns_where_all_are_as_busy() -> None:
    endpoints = [Endpoint(answers("x")) for _ in range(3)]
    with _pool(endpoints) as pool:
        for _ in range(3):
            pool.complete(ASK)
            assert list(pool.stream(ASK)) == ["x"]
    assert _asked(*endpoints) == [2, 2, 2]


def test_one_thread_checks_each_endpoint_however_many_requests_there_are() -> None:
    before = set(threading.enumerate())
    with _pool([Endpoint(answers("x")) for _ in range(2)]) as pool:
        for _ in range(3):
            pool.complete(ASK)
        checks = [each for each in set(threading.enumerate()) - before if each.name == "endpoint check"]
        assert len(checks) == 2


def test_a_request_goes_to_the_endpoint_with_the_fewest_in_flight() -> None:
    held, quick = _Held(), Endpoint(answers("x"))
    with _pool([Endpoint(held), quick]) as pool:
        busy = threading.Thread(target=pool.complete, args=(ASK,))
        busy.start()
        wait_until(lambda: pool.statuses[0].in_flight == 1)
        for _ in range(4):
            assert pool.complete(ASK).text == "x"
        held.may_answer.set()
        busy.join(30)
        assert [each.in_flight for each in pool.statuses] == [0, 0]
    assert _asked(quick) == [4]


def test_an_open_stream_counts_until_it_is_closed_or_read() -> None:
    with _pool([Endpoint(goes_on(0.02)), Endpoint(answers("x"))]) as pool:
        endless, short = pool.stream(ASK), pool.stream(ASK)
        assert [each.in_flight for each in pool.statuses] == [1, 1]
        assert next(iter(endless)) == "a"
        assert list(short) == ["x"]
        assert [each.in_flight for each in pool.statuses] == [1, 0]
        endless.close()
        endless.close()
        assert list(endless) == []
        assert [each.in_flight for each in pool.statuses] == [0, 0]


@pytest.mark.parametrize("failure", [says(503, "loading"), says(500, "dead"), breaks_after()])
def test_a_request_that_fails_before_its_first_text_is_tried_once_at_another_endpoint(failure: Behaviour) -> None:
    failing, working = Endpoint(failure), Endpoint(answers("x"))
    with _pool([failing, working, Endpoint(answers("x"))]) as pool:
        assert pool.complete(ASK).text == "x"
        pool.complete(ASK)
        assert list(pool.stream(ASK)) == ["x"]
        assert [(each.failures, each.in_flight) for each in pool.statuses] == [(2, 0), (0, 0), (0, 0)]


def test_two_endpoints_that_fail_are_not_followed_by_a_third() -> None:
    endpoints = [Endpoint(says(503, "a")), Endpoint(says(503, "b")), Endpoint(answers("x"))]
    with _pool(endpoints) as pool, pytest.raises(ModelUnavailable, match=r"\(b\)"):
        pool.complete(ASK)
    assert _asked(*endpoints) == [1, 1, 0]


def test_a_stream_that_breaks_before_its_first_text_is_sent_again_and_one_that_breaks_later_is_not() -> None:
    empty, later, working = Endpoint(breaks_after("")), Endpoint(breaks_after("탄소")), Endpoint(answers("x"))
    with _pool([empty, working]) as pool:
        assert list(pool.stream(ASK)) == ["x"]
    with _pool([later, working]) as pool:
        stream = pool.stream(ASK)
        assert next(iter(stream)) == "탄소"
        with pytest.raises(ModelUnavailable):
            next(iter(stream))
        assert [(each.failures, each.in_flight) for each in pool.statuses] == [(1, 0), (0, 0)]
    assert _asked(empty, later, working) == [1, 1, 1]


def test_a_refused_request_is_not_repeated() -> None:
    endpoints = [Endpoint(says(400, "bad grammar")), Endpoint(answers("x"))]
    with _pool(endpoints) as pool:
        with pytest.raises(ModelRefused):
            pool.complete(ASK)
        assert [each.problem for each in pool.statuses] == ["", ""]
    assert _asked(*endpoints) == [1, 0]


def test_an_endpoint_that_fails_three_times_gets_no_more_requests_and_comes_back_by_a_check() -> None:
    failing, working = Endpoint(says(503, "loading")), Endpoint(answers("x"))
    with _pool([failing, working]) as pool:
        for _ in range(8):
            pool.complete(ASK)
        assert _asked(failing, working) == [3, 8]
        assert "answers 503 (loading)" in pool.statuses[0].problem
        assert (pool.state, pool.name) == ("closed", "m")
    with _pool([failing, working], OFTEN) as pool:
        for _ in range(8):
            pool.complete(ASK)
        failing.behaviours = [answers("y")]
        wait_until(lambda: not pool.statuses[0].problem)
        assert {pool.complete(ASK).text for _ in range(2)} == {"x", "y"}


def test_an_endpoint_that_is_down_at_the_start_is_used_once_it_answers() -> None:
    endpoint, working = Endpoint(answers("late")), Endpoint(answers("x"))
    with serving(endpoint) as url:
        pass
    with _pool([url, working], OFTEN) as pool:
        assert pool.complete(ASK).text == "x"
        status = pool.statuses[0]
        assert (status.host, "does not answer" in status.problem) == (url.split("/")[2], True)
        with serving(endpoint, port=int(url.split(":")[2].removesuffix("/v1"))):
            wait_until(lambda: not pool.statuses[0].problem)
            assert {pool.complete(ASK).text for _ in range(2)} == {"late", "x"}


def test_without_any_endpoint_the_pool_is_open_and_says_why() -> None:
    with _pool(["http://127.0.0.1:9/v1", "unix:/nowhere/llm.sock"]) as pool:
        assert pool.state == "closed"
        with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9/v1 does not answer .* used again once"):
            pool.complete(ASK)
        with pytest.raises(ModelUnavailable):
            pool.stream(ASK)
        assert (pool.state, pool.known_name) == ("open", "")
        assert pool.name == "the model at http://127.0.0.1:9/v1, unix:/nowhere/llm.sock"
        assert [each.host for each in pool.statuses] == ["127.0.0.1:9", "unix:/nowhere/llm.sock"]


def test_an_endpoint_of_another_model_gets_no_requests_until_it_serves_the_same() -> None:
    first, other = Endpoint(answers("x"), models=("qwen",)), Endpoint(answers("y"), models=("llama",))
    with _pool([first, other], OFTEN) as pool:
        assert (pool.name, pool.complete(ASK).text, pool.complete(ASK).text) == ("qwen", "x", "x")
        problem = pool.statuses[1].problem
        assert "serves llama instead of qwen, which the others serve: all addresses of [llm] url must serve" in problem
        assert "\n" not in problem
        other.models = ("qwen",)
        wait_until(lambda: not pool.statuses[1].problem)
        assert {pool.complete(ASK).text for _ in range(2)} == {"x", "y"}


def test_an_endpoint_without_the_configured_model_gets_no_requests() -> None:
    first, other = Endpoint(answers("x"), models=("qwen",)), Endpoint(answers("y"), models=("llama",))
    with _pool([first, other], model="qwen") as pool:
        assert {pool.complete(ASK).text for _ in range(3)} == {"x"}
        assert "has no model 'qwen': it serves llama" in pool.statuses[1].problem
    with _pool([first, other], model="gemma") as pool, pytest.raises(ModelRefused, match="no model 'gemma'"):
        pool.complete(ASK)


def test_an_endpoint_whose_model_is_replaced_is_found_out_by_its_refusal() -> None:
    first, other = Endpoint(answers("x")), Endpoint(answers("x"))
    with _pool([first, other], OFTEN) as pool:
        pool.complete(ASK)
        other.models, other.behaviours = ("new",), [says(404, "The model `m` does not exist.")]
        with pytest.raises(ModelRefused):
            pool.complete(ASK)
        wait_until(lambda: bool(pool.statuses[1].problem))
        assert [pool.complete(ASK).text for _ in range(3)] == ["x"] * 3


def test_a_failure_does_not_hide_that_another_request_was_refused_just_before() -> None:
    other = Endpoint(says(404, "The model `m` does not exist."), says(503, "loading"))
    with _pool([other], PoolTimes(check=0.5)) as pool:
        assert pool.name == "m"
        other.models = ("new",)
        with pytest.raises(ModelRefused):
            pool.stream(ASK)
        with pytest.raises(ModelUnavailable):
            pool.stream(ASK)
        wait_until(lambda: pool.known_name == "new")


def test_an_idle_endpoint_that_hangs_is_found_out_by_a_check() -> None:
    held = _Held()
    with _pool([Endpoint(held), Endpoint(answers("x"))], PoolTimes(check=0.02, trust=0.0, answer=0.3)) as pool:
        assert pool.name == "m"
        wait_until(lambda: "gave no token" in pool.statuses[0].problem)
        assert pool.complete(ASK).text == "x"
        held.may_answer.set()
        wait_until(lambda: not pool.statuses[0].problem)


def test_a_stream_that_is_closed_while_it_moves_to_another_endpoint_ends() -> None:
    held = _Held()
    second = Endpoint(held)
    with _pool([Endpoint(breaks_after("")), second]) as pool:
        stream = pool.stream(ASK)
        pieces: list[str] = []
        reading = threading.Thread(target=lambda: pieces.extend(stream))
        reading.start()
        wait_until(lambda: len(second.asked) == 1)
        stream.close()
        held.may_answer.set()
        reading.join(30)
        assert (reading.is_alive(), pieces) == (False, [])
        assert [each.in_flight for each in pool.statuses] == [0, 0]
