"""``shrag corpus add`` and ``replace``: read files, print the format of each, and store their records."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shrag.cli.commands.corpus.counts import deleted_text, print_changes, print_counts, print_rejects
from shrag.cli.options.names import corpus_argument
from shrag.cli.output import ask_before_deleting, echo, progress, yes_option
from shrag.cli.settings import Home
from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.columns import FIELDS as COLUMN_FIELDS
from shrag.corpora.formats.columns import parse_columns
from shrag.corpora.formats.registry import FORMATS
from shrag.messages.text import Text, joined, message_of

if TYPE_CHECKING:
    from shrag.corpora.formats.detection import FormatGuess
    from shrag.corpora.ingest.reading import OnDuplicate
    from shrag.corpora.ingest.sources import FilePreview
    from shrag.corpora.store.versions import Deletion


_Command = TypeVar("_Command", bound=Callable[..., Any])
_SHOWN_CHARACTERS = 200
_SHOWN_REASONS = 10
_ON_DUPLICATE = ("error", "first", "newest")
_MOST_SECONDS = 7 * 24 * 60 * 60
_MOST_MEMORY = 2**20  # 1 TiB; the system's limits and timers take no numbers of any size


def _reading_options(command: _Command) -> _Command:
    """Add the options for reading files to a command."""
    options = (
        click.option(
            "--format",
            "format_name",
            type=click.Choice(list(FORMATS)),
            help="The format of the files.  [default: found for each file, and said]",
        ),
        click.option(
            "--column",
            "columns",
            multiple=True,
            metavar="FIELD=NAME",
            help="Which column of a table, or key (a.b) of a JSON object, is FIELD: "
            f"{', '.join(COLUMN_FIELDS)}. Repeatable. Others are found by their names.",
        ),
        click.option(
            "--max-rejects",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Maximum number of lines that may be rejected.",
        ),
        click.option(
            "--on-duplicate",
            type=click.Choice(_ON_DUPLICATE),
            default="error",
            show_default=True,
            help="Which record to keep if the files have different contents for one identifier. With first a stored "
            "record is kept too; otherwise it is replaced.",
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="Show the first records as they would be stored, and what is wrong; store nothing.",
        ),
        click.option(
            "--repair/--no-repair",
            default=True,
            show_default=True,
            help="Repair fused words, wrong blanks, hyphenation, labels and numbers of references, or store the text "
            "as it is.",
        ),
        click.option(
            "--max-seconds",
            type=click.IntRange(1, _MOST_SECONDS),
            default=120,
            show_default=True,
            help="Maximum processor seconds for reading a file, plus 10 for each MiB; a file that needs more is "
            "rejected.",
        ),
        click.option(
            "--max-memory",
            type=click.IntRange(64, _MOST_MEMORY),
            default=2048,
            show_default=True,
            help="Maximum memory in MiB for reading a file; a file that needs more is rejected.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@corpus_argument()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_reading_options
@click.pass_obj
def add(home: Home, /, name: str, paths: tuple[Path, ...], **options: Any) -> None:  # noqa: ANN401 (click's)
    """Read, clean and validate PATHS (files or folders), and add them to the corpus NAME.

    Nothing stored is deleted; a record replaces the stored one with its identifier. docs/en/reference/formats.md
    describes the formats; any file may be gzip. `shrag corpus undo NAME` takes it back.

    Example: shrag corpus add lib catalogue.xlsx --column id=관리번호
    """
    _add(home, name, paths, **options)


@click.command()
@corpus_argument()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_reading_options
@yes_option
@click.pass_obj
def replace(home: Home, /, name: str, paths: tuple[Path, ...], yes: bool, **options: Any) -> None:  # noqa: ANN401
    """Make PATHS (files or folders) the whole corpus NAME. What is no longer in them is deleted after a confirmation.

    `shrag corpus undo NAME` takes it back.

    Example: shrag corpus replace lib catalogue.xlsx
    """

    def confirm(deletion: Deletion) -> None:
        ask_before_deleting(
            Text("This deletes {deleted} of corpus {name}", deleted=deleted_text(deletion), name=name), yes=yes
        )

    may_ask = not yes and sys.stdin.isatty()
    _add(home, name, paths, replace=True, confirm=confirm, may_ask=may_ask, **options)


def _add(
    home: Home,
    name: str,
    paths: tuple[Path, ...],
    *,
    format_name: str | None,
    columns: tuple[str, ...],
    max_rejects: int,
    on_duplicate: OnDuplicate,
    dry_run: bool,
    repair: bool,
    max_seconds: int,
    max_memory: int,
    replace: bool = False,
    confirm: Callable[[Deletion], None] = lambda deletion: None,
    may_ask: bool = False,
) -> None:
    from shrag.corpora.ingest.add import add_corpus
    from shrag.corpora.ingest.parser import ParserLimits
    from shrag.corpora.ingest.sources import preview_sources

    try:
        named = parse_columns(columns)
    except CorpusError as error:
        raise click.UsageError(message_of(error)) from None
    limits = ParserLimits(seconds=max_seconds, memory=max_memory * 2**20)
    if dry_run:
        _print_previews(
            preview_sources(format_name, paths, columns=named, on_duplicate=on_duplicate, repair=repair, limits=limits)
        )
        return
    guesses: Counter[FormatGuess] = Counter()

    def announce(path: Path, guess: FormatGuess) -> None:
        guesses[guess] += 1
        if guesses[guess] == 1:
            _print_guess(path, guess)

    # A bar would be drawn over the question.
    shown = nullcontext(lambda stage, done: None) if may_ask else progress()
    with shown as report:
        manifest, changes, stored = add_corpus(
            home.corpora,
            name,
            format_name,
            paths,
            columns=named,
            max_rejects=max_rejects,
            on_duplicate=on_duplicate,
            replace=replace,
            confirm=confirm,
            repair=repair,
            limits=limits,
            report=report,
            announce=announce,
        )
    if (repeated := guesses.total() - len(guesses)) == 1:
        echo(Text("1 more file gives the same"), err=True)
    elif repeated:
        echo(Text("{count:,} more files give the same", count=repeated), err=True)
    print_counts(manifest)
    print_changes(changes, stored=stored)
    print_rejects(manifest, home.corpora / name)
    echo(Text("next: shrag index {name}", name=name), err=True)


def _print_guess(path: Path, guess: FormatGuess) -> None:
    if guess.why:
        echo(Text("{path}: {format}, since it {why}", path=path, format=guess.name, why=guess.why), err=True)
    else:
        echo(Text("{path}: {format}", path=path, format=guess.name), err=True)
    if guess.fields:
        echo(Text("  {fields}", fields=joined(guess.fields, ", ")), err=True)
    if guess.others:
        echo(Text("  stored but not searched: {others}", others=", ".join(guess.others)), err=True)
    if guess.unread:
        echo(Text("  sheets that are not read: {sheets}", sheets=", ".join(guess.unread)), err=True)


def _print_previews(previews: Iterable[FilePreview]) -> None:
    from shrag.corpora.ingest.sources import CHECKED_LINES

    complete = True
    for preview in previews:
        _print_guess(preview.path, preview.guess)
        _print_preview(preview)
        complete = complete and preview.complete
    if not complete:
        echo(Text("Only the first {lines:,} lines were checked.", lines=CHECKED_LINES), err=True)
    echo(Text("Nothing was stored: this was a dry run."), err=True)


def _print_preview(preview: FilePreview) -> None:
    for record in preview.records:
        echo(f"{record.docid}  {record.title}")
        about = (
            *record.authors, record.journal, record.publisher, str(record.year or ""), record.volume, record.issue,
            record.pages, record.type, record.doi, record.link, *record.keywords,
        )  # fmt: skip
        echo(f"  {' · '.join((record.language, *filter(None, about)))}")
        for name, value in record.other:
            echo(f"  {name}: {value[:_SHOWN_CHARACTERS]}")
        if record.text:
            echo(f"  {record.text[:_SHOWN_CHARACTERS]}" + ("…" if len(record.text) > _SHOWN_CHARACTERS else ""))
    rejects = Counter(preview.rejects)
    for reason in list(rejects)[:_SHOWN_REASONS]:
        echo(Text("  rejected ({lines:,} lines): {reason}", lines=rejects.pop(reason), reason=reason))
    if rejects:
        echo(Text("  rejected for other reasons: {lines:,} lines", lines=rejects.total()))
