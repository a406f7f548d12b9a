"""Lines that count what a corpus has: its records, the lines of its sources by outcome, changes and deletions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shrag.cli.output import echo
from shrag.cli.stages import stage_text
from shrag.messages.text import Text, joined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shrag.corpora.records import RecordChanges
    from shrag.corpora.store.manifest import CorpusManifest, SourceAccount
    from shrag.corpora.store.versions import Deletion


def print_counts(manifest: CorpusManifest) -> None:
    """Print the records of a corpus, and the lines of all its sources by outcome."""
    echo(Text("corpus {name}: {summary}", name=manifest.name, summary=summary(manifest)))
    print_lines(manifest.sources, "  ")
    if manifest.linked:
        echo(
            Text(
                "  {linked:,} records are duplicates of an earlier record of the same paper, and linked to it",
                linked=manifest.linked,
            )
        )


def summary(manifest: CorpusManifest) -> Text:
    """Return how many records a corpus has, by language, and how many of them may support an answer."""
    languages = (
        Text("{count:,} {language}", count=count, language=language) for language, count in manifest.languages.items()
    )
    return Text(
        "{records:,} records ({languages}), {complete:,} complete",
        records=manifest.records,
        languages=joined(languages, ", "),
        complete=manifest.complete,
    )


def print_lines(accounts: Sequence[SourceAccount], indent: str) -> None:
    """Print the lines of sources by outcome, the repairs of their records, and how many years could not be read."""
    from shrag.corpora.text.repairs import UNREAD_YEARS

    outcomes = [
        Text("{count:,} records", count=sum(account.records for account in accounts)),
        Text("{count:,} rejected", count=sum(account.rejected for account in accounts)),
        Text("{count:,} duplicates", count=sum(account.duplicates for account in accounts)),
    ]
    if superseded := sum(account.superseded for account in accounts):
        outcomes.append(Text("{count:,} superseded", count=superseded))
    outcomes.append(Text("{count:,} blank", count=sum(account.blank for account in accounts)))
    read = sum(account.lines for account in accounts)
    echo(Text("{indent}{count:,} lines read = {outcomes}", indent=indent, count=read, outcomes=joined(outcomes, " + ")))
    repairs: Counter[str] = Counter()
    for account in accounts:
        repairs.update(account.repairs)
    unread = repairs.pop(UNREAD_YEARS, 0)
    if repairs:
        kinds = [Text("{count:,} {kind}", count=count, kind=stage_text(kind)) for kind, count in repairs.items()]
        echo(Text("{indent}repaired: {kinds}", indent=indent, kinds=joined(kinds, ", ")))
    if unread:
        echo(Text("{indent}values that are not years, kept as other fields: {count:,}", indent=indent, count=unread))


def print_rejects(manifest: CorpusManifest, folder: Path) -> None:
    """Print the file in the ``folder`` of a corpus that has its rejected and superseded lines, if there are any."""
    kinds = []
    if any(account.rejected for account in manifest.sources):
        kinds.append(Text("rejects"))
    if any(account.superseded for account in manifest.sources):
        kinds.append(Text("superseded records"))
    if kinds:
        echo(Text("  {kinds}: {path}", kinds=joined(kinds, ", "), path=folder / manifest.rejects_file))


def print_changes(changes: RecordChanges, *, stored: bool = True) -> None:
    """Print how many records were added, changed, deleted and left unchanged, and whether anything was stored."""
    line = Text("  {changes}", changes=str(changes))
    echo(line if stored else Text("{line}: nothing to store", line=line))


def deleted_text(deletion: Deletion) -> Text:
    """Return how many records are deleted, with the first of their titles."""
    records, titles = deletion
    if records is None:
        return Text("all its records (they cannot be read and counted)")
    shown = "; ".join(titles) or Text("no title can be read")
    if titles and records > len(titles):
        shown = Text("{titles} and {count:,} more", titles=shown, count=records - len(titles))
    if records == 1:
        return Text("1 record ({titles})", titles=shown)
    return Text("{count:,} records ({titles})", count=records, titles=shown)
