"""The ways in which a language model's endpoint fails (R17), each as one behaviour of the fake one."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.support.fake_endpoint import (
    Behaviour,
    Handler,
    answers,
    breaks_after,
    goes_on,
    keeps_silent,
    piece,
    says,
    streams,
)
from tests.support.fake_endpoint import sends as sends_bytes

KEYWORDS = json.dumps({"keywords": ["재택근무", "갈등"]}, ensure_ascii=False)


class Fault(NamedTuple):
    """One way to fail, for every request; :func:`only_the_answer` makes it the answer's alone."""

    name: str
    behaviour: Behaviour


def only_the_answer(fault: Behaviour) -> Behaviour:
    """Write keywords as asked, and fail at the answer, the only thing that is streamed."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        (fault if body.get("stream") else answers(KEYWORDS))(handler, body)

    return behave


def _split_characters(handler: Handler, body: dict[str, Any]) -> None:
    """A whole answer whose bytes come in threes, so that Hangul is cut in the middle."""
    del body
    text = "재택근무 일수와 일-가정 갈등의 관계를 분석하였다 [1]."
    events = [piece(text), piece(None, "stop")]
    data = b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)
    data += b"data: [DONE]\n\n"
    handler.begin_events()
    for start in range(0, len(data), 7):
        handler.chunk(data[start : start + 7])
    handler.chunk(b"")


def _refuses(handler: Handler, body: dict[str, Any]) -> None:
    """No answer at all: the connection is cut. A port where nobody listens looks the same to who asks."""
    del body
    handler.cut()


def _resets(handler: Handler, body: dict[str, Any]) -> None:
    del body
    handler.begin_events()
    handler.event(piece("재택근무 "))
    time.sleep(0.05)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True


def _writes_on(handler: Handler, body: dict[str, Any]) -> None:
    """As fast as it is read, whatever ``max_tokens`` says, in sentences that each rest on a record."""
    del body
    handler.begin_events()
    handler.close_connection = True
    sentence = "재택근무 일수와 일-가정 갈등의 관계를 분석하였고, " * 6 + "그 결과를 논의하였다 [1]. "
    try:
        while not handler.nobody_listens(0):
            handler.event(piece(sentence))
    except OSError:
        pass
    handler.endpoint.count(left=1)


FAULTS: Mapping[str, Behaviour] = {
    "refuses": _refuses,
    "accepts and hangs": keeps_silent(30),
    "hangs in the middle": keeps_silent(30, begin=True),
    "resets": _resets,
    "ends without a reason": streams(piece("재택근무 일수와 갈등을 분석하였다 [1]. 둘째 문장이")),
    "is cut in the middle": breaks_after("재택근무 일수와 갈등을 분석하였다 [1]. 둘째 문장이"),
    "sends broken JSON": streams(piece("재택근무 "), b'{"choices": [{'),
    "sends an error": streams(piece("재택근무 "), {"error": {"message": "out of memory", "code": 500}}),
    "is too busy": says(503, "overloaded", Retry_After="1"),
    "writes without end": _writes_on,
    "is no model": sends_bytes(b"<html>proxy</html>", "text/html"),
}
"""By name; each is found out long before a request's deadline. Tests take them from the fixture ``fault``."""

NEVER_ENDS: Behaviour = goes_on(0.02)
"""A stream that is a little longer all the time: nothing but a deadline ends it."""

SPLIT_CHARACTERS: Behaviour = _split_characters
"""No failure: what looks like one to a client that decodes chunk by chunk."""
