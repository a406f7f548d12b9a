"""Stands in for vLLM as a process: takes its flags, answers on its socket, and dies as it is told to.

    python fake_vllm.py FOLDER [crash | once | stubborn] --model PATH --served-model-name NAME --uds SOCKET …

With ``once`` it crashes at every start but the first. Writes its arguments, environment and process ids into FOLDER.
``FOLDER/sick`` makes its health checks fail.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fake_endpoint import Endpoint, Handler, UnixServer, answers  # type: ignore[import-not-found]


class Sick(Handler):  # type: ignore[misc]
    folder: Path

    def do_GET(self) -> None:  # noqa: N802  (the name that http.server calls)
        if self.path == "/health" and (self.folder / "sick").exists():
            self.send(500, b"")
        else:
            super().do_GET()


def main() -> None:
    folder = Path(sys.argv[1])
    mode = sys.argv[2] if not sys.argv[2].startswith("--") else ""
    starts = len(list(folder.glob("start-*")))
    (folder / f"start-{starts}").write_text(json.dumps({"arguments": sys.argv, "environment": dict(os.environ)}))
    if mode == "crash" or (mode == "once" and starts):
        print("INFO loading", flush=True)
        print("ValueError: the KV cache does not fit", flush=True)
        print("INFO bye", flush=True)
        sys.exit(3)
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    flags = dict(zip(sys.argv, sys.argv[1:], strict=False))
    server = UnixServer(flags["--uds"], Sick)
    Sick.folder = folder
    server.endpoint = Endpoint(answers("from the subprocess"), models=[flags["--served-model-name"]])
    (folder / "pids.part").write_text(f"{os.getpid()} {worker.pid}")
    (folder / "pids.part").replace(folder / "pids")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Event().wait()


main()
