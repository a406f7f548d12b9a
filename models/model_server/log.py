"""Log file of the model server: rotation, and the last error in it."""

from __future__ import annotations

from pathlib import Path

from shrag.models.chat.endpoint_probe import to_one_line

_OLD_LOGS = 5
_TAIL_BYTES = 64 * 1024


def rotate_log(log: Path) -> None:
    """Rename ``vllm.log`` to ``vllm.log.1``, ``.1`` to ``.2`` and so on; ``.5`` is overwritten."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in range(_OLD_LOGS - 1, -1, -1):
        older = log.with_name(f"{log.name}.{number}") if number else log
        if older.is_file():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))


def last_error_line(log: Path, since: int) -> str:
    """Return the last line after byte ``since`` that mentions an error, else the last line; empty without a log."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    written = [line.strip() for line in lines if line.strip()]
    errors = [line for line in written if "error" in line.lower() or "cannot" in line.lower()]
    return to_one_line((errors or written or [""])[-1])
