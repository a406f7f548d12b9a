"""Request lines with letters that are not ASCII, as ``curl "http://HOST/v1/search?q=그래핀"`` sends them.

RFC 9112 asks clients to escape such letters, and the HTTP parser refuses a line in which they are not escaped. So they
are escaped here before the parser reads them. Only bytes from 0x80 are changed, so the line keeps its meaning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NOT_ASCII = re.compile(rb"[\x80-\xff]")


class RequestBytes(NamedTuple):
    """Bytes for the parser, and whether the request line goes on in the bytes that come next."""

    data: bytes
    line_goes_on: bool


def escape_request_line(data: bytes) -> RequestBytes:
    """Percent-encode the bytes from 0x80 in ``data``, up to the end of its first line.

    Args:
        data: Received bytes that begin within a request line. The bytes after the line stay as they are.
    """
    end = data.find(b"\n")
    line = data if end < 0 else data[:end]
    if not line.isascii():
        data = _NOT_ASCII.sub(lambda found: b"%%%02X" % ord(found[0]), line) + data[len(line) :]
    return RequestBytes(data, end < 0)
