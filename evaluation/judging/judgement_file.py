"""Read a file of a results folder to which a judge's judgements are appended, one JSON object a line."""

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
    """Yield the judgements of ``path`` after truncating an incomplete last line; none where there is no file.

    Args:
        path: The file.
        kind: The type of a line.
        judged: What has been judged, as the error calls it: "answers".

    Raises:
        ResultsMismatch: A line is not of that type.
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
