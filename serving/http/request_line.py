"""Request lines with letters that are not ASCII, as ``curl "http://HOST/v1/search?q=그래핀"`` sends them.

RFC 9112 asks clients to escape such letters, and the parser refuses a line where they did not. The bytes are escaped
here before it reads them: nothing but bytes from 0x80 is changed, so a line means the same with and without.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NOT_ASCII = re.compile(rb"[\x80-\xff]")


class RequestBytes(NamedTuple):
    """Bytes for the parser, and whether the request line goes on in the next ones."""

    data: bytes
    line_goes_on: bool


def escape_request_line(data: bytes) -> RequestBytes:
    """Percent-encode the bytes from 0x80 in ``data`` up to its first line's end.

    Args:
        data: Received bytes that begin within a request line; what follows the line stays as it is.
    """
    end = data.find(b"\n")
    line = data if end < 0 else data[:end]
    if not line.isascii():
        data = _NOT_ASCII.sub(lambda found: b"%%%02X" % ord(found[0]), line) + data[len(line) :]
    return RequestBytes(data, end < 0)
