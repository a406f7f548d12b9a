"""Request lines whose letters are not escaped: the bytes, and a real server's answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.serving.engine import Engine
from shrag.serving.http.request_line import escape_request_line
from tests.support.live import live, read_all, split

_KOREAN = "GET /v1/search?q=그래핀&k=1 HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode()
_ESCAPED = _KOREAN.replace("그래핀".encode(), b"%EA%B7%B8%EB%9E%98%ED%95%80")


def test_only_letters_of_the_line_are_escaped() -> None:
    assert escape_request_line(_KOREAN) == (_ESCAPED, False)
    after = _ESCAPED + "그".encode()
    assert escape_request_line(after) == (after, False)
    assert escape_request_line("GET /그".encode()) == (b"GET /%EA%B7%B8", True)


@given(st.binary(), st.integers(0, 40))
def test_pieces_give_what_the_whole_gives_and_ascii_stays(data: bytes, place: int) -> None:
    whole, goes_on = escape_request_line(data)
    first, first_goes_on = escape_request_line(data[:place])
    rest = escape_request_line(data[place:]) if first_goes_on else (data[place:], False)
    assert first + rest[0] == whole
    line, end, after = data.partition(b"\n")
    assert whole.partition(b"\n")[0].isascii()
    assert goes_on == (not end)
    assert whole.endswith(end + after)
    if line.isascii():
        assert whole == data


@pytest.mark.slow
@pytest.mark.parametrize("size", [len(_KOREAN), 7, 1])
def test_a_server_answers_them_whatever_pieces_they_come_in(demo: Engine, size: int) -> None:
    with live(demo) as server:
        connection = server.connect()
        for start in range(0, len(_KOREAN), size):
            connection.sendall(_KOREAN[start : start + size])
        status, _, body = split(read_all(connection))
        assert status == 200
        assert json.loads(body)["question"] == "그래핀"
        connection.close()
