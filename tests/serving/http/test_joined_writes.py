from __future__ import annotations

import asyncio
from typing import cast

from shrag.serving.http.joined_writes import JoinedWrites


class _Recorder(asyncio.Transport):
    """Records what is sent at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[bytes]] = []
        self.ended: list[str] = []

    def writelines(self, list_of_data: object) -> None:
        self.sent.append(list(cast("list[bytes]", list_of_data)))

    def close(self) -> None:
        self.ended.append("close")

    def abort(self) -> None:
        self.ended.append("abort")

    def is_closing(self) -> bool:
        return bool(self.ended)

    def get_write_buffer_size(self) -> int:
        return 7


def test_what_is_written_in_one_step_is_sent_at_once_and_later_steps_for_themselves() -> None:
    async def write() -> list[list[bytes]]:
        recorder = _Recorder()
        joined = JoinedWrites(recorder)
        joined.write(b"head")
        joined.write(b"body")
        assert recorder.sent == []
        await asyncio.sleep(0)
        joined.write(b"more")
        await asyncio.sleep(0)
        return recorder.sent

    assert asyncio.run(write()) == [[b"head", b"body"], [b"more"]]


def test_closing_sends_what_is_written_and_aborting_does_not() -> None:
    async def end(how: str) -> tuple[list[list[bytes]], list[str]]:
        recorder = _Recorder()
        joined = JoinedWrites(recorder)
        joined.write(b"late")
        getattr(joined, how)()
        await asyncio.sleep(0)
        return recorder.sent, recorder.ended

    assert asyncio.run(end("close")) == ([[b"late"]], ["close"])
    assert asyncio.run(end("abort")) == ([], ["abort"])


def test_nothing_is_sent_to_a_connection_that_was_closed_in_between() -> None:
    async def write() -> list[list[bytes]]:
        recorder = _Recorder()
        joined = JoinedWrites(recorder)
        joined.write(b"lost")
        recorder.close()
        await asyncio.sleep(0)
        return recorder.sent

    assert asyncio.run(write()) == []


def test_the_rest_is_the_transport_s() -> None:
    async def size() -> object:
        return JoinedWrites(_Recorder()).get_write_buffer_size()

    assert asyncio.run(size()) == 7
