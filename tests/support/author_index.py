"""An index of records that have authors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.serving.engine import Engine, open_engine


class AuthoredRecord(NamedTuple):
    """The title of a record, which is its text too, its authors, separated by semicolons, and its year."""

    title: str
    authors: str
    year: str = ""


@contextmanager
def open_author_index(home: Path, records: Sequence[AuthoredRecord]) -> Iterator[Engine]:
    """Open an index of the records, whose docids are r1, r2 and so on."""
    source = home / "records.jsonl"
    with source.open("w", encoding="utf-8") as stream:
        for number, each in enumerate(records, 1):
            record = {
                "CN": f"r{number}",
                "title": each.title,
                "abstract": f"{each.title}. {each.title} {number}.",
                "author": each.authors,
                "year": each.year,
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    add_corpus(home / "corpora", "authors", "scienceon", [source])
    build_index(home / "corpora", home / "indexes", "authors")
    with open_engine(home / "indexes", "authors") as engine:
        yield engine
