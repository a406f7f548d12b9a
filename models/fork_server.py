"""A fork server is a process that loads its data once and forks a worker for each connection.

A worker may crash, hang or be killed without harm to this process. Its connection ends, and a new worker is forked in
milliseconds; it shares the memory of the loaded data. Messages are four bytes of length and then MessagePack.

    this process               fork server                      worker
    ForkServer(COMMAND, setup) serve(load): load(setup), once
    .connect()  ─── socket ──▶ fork ──────────────────────────▶ handle(connection)
    connection.send(request)  ────────────────────────────────▶ connection.receive()
    connection.receive()  ◀──────────────────────────────────── connection.send(reply), as often as it needs
    .release(connection)  ────────────────────────────────────▶ receive() raises EOFError: the worker ends

The fork server and its workers are a process group, which is killed when the control socket closes. The socket closes
however this process ends, so a hanging worker does not stay behind.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

import msgspec

_LENGTH = struct.Struct(">I")


class Connection:
    """One side of a connection between this process and a worker; used by one thread at a time."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._stream = connected.makefile("rb")

    def send(self, message: object) -> None:
        """Send a message that msgspec can encode; raises ``EOFError`` if the other side has ended."""
        data = msgspec.msgpack.encode(message)
        try:
            self._socket.sendall(_LENGTH.pack(len(data)) + data)
        except OSError:
            raise EOFError from None

    def receive(self) -> bytes:
        """Return the next encoded message; raises ``EOFError`` if the other side has ended."""
        try:
            (length,) = _LENGTH.unpack(self._stream.read(_LENGTH.size))
            data = self._stream.read(length)
        except (OSError, struct.error):  # struct.error: the stream ended within the length
            raise EOFError from None
        if len(data) < length:
            raise EOFError
        return data

    def shut_down(self) -> None:
        """End the connection on both sides; a thread that waits in :meth:`receive` gets ``EOFError``."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close this side; the worker on the other side ends."""
        self._stream.close()
        self._socket.close()


class ForkServer:
    """The fork server as this process sees it; threads may share it."""

    def __init__(self, command: Sequence[str], setup: msgspec.Struct) -> None:
        """Prepare to run the Python ``command``, whose process calls :func:`serve`; :meth:`start` starts it.

        :func:`serve` reads the two arguments of the process, and passes ``setup`` to its ``load`` function.
        """
        self._command = [*command]
        self._setup = msgspec.json.encode(setup).decode()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._errors: IO[bytes] | None = None
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Start the process if it is not running, that is, the first time and after it has ended."""
        with self._lock:
            if self._closed or (self._process is not None and not self.has_ended()):
                return
            self._end_process()
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
            self._control, other = socket.socketpair()
            with other:
                self._process = subprocess.Popen(  # noqa: S603  (our own module)
                    [*self._command, str(other.fileno()), self._setup],
                    pass_fds=[other.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._errors,
                    process_group=0,
                )

    def connect(self) -> Connection:
        """Return a connection to a new worker; raises ``EOFError`` if the process is not running."""
        with self._lock:
            if self._closed or self._control is None:
                raise EOFError
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(self._control, [b"f"], [theirs.fileno()])
                except OSError:
                    ours.close()
                    raise EOFError from None
            connection = Connection(ours)
            self._connections.add(connection)
            return connection

    def release(self, connection: Connection) -> None:
        """Close a connection; its worker ends."""
        self._connections.discard(connection)
        connection.close()

    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process is None or self._exit_status(self._process) is not None

    def failure(self) -> tuple[int | None, str]:
        """Return the process's exit status, or None if it still runs, and the last line that it wrote to stderr."""
        if self._process is None or self._errors is None:
            return None, ""
        status = self._exit_status(self._process, 0.0 if self._closed else 1.0)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return status, lines[-1] if lines else ""

    def system_error(self) -> OSError | None:
        """Return the operating system's error that kept the process from loading; None for any other reason."""
        status, last = self.failure()
        if status != os.EX_IOERR:
            return None
        code, _, path = last.partition(" ")
        return OSError(int(code), os.strerror(int(code)), path or None)

    def interrupt(self) -> None:
        """End every connection and refuse new ones; threads that wait for a worker get ``EOFError``."""
        with self._lock:
            self._closed = True
            for connection in list(self._connections):
                connection.shut_down()

    def close(self) -> None:
        """End the process and its workers; if other threads have connections, call :meth:`interrupt` first."""
        self.interrupt()
        for connection in list(self._connections):
            self.release(connection)
        self._end_process()

    @staticmethod
    def _exit_status(process: subprocess.Popen[bytes], seconds: float = 0.0) -> int | None:
        """Return the exit status of ``process``, or None if it still runs after these seconds.

        A process that has ended stays a zombie until :meth:`_end_process`. Its workers may still run, and as long as it
        is a zombie, the number of their process group cannot be given to another group.
        """
        deadline = time.monotonic() + seconds
        while process.returncode is None:
            try:
                ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # another thread has just waited for it
                return process.wait()
            if ended is not None:
                return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.01)
        return process.returncode

    def _end_process(self) -> None:
        if self._process is not None:
            if self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for held in (self._control, self._errors):
            if held is not None:
                held.close()


def serve(load: Callable[[bytes], Callable[[Connection], None]]) -> None:
    """Run a fork server: load, then fork a worker for every connection, until the process that started this one ends.

    The process's arguments are the number of the control socket and the setup, as :class:`ForkServer` gives them.
    ``load`` is called once with the setup as JSON, and returns the function that a worker calls with its connection.
    The worker ends when that function returns or raises ``EOFError``.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal is for the process that started this one
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: nobody waits for the workers
    try:
        handle = load(sys.argv[2].encode())
    except OSError as error:
        if error.errno is None:
            raise
        print(error.errno, error.filename or "", file=sys.stderr)  # noqa: T201  (ForkServer.system_error reads it)
        sys.exit(os.EX_IOERR)
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            os.killpg(0, signal.SIGKILL)  # this process and its workers
        with warnings.catch_warnings():
            # Forking beside other threads is deprecated. Here the libraries' threads are idle, and workers use none.
            warnings.simplefilter("ignore", DeprecationWarning)
            forked = os.fork()
        if not forked:
            control.close()
            with suppress(EOFError):
                handle(Connection(socket.socket(fileno=descriptors[0])))
            os._exit(0)
        os.close(descriptors[0])
