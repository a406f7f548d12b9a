from __future__ import annotations

import errno
import io
import json
import logging
import os
import threading
import time
from contextlib import suppress

import pytest

from shrag.serving.http.logging import JsonLines
from shrag.serving.runtime.background import BACKGROUND
from tests.support.live import wait_until


def _logger(handler: JsonLines) -> logging.Logger:
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger


def _join(handler: JsonLines) -> None:
    handler._writer.join(5)
    assert not handler._writer.is_alive()


def test_each_entry_is_one_line_of_json_whatever_is_in_it() -> None:
    stream = io.StringIO()
    handler = JsonLines(stream)
    _logger(handler).info("request\n", extra={"fields": {"question": 'a\n"b"\x1b[31m\u2028', "status": 200}})
    handler.close()
    (line,) = stream.getvalue().split("\n")[:-1]
    entry = json.loads(line)
    assert (entry["event"], entry["level"], entry["status"]) == ("request", "info", 200)
    assert entry["question"] == 'a\n"b"\x1b[31m\u2028'
    assert "\x1b" not in line


def test_all_lines_are_written_in_order_before_the_end() -> None:
    stream = io.StringIO()
    handler = JsonLines(stream)
    for number in range(500):
        _logger(handler).info("line", extra={"fields": {"number": number}})
    handler.close()
    assert [json.loads(line)["number"] for line in stream.getvalue().splitlines()] == list(range(500))


class _FullDisk(io.StringIO):
    full = True

    def flush(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_log_that_cannot_be_written_is_a_background_problem_until_it_can_be() -> None:
    stream = _FullDisk()
    handler = JsonLines(stream)
    _logger(handler).info("first")
    wait_until(lambda: "log: OSError: [Errno 28]" in BACKGROUND.problem)
    stream.full = False
    _logger(handler).info("second")
    wait_until(lambda: "log" not in BACKGROUND.problem)
    handler.close()
    _join(handler)


@pytest.mark.slow
def test_a_reader_that_stopped_reading_stops_nobody_who_writes() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        handler = JsonLines(stream)
        logger = _logger(handler)
        started = time.monotonic()
        for number in range(11_000):
            logger.info("x" * 100, extra={"fields": {"number": number}})
        handler.close()
        assert time.monotonic() - started < 5
        thread = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(reading, 1 << 20), b"")])
        thread.start()
        _join(handler)
    thread.join(5)
    os.close(reading)


def test_a_reader_that_left_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w", encoding="utf-8")
    handler = JsonLines(stream)
    _logger(handler).info("nobody reads this")
    handler.close()
    _join(handler)
    with suppress(BrokenPipeError):
        stream.close()
