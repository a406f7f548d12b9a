"""The phases that turn a build's notes into files of the index: the records left out, and the word book."""

from __future__ import annotations

import msgspec

from shrag.indexing.build_notes import BuildNotes
from shrag.indexing.errors import TooManyRejected
from shrag.indexing.half_built import HalfBuilt
from shrag.indexing.record_phase import NOTES
from shrag.indexing.wordbook import FILE as WORDBOOK
from shrag.indexing.wordbook import write_wordbook

REJECTS = "rejects.jsonl"
"""The records of the corpus that are not in the index, one JSON object on a line: docid and reason."""

_NAMED = 3


def write_rejects(build: HalfBuilt, most: int) -> None:
    """Write the rejects; raise :class:`TooManyRejected` where there are more than ``most``."""
    with BuildNotes(build.stage / NOTES) as notes:
        rejects = notes.rejects()
    if len(rejects) > most:
        first = "; ".join(f"{reject.docid} ({reject.reason})" for reject in rejects[:_NAMED])
        raise TooManyRejected(
            f"{len(rejects):,} records cannot be analysed, {most:,} may: {first}"
            f"{' …' if len(rejects) > _NAMED else ''}. To publish the index without them, run again with "
            f"`--max-rejected {len(rejects)}`."
        )
    lines = (msgspec.json.encode({"docid": reject.docid, "reason": reject.reason}) for reject in rejects)
    (build.index / REJECTS).write_bytes(b"".join(line + b"\n" for line in lines))


def count_rejects(build: HalfBuilt) -> int:
    """Return how many records were left out."""
    return (build.index / REJECTS).read_bytes().count(b"\n")


def rejected_docids(build: HalfBuilt) -> frozenset[str]:
    """Return the identifiers of the records left out."""
    with (build.index / REJECTS).open("rb") as lines:
        return frozenset(msgspec.json.decode(line)["docid"] for line in lines)


def write_words(build: HalfBuilt) -> None:
    """Write the word book."""
    with BuildNotes(build.stage / NOTES) as notes:
        write_wordbook(build.index / WORDBOOK, notes.words())
