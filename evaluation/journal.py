"""The questions of a part as they are answered, a JSON line each: a killed experiment asks none of them again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from shrag.evaluation.outcome import Asked


def read_journal(path: Path, qids: Sequence[str]) -> list[Asked]:
    """Return what was kept of the questions ``qids``, in their order; cut off what a kill left half-written.

    Lines that are no outcome, or of another question than stands at their place, and all behind them count for nothing.
    """
    kept: list[Asked] = []
    whole = 0
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return kept
    for qid, line in zip(qids, data.splitlines(keepends=True), strict=False):
        asked = _decode(line) if line.endswith(b"\n") else None
        if asked is None or asked.outcome.qid != qid:
            break
        kept.append(asked)
        whole += len(line)
    with path.open("r+b") as stream:
        stream.truncate(whole)
    return kept


def keep(path: Path, coming: Iterable[Asked]) -> Iterable[Asked]:
    """Yield what comes, each kept at the end of the journal before it is yielded."""
    with path.open("ab") as stream:
        for asked in coming:
            stream.write(msgspec.json.encode(asked) + b"\n")
            stream.flush()
            yield asked


def _decode(line: bytes) -> Asked | None:
    try:
        return msgspec.json.decode(line, type=Asked)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
