"""A script that runs a command which must not outlive its parent: ``process_guard.py GRACE FOLDER COMMAND…``.

The parent holds the other end of the script's standard input. When the parent ends, for whatever reason, the pipe
closes. The command then gets SIGTERM, and after ``GRACE`` seconds it is killed with all its children. ``FOLDER``, a
temporary folder of the parent, is removed if the parent is gone. ``PR_SET_PDEATHSIG`` is no alternative, since it fires
when a thread ends, spares the command's children, and exists only on Linux. The script imports only the standard
library, since it is run by its path, outside the project's environment.
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
    """Run ``command`` in a new session; return its exit status, or 128 + N if signal N ended it."""
    parent = os.getppid()
    wake_read, wake_write = os.pipe()

    def on_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        os.write(wake_write, b"s")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        # In a new session, Ctrl-C at the terminal reaches only the parent, which stops the command in order.
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
    # Kill the rest of the process group: remaining children, or the whole group if it ignored SIGTERM.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    status = child.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2], sys.argv[3:]))
