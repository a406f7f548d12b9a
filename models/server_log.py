"""The log of a model server: kept, rotated when a server is started, read for the reason when one dies."""

from __future__ import annotations

from pathlib import Path

from shrag.models.endpoint_refusals import shown

_KEPT = 5
_TAIL = 64 * 1024


def rotate(log: Path) -> None:
    """Make room for a new log: ``vllm.log`` becomes ``vllm.log.1``, and so on up to ``.5``, whose elder goes."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in range(_KEPT - 1, -1, -1):
        older = log.with_name(f"{log.name}.{number}") if number else log
        if older.is_file():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))


def last_words(log: Path, since: int) -> str:
    """Return the last line after byte ``since`` that tells of an error, else the last line, fit for one line."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    spoken = [line.strip() for line in lines if line.strip()]
    telling = [line for line in spoken if "error" in line.lower() or "cannot" in line.lower()]
    return shown((telling or spoken or [""])[-1])
