"""Record, Origin, Reject, Topic and Qrel: the plain values that all packages share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Language = Literal["ko", "en", "und"]


@dataclass(frozen=True, slots=True)
class Record:
    """One document as it is searched, shown and cited.

    ``title`` and ``text`` are clean (:func:`shrag.corpora.text.cleaning.clean_text`); either may be empty, never both.
    ``text`` is the abstract of a scholarly record, the passage of a MIRACL one, a chunk of a paper; ``keywords`` are
    the authors'. ``complete`` says whether the record has all that its format asks of evidence: only complete records
    may support an answer. ``duplicate_of`` is the docid of the record that is the same paper under another number, the
    first of them in the corpus; empty where there is none.
    """

    docid: str
    title: str
    text: str
    language: Language
    complete: bool
    authors: tuple[str, ...] = ()
    journal: str = ""
    publisher: str = ""
    year: int | None = None
    link: str = ""
    keywords: tuple[str, ...] = ()
    duplicate_of: str = ""


class Origin(NamedTuple):
    """Where a record was read: the index of its source in the manifest, the line from 1, the byte offset."""

    source: int
    line: int
    offset: int


class Reject(NamedTuple):
    """A line that did not become a record. ``offset`` counts bytes of the decompressed file, ``line`` counts from 1."""

    file: str
    line: int
    offset: int
    reason: str


class Topic(NamedTuple):
    """One question of an evaluation."""

    qid: str
    text: str


class Qrel(NamedTuple):
    """One judgement: ``relevance`` is 0 for a document that does not answer, larger for one that does."""

    qid: str
    docid: str
    relevance: int
