"""Record, Origin, Reject, Topic and Qrel: the value types that all packages share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from shrag.messages.text import Text

Language = Literal["ko", "en", "und"]


PAGE = "page"
"""The name of the further field (``other``) that holds the page of a passage in its file."""


@dataclass(frozen=True, slots=True)
class Record:
    """One document as it is searched, shown and cited.

    Attributes:
        docid: Its identifier, unique in the corpus.
        title: Its title, clean (:func:`shrag.corpora.text.cleaning.clean_text`); empty only if ``text`` is not.
        text: Its clean text: the abstract of a scholarly record, a passage of MIRACL, a chunk of a paper.
        complete: Whether it has all fields that its format requires of evidence; only then may it support an answer.
        year: The year of publication, None if unknown.
        doi: Its digital object identifier without an address in front: ``10.1/x``.
        type: Its kind in lower case, by CSL's names where they are known (``article-journal``, ``thesis``); else empty.
        other: Name and value of the source's further fields, as they came but on one line, the longest ones cut.
        duplicate_of: The docid of the corpus's first record of the same paper, empty if there is none.
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
    doi: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    type: str = ""
    other: tuple[tuple[str, str], ...] = ()
    duplicate_of: str = ""

    @property
    def page(self) -> str:
        """The page of the text in its file, as ``3`` or ``3-4``; empty if unknown."""
        return dict(self.other).get(PAGE, "")

    @property
    def paper(self) -> str:
        """The docid of the corpus's first record of the same paper; its own docid, unless it is a duplicate."""
        return self.duplicate_of or self.docid


class Origin(NamedTuple):
    """Where a record was read: the index of its source in the manifest, its line from 1, and its byte offset.

    ``element`` is the record's number in a JSON array, from 1, or 0. It is not stored, so it is 0 in a stored record.
    """

    source: int
    line: int
    offset: int
    element: int = 0


class Reject(NamedTuple):
    """A line that is not a record: its file, line from 1, byte offset in the decompressed file, and the reason."""

    file: str
    line: int
    offset: int
    reason: str


class RecordChanges(NamedTuple):
    """How many records of a corpus, or of an index, were added, changed, deleted and left as they were."""

    added: int
    changed: int
    deleted: int
    unchanged: int

    def __str__(self) -> str:
        """Return the four counts as a :class:`~shrag.messages.text.Text`, which ``str`` passes on unchanged."""
        return Text(
            "{added:,} added, {changed:,} changed, {deleted:,} deleted, {unchanged:,} unchanged", **self._asdict()
        )


class Topic(NamedTuple):
    """A question of a test collection."""

    qid: str
    text: str


class Qrel(NamedTuple):
    """A relevance judgment; ``relevance`` is 0 for a document that does not answer the question."""

    qid: str
    docid: str
    relevance: int
