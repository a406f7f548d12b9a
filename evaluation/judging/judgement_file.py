"""Read a file of judgements in a results folder.

A judge appends one line of JSON for each judgement, so the last line may be incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from shrag.corpora.formats.topics import read_text_lines
from shrag.evaluation.errors import ResultsMismatch
from shrag.messages.text import Text

_Judgement = TypeVar("_Judgement")


def read_judgement_file(path: Path, kind: type[_Judgement], judged: str) -> Iterator[_Judgement]:
    """Yield the judgements in ``path``, after cutting an incomplete last line off the file.

    Args:
        path: The file. It may be missing: there are no judgements then.
        kind: The type of a line.
        judged: What was judged, as the error message calls it, such as "answers".

    Raises:
        ResultsMismatch: A line is not of the type ``kind``.
    """
    if not path.exists():
        return
    data = path.read_bytes()
    complete = data[: data.rfind(b"\n") + 1]
    if len(complete) < len(data):
        path.write_bytes(complete)
    for number, text in read_text_lines(path):
        try:
            yield msgspec.json.decode(text, type=kind)
        except msgspec.MsgspecError as error:
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
