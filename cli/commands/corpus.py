"""``shrag corpus``: add records to a corpus; show, list, and print rejects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shrag.cli.output import echo, json_option, print_json, progress
from shrag.cli.settings import Home
from shrag.corpora.formats.mapped_json import JsonlKeys
from shrag.corpora.formats.registry import FORMATS, Format, jsonl_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shrag.corpora.ingest.reading import OnDuplicate
    from shrag.corpora.records import Reject
    from shrag.corpora.store.manifest import CorpusManifest, SourceAccount


_Command = TypeVar("_Command", bound=Callable[..., Any])


def jsonl_options(command: _Command) -> _Command:
    """Add one option for each field to a command: ``--id-key`` to ``--keyword-key``; some are repeatable."""
    for field in reversed(fields(JsonlKeys)):
        several = isinstance(field.default, tuple)
        shown = field.default[0] if isinstance(field.default, tuple) else field.default
        command = click.option(
            f"--{field.name}-key",
            f"{field.name}_key",
            metavar="KEY",
            multiple=several,
            help=f"jsonl: key of the {field.name}, such as a.b{'; repeatable' if several else ''}. [{shown}]",
        )(command)
    return command


def select_format(name: str, keys: dict[str, Any]) -> Format:
    """Return the format with the given keys; raise ``click.UsageError`` if the format has fixed keys."""
    given = {key.removesuffix("_key"): value for key, value in keys.items() if value not in (None, ())}
    if not given:
        return FORMATS[name]
    if name != "jsonl":
        raise click.UsageError(f"--{min(given)}-key needs --format jsonl: the keys of {name} are fixed.")
    return jsonl_format(JsonlKeys(**given))


_ON_DUPLICATE = ("error", "first", "newest")


@click.group()
def command() -> None:
    """Add records to a corpus, and show what it has."""


@command.command()
@click.argument("name")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_name", required=True, type=click.Choice(list(FORMATS)), help="The format of the files."
)
@click.option(
    "--max-rejects", type=click.IntRange(min=0), default=0, show_default=True, help="Most lines that may be rejected."
)
@click.option(
    "--on-duplicate",
    type=click.Choice(_ON_DUPLICATE),
    default="error",
    show_default=True,
    help="Which record to keep if an identifier occurs with different contents.",
)
@click.option("--merge", is_flag=True, help="Add to the stored corpus; without it PATHS replace the corpus.")
@click.option(
    "--repair/--no-repair",
    default=True,
    show_default=True,
    help="Repair fused words, wrong blanks, hyphenation and section labels, or store the text as it is.",
)
@click.option(
    "--max-seconds",
    type=click.IntRange(min=1),
    default=120,
    show_default=True,
    help="Most processor seconds for reading a file, and 10 more for each MiB of it; beyond them it is rejected.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(min=64),
    default=2048,
    show_default=True,
    help="Most MiB of memory for reading a file; beyond them it is rejected.",
)
@jsonl_options
@click.pass_obj
def add(
    home: Home,
    /,
    name: str,
    paths: tuple[Path, ...],
    format_name: str,
    max_rejects: int,
    on_duplicate: OnDuplicate,
    merge: bool,
    repair: bool,
    max_seconds: int,
    max_memory: int,
    **keys: str | tuple[str, ...],
) -> None:
    """Read, clean and validate PATHS (files or folders), and store them as the corpus NAME.

    docs/formats.md describes the formats; any file may be gzip.

    Example: shrag corpus add sci --format scienceon records.jsonl.gz
    """
    from shrag.corpora.ingest.add import add_corpus
    from shrag.corpora.ingest.parser import ParserLimits

    format = select_format(format_name, keys)
    with progress() as report:
        manifest, changes, stored = add_corpus(
            home.corpora,
            name,
            format,
            paths,
            max_rejects=max_rejects,
            on_duplicate=on_duplicate,
            merge=merge,
            repair=repair,
            limits=ParserLimits(seconds=max_seconds, memory=max_memory * 2**20),
            report=report,
        )
    _print_counts(manifest)
    echo(f"  {changes}" + ("" if stored else ": nothing to store"))
    if any(account.rejected or account.superseded for account in manifest.sources):
        echo(f"  rejects: {home.corpora / name / manifest.rejects_file}")
    echo(f"next: shrag index {name}", err=True)


@command.command()
@click.argument("name")
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
    echo(f"  format {manifest.format}, made {manifest.created} by SHRAG {manifest.shrag_version}")
    echo(f"  fingerprint {manifest.fingerprint}")
    for account in manifest.sources:
        echo(f"  {account.path}  {account.format}, {account.bytes:,} bytes, SHA-256 {account.sha256}")
        echo(f"    {_sum_of_lines([account])}")
        if account.repairs:
            echo(f"    {_sum_of_repairs([account])}")


@command.command()
@click.argument("name")
@json_option
@click.pass_obj
def rejects(home: Home, name: str, as_json: bool) -> None:
    """List the rejected records of the corpus NAME with reasons; first those of a failed latest addition.

    Example: shrag corpus rejects sci
    """
    from shrag.corpora.store.open_corpus import failed_rejects, list_corpora, stored_rejects

    failed = failed_rejects(home.corpora, name)
    if failed is not None:
        echo(f"The latest addition to {name} was refused because of these, and stored nothing:", err=True)
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
    echo(f"corpus {manifest.name}: {_summary(manifest)}")
    echo(f"  {_sum_of_lines(manifest.sources)}")
    if any(account.repairs for account in manifest.sources):
        echo(f"  {_sum_of_repairs(manifest.sources)}")
    if manifest.linked:
        echo(f"  {manifest.linked:,} records are duplicates of an earlier record of the same paper, and linked to it")


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
        echo(f"{reject.file} line {reject.line} (byte {reject.offset}): {reject.reason}")
