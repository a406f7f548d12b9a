"""Files of judgements in a results folder: one line of JSON for each judgement.

A judge that was stopped may leave an incomplete last line. Readers ignore it, since a judge may be writing it now.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from shrag.evaluation.errors import ResultsMismatch
from shrag.messages.text import Text

_Judgement = TypeVar("_Judgement")


def read_judgement_file(path: Path, kind: type[_Judgement], judged: str) -> Iterator[_Judgement]:
    """Yield the judgements in ``path``, without an incomplete last line.

    Args:
        path: The file. It may be missing: there are no judgements then.
        kind: The type of a line.
        judged: What was judged, as the error message calls it, such as "answers".

    Raises:
        ResultsMismatch: A line is not of the type ``kind``.
    """
    if not path.exists():
        return
    *complete, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(complete, start=1):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ResultsMismatch(
                Text(
                    "{path} line {number} is not a judgement ({error}): delete the line, or the file to have "
                    "all {judged} judged again.",
                    path=path,
                    number=number,
                    error=error,
                    judged=judged,
                )
            ) from None


def append_to_judgement_file(path: Path) -> BinaryIO:
    """Open ``path`` to append lines, after cutting an incomplete last line off the file.

    The caller holds the lock of the results folder: another process could be writing that line.
    """
    stream = path.open("a+b")
    stream.seek(0)
    stream.truncate(stream.read().rfind(b"\n") + 1)
    return stream
