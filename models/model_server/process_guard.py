"""Run one command that must not outlive its parent; a script: ``process_guard.py GRACE FOLDER COMMAND…``.

Its standard input is a pipe that the asker holds open: when the asker ends, in whatever way, the system closes it, and
the command is told to stop and, ``GRACE`` seconds later, killed with everything it started. ``FOLDER``, which the asker
would have removed, is removed where it no longer can. ``PR_SET_PDEATHSIG`` would not do: it goes off when a thread
ends, spares the command's children, and is Linux's alone. Imports only the standard library, since it is run by path,
without the project.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from types import FrameType


def main(grace: float, folder: str, command: Sequence[str]) -> int:
    """Run ``command`` in a session of its own; return its exit status, 128 + N where signal N ended it."""
    parent = os.getppid()
    wake_read, wake_write = os.pipe()

    def on_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        os.write(wake_write, b"s")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        # In its own session: a Ctrl-C at the terminal reaches the asker alone, who stops the command in order.
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        return 127

    def wait() -> None:
        child.wait()
        os.write(wake_write, b"e")

    threading.Thread(target=wait, daemon=True).start()
    select.select([sys.stdin.fileno(), wake_read], [], [])
    status = _end(child, grace)
    if os.getppid() != parent:
        shutil.rmtree(folder, ignore_errors=True)
    return status


def _end(child: subprocess.Popen[bytes], grace: float) -> int:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace)
    # What is left of its group: children it did not take down, or the whole where it did not listen.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    status = child.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2], sys.argv[3:]))
