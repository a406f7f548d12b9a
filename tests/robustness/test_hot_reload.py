"""R18: generations come and go under 64 clients over HTTP, damaged ones too; every answer is whole and of one."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from starlette.testclient import TestClient

from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.open_index import open_generation
from shrag.indexing.storage.generations import generation_folder, read_generation
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.runtime.hot_reload import CurrentIndex
from tests.serving.http.test_server import serve_process
from tests.support.live import live_app, split, wait_until
from tests.support.published import flip, open_files, opener, publish_copy

pytestmark = pytest.mark.slow

CLIENTS = 64
QUESTIONS = (
    "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?",
    "How much does milk yield fall in dairy cows under heat stress?",
    "아파트 층간소음을 줄이려면 바닥 완충재를 어떻게 골라야 하는가?",
    "김치찌개 끓이는 법은?",
)

Kind = Literal["search", "ask", "stream"]


class Request(NamedTuple):
    """What one client asks."""

    kind: Kind
    question: str
    strategy: str

    @property
    def path(self) -> str:
        return "/v1/search" if self.kind == "search" else "/v1/ask"

    @property
    def body(self) -> dict[str, object]:
        body: dict[str, object] = {"question": self.question, "strategy": self.strategy}
        return body | {"stream": True} if self.kind == "stream" else body


# Three of five requests search, as in the mixed load of the figures; no client begins where another does.
REQUESTS = tuple(
    Request(kind, question, strategy)
    for kind in ("search", "ask", "search", "stream", "search")
    for question in QUESTIONS
    for strategy in ("shrag", "hybrid")
)

Golden = Mapping[tuple[int, Request], object]
"""What each content, 1 and 2, answers, without what is of one request alone."""


def read_answer(request: Request, text: str) -> tuple[int, bool, object]:
    """Return the generation an answer says it is from, whether it was kept, and all that its content determines."""
    if request.kind == "stream":
        events = [json.loads(block.partition("data: ")[2]) for block in text.strip().split("\n\n")]
        begun, *told, last = events
        assert (begun["event"], last["event"]) == ("started", "timings"), (begun, last)
        assert begun["cached"] == last["cached"]
        return begun["index_generation"], begun["cached"], told
    body = json.loads(text)
    found = body if request.kind == "search" else body["search"]
    generation, cached = found.pop("index_generation"), found.pop("cached")
    assert set(found["seconds"]) == {"cache"} if cached else "cache" not in found["seconds"]
    for own in (found, body):
        own.pop("request_id", None)
    found.pop("seconds")
    return generation, cached, body


@pytest.fixture(scope="module")
def golden(contents: Path) -> dict[tuple[int, Request], object]:
    """Return what each content answers by itself, over HTTP and without a cache."""
    answers: dict[tuple[int, Request], object] = {}
    for number in (1, 2):
        alone = Engine(open_generation(generation_folder(contents, number), read_generation(contents, number)))
        with TestClient(create_app(alone), base_url="http://127.0.0.1") as client:
            for request in dict.fromkeys(REQUESTS):
                text = client.post(request.path, json=request.body).text
                generation, cached, answers[number, request] = read_answer(request, text)
                assert (generation, cached) == (number, False)
    assert all(answers[1, request] != answers[2, request] for request in REQUESTS)
    return answers


class Clients(threading.Thread):
    """Asks one question after another, as many at once as there are clients, and notes every answer that is not right.

    Odd generations have the first content, even ones the second. Unless a step back is expected, no client may be
    answered from an older generation than it was before.
    """

    def __init__(self, port: int, golden: Golden) -> None:
        super().__init__()
        self.wrong: list[object] = []
        self.seen: Counter[int] = Counter()
        self.cached = 0
        self.back = False
        self._port = port
        self._golden = golden
        self._stopped = threading.Event()

    @property
    def answered(self) -> int:
        return self.seen.total() + len(self.wrong)

    def run(self) -> None:
        async def ask() -> None:
            await asyncio.gather(*(self._client(number) for number in range(CLIENTS)))

        asyncio.run(ask())

    def stop(self) -> None:
        self._stopped.set()
        self.join(60)
        assert not self.is_alive()

    async def _client(self, number: int) -> None:
        turn, newest = number, 0
        while not self._stopped.is_set():
            request = REQUESTS[turn % len(REQUESTS)]
            turn += 1
            try:
                status, _, text = split(await asyncio.wait_for(self._exchange(request), 30))
                assert status == 200, (status, text)
                generation, cached, answer = read_answer(request, text)
                assert answer == self._golden[2 - generation % 2, request], (generation, request, text)
                assert generation >= newest or self.back, (newest, generation)
            except Exception as error:
                self.wrong.append((request, repr(error)[:500]))
                continue
            newest = generation
            self.seen[generation] += 1
            self.cached += cached

    async def _exchange(self, request: Request) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        data = json.dumps(request.body).encode()
        head = f"host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\nconnection: close"
        writer.write(f"POST {request.path} HTTP/1.1\r\n{head}\r\n\r\n".encode() + data)
        try:
            return await reader.read()
        finally:
            writer.close()


@contextmanager
def asking(port: int, golden: Golden) -> Iterator[Clients]:
    """Let the clients ask; at the end none may have met anything wrong."""
    clients = Clients(port, golden)
    clients.start()
    try:
        wait_until(lambda: clients.answered >= CLIENTS, 30)
        yield clients
    finally:
        clients.stop()
    assert clients.wrong == []


def test_new_damaged_and_earlier_generations_under_64_clients_mix_no_answer_and_fail_none(
    contents: Path, golden: Golden, index: Path
) -> None:
    cache = AnswerCache()
    current = CurrentIndex(index, opener(index, cache))
    current.watch(0.05)
    first, second = (generation_folder(contents, number) for number in (1, 2))
    with live_app(create_app(current)) as server:

        def health() -> dict[str, Any]:
            status, _, body = server.ask("GET", "/health/ready")
            assert status == 200
            return dict(json.loads(body))

        def taken_up(number: int) -> None:
            wait_until(lambda: current.status.generation == number, 30)
            asked = clients.answered
            wait_until(lambda: clients.answered > asked + CLIENTS, 30)

        with asking(server.port, golden) as clients:
            for swap in (2, 3, 4):
                assert publish_copy(index, first if swap % 2 else second) == swap
                taken_up(swap)
            publish_copy(index, first, change=flip("glossary.sqlite"))
            wait_until(lambda: health()["index_problem"] != "", 30)
            assert "gen-000005/glossary.sqlite has changed since it was published" in health()["index_problem"]
            assert health()["index_generation"] == 4
            assert 'shrag_index_refused{index="demo"} 1.0' in server.ask("GET", "/metrics")[2]
            taken_up(4)
            assert publish_copy(index, second) == 6
            taken_up(6)
            assert (health()["index_generation"], health()["index_problem"]) == (6, "")
            assert publish_copy(index, first) == 7
            taken_up(7)
            clients.back = True
            roll_back(index.parent, "demo")
            taken_up(6)
            replaced = time.monotonic()
        assert set(clients.seen) == {1, 2, 3, 4, 6, 7}
        wait_until(lambda: open_files(index) == {"gen-000006"}, 5)
        assert time.monotonic() - replaced < 5
        counters = cache.counters
        # Every question is computed once a generation: of all others, each waited for one or was given one.
        kinds = len({(request.path, *request[1:]) for request in REQUESTS})
        assert counters.misses <= kinds * (current.status.swaps + 1)
        assert counters.hits + counters.joined == sum(clients.seen.values()) - counters.misses
        assert clients.cached == counters.hits > CLIENTS
        figures = server.ask("GET", "/metrics")[2]
        assert f'shrag_cache_questions_total{{how="hit"}} {counters.hits:.1f}' in figures
        assert 'shrag_index_swaps_total{index="demo"} 6.0' in figures
        assert 'shrag_index_refused{index="demo"} 0.0' in figures
    assert open_files(index) == set()


def _resident(process: int) -> float:
    """Return a process's resident memory in MiB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


@pytest.mark.soak
@pytest.mark.parametrize("options", [(), ("--no-cache",)], ids=["cache", "no cache"])
def test_20_swaps_in_2_minutes_leave_no_descriptor_and_no_memory_behind(
    contents: Path, golden: Golden, index: Path, options: tuple[str, ...]
) -> None:
    memory: list[float] = []
    with serve_process(index.parents[1], "demo", *options) as (process, url):
        with asking(int(url.rstrip("/").rpartition(":")[2]), golden) as clients:
            begun = time.monotonic()
            for swap in range(20):
                number = publish_copy(index, generation_folder(contents, 2 - swap % 2))
                wait_until(lambda: clients.seen[number] > CLIENTS, 60)  # noqa: B023
                wait_until(lambda: open_files(index, process.pid) == {f"gen-{number:06d}"}, 5)  # noqa: B023
                memory.append(_resident(process.pid))
                time.sleep(max(0.0, begun + 6 * (swap + 1) - time.monotonic()))
        assert set(clients.seen) == set(range(1, 22))
        assert (clients.cached > 0) == (not options)
    # The first swaps fill what stays: code that is compiled, threads, the heap of the JVM.
    assert max(memory[-5:]) <= 1.1 * max(memory[5:10]), memory


def test_of_two_servers_each_names_the_generation_that_answers_and_keeps_none_of_an_older_one(
    contents: Path, golden: Golden, index: Path
) -> None:
    with ExitStack() as stack:
        servers = []
        for _ in range(2):
            current = CurrentIndex(index, opener(index, AnswerCache()))
            client = TestClient(create_app(current), base_url="http://127.0.0.1")
            servers.append((current, stack.enter_context(client)))
        request = REQUESTS[0]

        def ask(client: TestClient) -> tuple[int, bool]:
            generation, cached, answer = read_answer(request, client.post(request.path, json=request.body).text)
            assert answer == golden[2 - generation % 2, request]
            return generation, cached

        (first, ask_first), (second, ask_second) = servers
        assert [ask(client) for _, client in servers for _ in range(2)] == [(1, False), (1, True)] * 2
        publish_copy(index, generation_folder(contents, 2))
        assert first.refresh()
        # The second has not looked yet: its answer is the old one, and says so.
        assert [ask(ask_first), ask(ask_second), ask(ask_first)] == [(2, False), (1, True), (2, True)]
        assert second.refresh()
        assert [ask(ask_second), ask(ask_second)] == [(2, False), (2, True)]
        publish_copy(index, generation_folder(contents, 1))
        assert second.refresh()
        assert [ask(ask_first), ask(ask_second)] == [(2, True), (3, False)]
