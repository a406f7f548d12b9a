"""``shrag corpus show``, ``list`` and ``rejects``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shrag.cli.commands.corpus.counts import print_counts, print_lines, summary
from shrag.cli.options.names import corpus_argument
from shrag.cli.output import echo, json_option, print_json
from shrag.cli.settings import Home
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.corpora.records import Reject


@click.command()
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
    print_counts(manifest)
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
        print_lines([account], "    ")


@click.command()
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
            Text(
                "The latest addition to {name} was refused, and nothing of it was stored. The lines that it would have "
                "left out:",
                name=name,
            ),
            err=True,
        )
        for reject in failed:
            _print_reject(reject, as_json, stored=False)
    if failed is not None and name in list_corpora(home.corpora):
        echo(Text("The lines that the stored corpus {name} left out:", name=name), err=True)
    if failed is None or name in list_corpora(home.corpora):
        for reject in stored_rejects(home.corpora, name):
            _print_reject(reject, as_json, stored=True)


@click.command("list")
@json_option
@click.pass_obj
def list_(home: Home, as_json: bool) -> None:
    """List all corpora.

    Example: shrag corpus list
    """
    from shrag.corpora.store.open_corpus import list_corpora, open_corpus

    for name in list_corpora(home.corpora):
        manifest = open_corpus(home.corpora, name)[0]
        if as_json:
            print_json(manifest)
        else:
            about, day = summary(manifest), manifest.created[:10]
            echo(Text("{name}  {summary}  {day}", name=name, summary=about, day=day))


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
