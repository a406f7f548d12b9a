"""Repair the faults of scraped abstracts: fused words, wrong blanks, labels, odd characters, title pages.

A wrong repair is worse than none, so text that is not certainly wrong stays. Formulas, addresses, names of programs and
scripts other than Latin and Hangul are not changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final, NamedTuple

from shrag.corpora.records import Record
from shrag.corpora.text.fused_words import join_hyphenated_words, split_fused_words
from shrag.corpora.text.private_characters import replace_private_characters
from shrag.corpora.text.reference_marks import drop_reference_marks
from shrag.corpora.text.section_labels import drop_labels
from shrag.corpora.text.sentence_blanks import insert_blanks
from shrag.corpora.text.stray_blanks import remove_stray_blanks
from shrag.corpora.text.title_pages import drop_title_page

REPAIR_KINDS: Final = (
    "fused words",
    "missing blanks",
    "stray blanks",
    "hyphenated words",
    "section labels",
    "reference marks",
    "title pages",
    "private characters",
)
"""The kinds of repairs, in the order in which they are shown."""

UNREAD_YEARS: Final = "unread years"
"""The name, among the counts of repairs, for years that could not be read; each is kept as a further field."""

# One repair may make another possible (".Results: We" → ". Results: We"). More than two rounds were never needed.
_ROUNDS = 4


class RepairedRecord(NamedTuple):
    """A record and the number of repairs made in it by kind; kinds without repairs are missing."""

    record: Record
    repairs: Counter[str]


def repair_record(record: Record) -> RepairedRecord:
    """Repair the title and the text of a record; labels, reference numbers and a title page are dropped from the text.

    >>> repaired = repair_record(Record("1", "Title", "Abstract This studyis new.We test.", "en", True))
    >>> repaired.record.text, dict(repaired.repairs)
    ('This study is new. We test.', {'fused words': 1, 'missing blanks': 1, 'section labels': 1})
    """
    repairs: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        before = repairs.total()
        context = f"{record.title} {record.text}"
        title = _repair_words(record.title, context, repairs)
        text = _repair_words(record.text, context, repairs)
        text, labels = drop_labels(text, title)
        text, marks = drop_reference_marks(text)
        text, pages = drop_title_page(text, title)
        repairs.update({"section labels": labels, "reference marks": marks, "title pages": pages})
        if repairs.total() == before:
            break
        record = replace(record, title=title, text=text)
    return RepairedRecord(record, +repairs)


def _repair_words(text: str, context: str, repairs: Counter[str]) -> str:
    text, private = replace_private_characters(text)
    text, stray = remove_stray_blanks(text, context)
    text, fused = split_fused_words(text, context)
    text, blanks = insert_blanks(text)
    text, hyphens = join_hyphenated_words(text, context)
    repairs.update(
        {
            "fused words": fused,
            "missing blanks": blanks,
            "stray blanks": stray,
            "hyphenated words": hyphens,
            "private characters": private,
        }
    )
    return text
