"""``shrag corpus``: add records to a corpus, replace, undo and remove; show, list, and print rejects."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shrag.cli.options.names import corpus_argument
from shrag.cli.output import ask_before_deleting, echo, json_option, print_json, progress, yes_option
from shrag.cli.settings import Home
from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.columns import FIELDS as COLUMN_FIELDS
from shrag.corpora.formats.columns import parse_columns
from shrag.corpora.formats.registry import FORMATS
from shrag.messages.text import Text, message_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shrag.corpora.formats.detection import FormatGuess
    from shrag.corpora.ingest.reading import OnDuplicate
    from shrag.corpora.ingest.sources import FilePreview
    from shrag.corpora.records import Reject
    from shrag.corpora.store.manifest import CorpusManifest, SourceAccount
    from shrag.corpora.store.versions import Deletion


_Command = TypeVar("_Command", bound=Callable[..., Any])
_SHOWN_CHARACTERS = 200
_ON_DUPLICATE = ("error", "first", "newest")


@click.group()
def command() -> None:
    """Add records to a corpus, replace, undo and remove; show what it has."""


def _reading_options(command: _Command) -> _Command:
    """Add the options of reading files to a command."""
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
            help="Most lines that may be rejected.",
        ),
        click.option(
            "--on-duplicate",
            type=click.Choice(_ON_DUPLICATE),
            default="error",
            show_default=True,
            help="Which record to keep if an identifier occurs with different contents in the files. first "
            "also keeps a stored record, which is else replaced.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the first records as they would be stored; store nothing."),
        click.option(
            "--repair/--no-repair",
            default=True,
            show_default=True,
            help="Repair fused words, wrong blanks, hyphenation and section labels, or store the text as it is.",
        ),
        click.option(
            "--max-seconds",
            type=click.IntRange(min=1),
            default=120,
            show_default=True,
            help="Most processor seconds for reading a file, and 10 more for each MiB; beyond them it is rejected.",
        ),
        click.option(
            "--max-memory",
            type=click.IntRange(min=64),
            default=2048,
            show_default=True,
            help="Most MiB of memory for reading a file; beyond them it is rejected.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@command.command()
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


@command.command()
@corpus_argument()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_reading_options
@yes_option
@click.pass_obj
def replace(home: Home, /, name: str, paths: tuple[Path, ...], yes: bool, **options: Any) -> None:  # noqa: ANN401
    """Make PATHS (files or folders) the whole corpus NAME; what is no longer in them is deleted, after a question.

    `shrag corpus undo NAME` takes it back.

    Example: shrag corpus replace lib catalogue.xlsx
    """

    def confirm(deletion: Deletion) -> None:
        ask_before_deleting(
            Text("This deletes {deleted} of corpus {name}", deleted=_deleted(deletion), name=name), yes=yes
        )

    may_ask = not yes and sys.stdin.isatty()
    _add(home, name, paths, replace=True, confirm=confirm, may_ask=may_ask, **options)


@command.command()
@corpus_argument()
@yes_option
@click.pass_obj
def remove(home: Home, name: str, yes: bool) -> None:
    """Delete the corpus NAME with its earlier version, after a question. An index built from it stays.

    Example: shrag corpus remove lib
    """
    from shrag.corpora.store.versions import remove_corpus, stored_size

    ask_before_deleting(
        Text("This deletes corpus {name}: {deleted}", name=name, deleted=_deleted(stored_size(home.corpora, name))),
        yes=yes,
    )
    remove_corpus(home.corpora, name)
    echo(Text("corpus {name}: removed", name=name))
    if (home.indexes / name).exists():
        echo(
            Text("Its index stays and can be searched; to delete it too: shrag index remove {name}", name=name),
            err=True,
        )


@command.command()
@corpus_argument()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def export(home: Home, name: str, file: Path) -> None:
    """Write the corpus NAME as one FILE, to be carried to another machine.

    Every record is checked. The same corpus gives the same bytes.

    Example: shrag corpus export sci sci-corpus.tar
    """
    from shrag.corpora.store.transfer import export_corpus

    header = export_corpus(home.corpora, name, file)
    echo(Text("corpus {name}: {file}, {bytes:,.1f} MiB", name=name, file=file, bytes=header.total_bytes / 2**20))
    echo(Text("next, on the other machine: shrag corpus import {name}", name=file.name), err=True)


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="The corpus's name here.  [default: its name where it was exported]")
@click.option("--replace", is_flag=True, help="Replace a corpus of the name that has other records.")
@click.pass_obj
def import_(home: Home, file: Path, name: str, replace: bool) -> None:
    """Store the corpus in FILE, which `shrag corpus export` wrote.

    Nothing is stored unless all of it is as it was exported. `shrag corpus undo NAME` takes a replacement back.

    Example: shrag corpus import sci-corpus.tar
    """
    from shrag.corpora.store.transfer import import_corpus

    manifest, stored = import_corpus(home.corpora, file, name, replace=replace)
    echo(f"corpus {manifest.name}: {manifest.records:,} records" + ("" if stored else ": nothing to store"))
    echo(Text("next: shrag index {name}", name=manifest.name), err=True)


@command.command()
@corpus_argument()
@click.pass_obj
def undo(home: Home, name: str) -> None:
    """Return the corpus NAME to the version before the last addition or replacement; once more takes that back.

    Example: shrag corpus undo lib
    """
    from shrag.corpora.store.versions import undo_change

    manifest, changes = undo_change(home.corpora, name)
    _print_counts(manifest)
    echo(f"  {changes}")
    echo(Text("next: shrag index {name}", name=name), err=True)


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
        for preview in preview_sources(format_name, paths, columns=named, repair=repair, limits=limits):
            _print_guess(preview.path, preview.guess)
            _print_preview(preview)
        echo(Text("Nothing was stored: this was a dry run."), err=True)
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
    if repeated := guesses.total() - len(guesses):
        echo(f"the same of {repeated:,} more files" if repeated > 1 else "the same of 1 more file", err=True)
    _print_counts(manifest)
    echo(f"  {changes}" + ("" if stored else ": nothing to store"))
    if any(account.rejected or account.superseded for account in manifest.sources):
        echo(Text("  rejects: {corpora}", corpora=home.corpora / name / manifest.rejects_file))
    echo(Text("next: shrag index {name}", name=name), err=True)


def _print_guess(path: Path, guess: FormatGuess) -> None:
    echo(f"{path}: {guess.name}" + (f", since it {guess.why}" if guess.why else ""), err=True)
    if guess.fields:
        echo(f"  {', '.join(guess.fields)}", err=True)
    if guess.others:
        echo(Text("  stored but not searched: {others}", others=", ".join(guess.others)), err=True)


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
    for reason in preview.rejects:
        echo(Text("  rejected: {reason}", reason=reason))


def _deleted(deletion: Deletion) -> str:
    records, titles = deletion
    if records is None:
        return "all its records (they cannot be read and counted)"
    more = f" and {records - len(titles):,} more" if records > len(titles) else ""
    return f"{records:,} record{'s' if records != 1 else ''} ({'; '.join(titles)}{more})"


@command.command()
@corpus_argument()
@click.option("--json", "as_json", is_flag=True, help="Print the corpus's manifest as one JSON object.")
@click.pass_obj
def show(home: Home, name: str, as_json: bool) -> None:
    """Show what the corpus NAME has, and count the lines of its sources by outcome.

    Example: shrag corpus show sci
    """
    from shrag.corpora.store.open_corpus import open_corpus

    manifest = open_corpus(home.corpora, name)[0]
    if as_json:
        print_json(manifest)
        return
    _print_counts(manifest)
    echo(
        Text(
            "  format {format}, made {created} by SHRAG {shrag_version}",
            format=manifest.format,
            created=manifest.created,
            shrag_version=manifest.shrag_version,
        )
    )
    echo(Text("  fingerprint {fingerprint}", fingerprint=manifest.fingerprint))
    for account in manifest.sources:
        echo(
            Text(
                "  {path}  {format}, {bytes:,} bytes, SHA-256 {sha256}",
                path=account.path,
                format=account.format,
                bytes=account.bytes,
                sha256=account.sha256,
            )
        )
        echo(f"    {_sum_of_lines([account])}")
        if account.repairs:
            echo(f"    {_sum_of_repairs([account])}")


@command.command()
@corpus_argument()
@json_option
@click.pass_obj
def rejects(home: Home, name: str, as_json: bool) -> None:
    """List the rejected records of the corpus NAME with reasons; first those of a failed latest addition.

    Example: shrag corpus rejects sci
    """
    from shrag.corpora.store.open_corpus import failed_rejects, list_corpora, stored_rejects

    failed = failed_rejects(home.corpora, name)
    if failed is not None:
        echo(
            Text("The latest addition to {name} was refused because of these, and stored nothing:", name=name), err=True
        )
        for reject in failed:
            _print_reject(reject, as_json, stored=False)
    if failed is None or name in list_corpora(home.corpora):
        for reject in stored_rejects(home.corpora, name):
            _print_reject(reject, as_json, stored=True)


@command.command("list")
@json_option
@click.pass_obj
def list_command(home: Home, as_json: bool) -> None:
    """List all corpora.

    Example: shrag corpus list
    """
    from shrag.corpora.store.open_corpus import list_corpora, open_corpus

    for name in list_corpora(home.corpora):
        manifest = open_corpus(home.corpora, name)[0]
        if as_json:
            print_json(manifest)
        else:
            echo(f"{name}  {_summary(manifest)}  {manifest.created[:10]}")


def _print_counts(manifest: CorpusManifest) -> None:
    echo(Text("corpus {name}: {summary}", name=manifest.name, summary=_summary(manifest)))
    echo(f"  {_sum_of_lines(manifest.sources)}")
    if any(account.repairs for account in manifest.sources):
        echo(f"  {_sum_of_repairs(manifest.sources)}")
    if manifest.linked:
        echo(
            Text(
                "  {linked:,} records are duplicates of an earlier record of the same paper, and linked to it",
                linked=manifest.linked,
            )
        )


def _summary(manifest: CorpusManifest) -> str:
    languages = ", ".join(f"{count:,} {language}" for language, count in manifest.languages.items())
    return f"{manifest.records:,} records ({languages}), {manifest.complete:,} complete"


def _sum_of_lines(accounts: Sequence[SourceAccount]) -> str:
    kinds = ("records", "rejected", "duplicates", "superseded", "blank")
    sums = {kind: sum(getattr(account, kind) for account in accounts) for kind in kinds}
    lines = sum(account.lines for account in accounts)
    outcomes = " + ".join(f"{count:,} {kind}" for kind, count in sums.items() if count or kind != "superseded")
    return f"{lines:,} lines read = {outcomes}"


def _sum_of_repairs(accounts: Sequence[SourceAccount]) -> str:
    repairs: Counter[str] = Counter()
    for account in accounts:
        repairs.update(account.repairs)
    return "repaired: " + ", ".join(f"{count:,} {kind}" for kind, count in repairs.items())


def _print_reject(reject: Reject, as_json: bool, *, stored: bool) -> None:
    if as_json:
        print_json(reject._asdict() | {"stored": stored})
    else:
        echo(
            Text(
                "{file} line {line} (byte {offset}): {reason}",
                file=reject.file,
                line=reject.line,
                offset=reject.offset,
                reason=reject.reason,
            )
        )
