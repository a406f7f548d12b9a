"""Messages of the command line on stderr: printed if somebody reads them, dropped without waiting if not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from shrag.cli.output import echo_or_drop


@contextmanager
def _piped() -> Iterator[tuple[int, TextIO]]:
    """Make stderr a pipe; give its end to read from, and stderr. A fixture would come before pytest's own stderr."""
    read_end, write_end = os.pipe()
    stream, before = os.fdopen(write_end, "w"), sys.stderr
    sys.stderr = stream
    try:
        yield read_end, stream
    finally:
        sys.stderr = before
        with suppress(OSError):  # text that could not be written
            stream.close()
        with suppress(OSError):
            os.close(read_end)


def test_a_message_is_printed_where_somebody_reads() -> None:
    with _piped() as (reader, _):
        echo_or_drop("Worker 1 ended.")
        assert os.read(reader, 100) == b"Worker 1 ended.\n"


def test_a_message_is_dropped_where_the_reader_has_gone() -> None:
    with _piped() as (reader, _):
        os.close(reader)
        echo_or_drop("Worker 1 ended.")


def test_a_message_is_dropped_where_stderr_is_closed() -> None:
    with _piped() as (_, stderr):
        stderr.close()
        echo_or_drop("Worker 1 ended.")


def test_a_message_is_dropped_at_once_where_the_reader_is_too_slow() -> None:
    with _piped() as (reader, stderr):
        os.set_blocking(stderr.fileno(), False)
        with suppress(BlockingIOError):
            while os.write(stderr.fileno(), b"x" * 512):
                pass
        os.set_blocking(stderr.fileno(), True)
        echo_or_drop("Worker 1 ended.")  # would wait for ever
        assert b"Worker" not in os.read(reader, 1 << 20)
