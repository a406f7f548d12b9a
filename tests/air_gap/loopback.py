"""Raise the loopback device of a new network namespace, and become the command that is given.

Of Python's standard library only: it is run by the Python of the other side.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1


def raise_loopback() -> None:
    """Raise the device ``lo`` of this process's namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stream:
        fcntl.ioctl(stream, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


if __name__ == "__main__":
    raise_loopback()
    os.execvp(sys.argv[1], sys.argv[1:])
