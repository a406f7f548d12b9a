"""Many clients on one event loop, by raw sockets: what they ask, what they get, and whether it is whole."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from tests.support.live import QUESTION, split

Kind = Literal["search", "ask", "stream", "chat", "page", "live"]
"""A search, an answer, its events, a streamed chat completion, the page without a script, whether the process turns."""

KINDS: tuple[Kind, ...] = get_args(Kind)

REFUSALS = {429: {"overloaded"}, 503: {"deadline_exceeded", "shutting_down"}}
"""What a busy server may say, by status; any other is a fault."""

_WORDS = (
    "가족 여성 남성 직장 시간 만족 임금 기업 조직 상사 동료 업무 성과 피로 수면 육아 부모 자녀 학교 지역 "
    "서울 통계 표본 설문 회귀 분석 모형 가설 변수 효과 정책 제도 법률 기술 인터넷 회의 통근 주거 건강 소득"
).split()

Choose = Callable[[int], tuple[Kind, str]]
"""The number of a request → what it asks for, and the question."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came of it. ``status`` is 0 where no whole head came; times are by ``time.monotonic``."""

    kind: Kind
    sent: float
    seconds: float
    status: int = 0
    head: str = ""
    body: str = ""

    @property
    def refused(self) -> bool:
        """Whether the server said that it is too busy."""
        return self.status in REFUSALS

    @property
    def fault(self) -> str:
        """What is wrong with it; empty where it is a whole answer, or a refusal that says when to come back."""
        if self.refused and self.kind == "page":  # people are told in words
            wrong = "</html>" not in self.body or "\nretry-after: " not in self.head
            return f"{self.status} without a time to come back" if wrong else ""
        if self.refused:
            known = json.loads(self.body)
            code = known.get("code") or known.get("error", {}).get("code")
            wrong = code not in REFUSALS[self.status] or "\nretry-after: " not in self.head
            return f"{self.status} {code} without a time to come back" if wrong else ""
        if self.status != 200:
            return f"{self.kind}: status {self.status} after {self.seconds:.1f} s"
        try:
            return "" if _WHOLE[self.kind](self.body) else f"{self.kind}: not whole: …{self.body[-200:]}"
        except (ValueError, LookupError, TypeError) as error:
            return f"{self.kind}: {error!r} in …{self.body[-200:]}"

    @property
    def failed(self) -> str:
        """The code of the error that a stream ended in; empty where it ended in order."""
        if self.kind == "stream" and self.status == 200:
            name, data = events(self.body)[-1]
            return str(data["code"]) if name == "error" else ""
        if self.kind == "chat" and self.status == 200:
            return next((str(chunk["error"]["code"]) for chunk in chunks(self.body) if "error" in chunk), "")
        return ""


def events(body: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of ``/v1/ask``'s stream by name."""
    messages = [block.split("\n") for block in body.strip().split("\n\n") if not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in messages]


def chunks(body: str) -> list[dict[str, Any]]:
    """Return the chunks of a streamed chat completion; raises ``ValueError`` where ``[DONE]`` is not the last line."""
    lines = [line.removeprefix("data: ") for line in body.strip().split("\n\n") if not line.startswith(":")]
    if lines[-1] != "[DONE]":
        raise ValueError("[DONE] is not last")
    return [json.loads(line) for line in lines[:-1]]


def finish_reasons(body: str) -> list[str]:
    """Return the reasons that a streamed chat completion says it ended for."""
    found = [choice["finish_reason"] for chunk in chunks(body) for choice in chunk.get("choices", ())]
    return [reason for reason in found if reason is not None]


def _stream_is_whole(body: str) -> bool:
    return events(body)[-1][0] in {"timings", "error"}


def _chat_is_whole(body: str) -> bool:
    """Tell that there is an end, in order or as an error, and not both."""
    failed = [chunk for chunk in chunks(body) if "error" in chunk]
    return len(finish_reasons(body)) + len(failed) == 1


_WHOLE: dict[Kind, Callable[[str], bool]] = {
    "search": lambda body: json.loads(body)["records"] is not None,
    "ask": lambda body: json.loads(body)["answer"]["kind"] in {"extractive", "generated"},
    "stream": _stream_is_whole,
    "chat": _chat_is_whole,
    "page": lambda body: body.rstrip().endswith("</html>"),
    "live": lambda body: json.loads(body) == {"status": "live"},
}


def request(kind: Kind, question: str = QUESTION) -> bytes:
    """Return the bytes of a request behind which the connection is closed."""
    body: dict[str, object] | None
    match kind:
        case "search":
            path, body = "/v1/search", {"question": question}
        case "ask" | "stream":
            path, body = "/v1/ask", {"question": question, "stream": kind == "stream"}
        case "chat":
            messages = [{"role": "user", "content": question}]
            path, body = "/v1/chat/completions", {"model": "demo/shrag", "messages": messages, "stream": True}
        case "page":
            path, body = "/?" + urlencode({"q": question}), None
        case "live":
            path, body = "/health/live", None
    data = b"" if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


async def exchange(port: int, kind: Kind, question: str = QUESTION, patience: float = 60.0) -> Exchange:
    """Ask once, on a connection of its own."""
    started = time.monotonic()
    answer = b""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(request(kind, question))
            answer = await asyncio.wait_for(reader.read(-1), patience)
        finally:
            writer.close()
    except (OSError, TimeoutError):
        pass
    seconds = time.monotonic() - started
    if b"\r\n\r\n" not in answer:
        return Exchange(kind, started, seconds)
    try:
        status, head, body = split(answer)
    except ValueError:  # cut within a chunk
        return Exchange(kind, started, seconds, body=answer.decode(errors="replace"))
    return Exchange(kind, started, seconds, status, head, body)


async def closed_loop(port: int, clients: int, seconds: float, choose: Choose) -> list[Exchange]:
    """Let each of ``clients`` ask again as soon as it is answered, for ``seconds``."""
    until = time.monotonic() + seconds
    done: list[Exchange] = []
    number = 0

    async def client() -> None:
        nonlocal number
        while time.monotonic() < until:
            number += 1
            done.append(await exchange(port, *choose(number)))

    await asyncio.gather(*(client() for _ in range(clients)))
    return done


async def open_loop(port: int, rate: float, seconds: float, choose: Choose) -> list[Exchange]:
    """Ask ``rate`` times a second whatever comes of it, for ``seconds``; answers that are still to come are awaited."""
    started = time.monotonic()
    asking = []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
        asking.append(asyncio.create_task(exchange(port, *choose(number))))
    return await asyncio.gather(*asking)


def faults(done: Iterable[Exchange]) -> dict[str, int]:
    """Return how often each thing was wrong."""
    found: dict[str, int] = {}
    for each in done:
        if each.fault:
            found[each.fault] = found.get(each.fault, 0) + 1
    return found


def percentile(seconds: Iterable[float], share: float) -> float:
    """Return the nearest-rank percentile of at least one value."""
    ranked: Sequence[float] = sorted(seconds)
    return ranked[max(0, -int(-len(ranked) * share // 100) - 1)]


def question(number: int) -> str:
    """Return another question for each number up to 64,000, so that none is answered from memory.

    They differ by words that return: each word never met before is one that an analyser keeps.
    """
    count = len(_WORDS)
    return " ".join((QUESTION, *(_WORDS[number // count**place % count] for place in range(3))))


def mixed(number: int) -> tuple[Kind, str]:
    """Choose four searches to a streamed answer."""
    return ("stream" if number % 5 == 0 else "search"), question(number)
