"""The lines of a small text file that a person wrote: topics, judgements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.lines import LONGEST_LINE, read_lines


def read_text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that is not blank; raises :class:`CorpusError` for other bytes."""
    for line in read_lines(path):
        if line.data is None:
            raise CorpusError(f"{path} line {line.number} is longer than {LONGEST_LINE} bytes: this is no such file.")
        try:
            text = line.data.decode("utf-8")
        except UnicodeDecodeError:
            raise CorpusError(f"{path} line {line.number} is not UTF-8: convert the file to UTF-8.") from None
        if text.strip():
            yield line.number, text
