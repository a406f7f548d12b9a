"""Records as a language model is shown them: numbered, fenced, and unable to leave their fence."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.corpora.records import Record

LONGEST_TEXT = 3_000
"""Characters of a record's text that are shown; the whole of all but the longest abstracts."""

# The fence's own signs stand in no record that is shown, so that none can pretend to end, or to be another.
_HARMLESS = str.maketrans({"⟦": "[", "⟧": "]"})
_END = {"ko": "끝", "en": "end"}
_BEGIN = {"ko": "기록", "en": "record"}


def fence_records(records: Sequence[Record], language: str) -> str:
    """Return the records, numbered from 1, each between ``⟦record n⟧`` and ``⟦end n⟧``."""
    return "\n\n".join(
        f"⟦{_BEGIN[language]} {number}⟧\n{_shown(record)}\n⟦{_END[language]} {number}⟧"
        for number, record in enumerate(records, 1)
    )


def unfenced(text: str) -> str:
    """Return ``text`` without the signs of a fence, for what stands beside records and is none."""
    return text.translate(_HARMLESS)


def _shown(record: Record) -> str:
    about = ", ".join(part for part in (record.journal, str(record.year or "")) if part)
    text = record.text if len(record.text) <= LONGEST_TEXT else record.text[:LONGEST_TEXT].rsplit(" ", 1)[0] + " …"
    lines = [record.title + (f" ({about})" if about else ""), text]
    return "\n".join(lines).translate(_HARMLESS).strip()
