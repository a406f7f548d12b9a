"""``shrag glossary``: list an index's bilingual glossary or look up a term."""

from __future__ import annotations

from collections.abc import Iterable

import click

from shrag.cli.options.names import index_argument
from shrag.cli.output import echo, json_option, print_json
from shrag.cli.settings import Home
from shrag.indexing.glossary.store import Entry
from shrag.messages.text import Text


@click.command()
@index_argument()
@click.argument("term", required=False)
@json_option
@click.pass_obj
def command(home: Home, name: str, term: str | None, as_json: bool) -> None:
    """List the bilingual glossary of the index NAME, or look up TERM, Korean or English.

    Columns: Korean, English, number of records with the pair, source, confidence.

    Example: shrag glossary sci 인공신경망
    """
    from shrag.indexing.open_index import open_glossary

    glossary, analyzer = open_glossary(home.indexes, name)
    if term is None:
        found: Iterable[Entry] = glossary.entries()
    else:
        from shrag.indexing.glossary.store import phrase_parts, phrase_terms

        parts = phrase_parts(analyzer, term)
        found = glossary.look_up([phrase_terms(analyzer, term)])[0]
        if not found:
            echo(Text("The glossary of {name} has no {term!r}.", name=name, term=term), err=True)
        elif sum(map(str.isalnum, term)) > sum(map(str.isalnum, "".join(parts))):
            echo(Text("Only part of {term!r} was looked up: {parts}.", term=term, parts=", ".join(parts)), err=True)
    print_entries(found, as_json=as_json)


def print_entries(entries: Iterable[Entry], *, as_json: bool) -> None:
    """Print one entry per line."""
    for entry in entries:
        if as_json:
            print_json(entry._asdict())
        else:
            echo(f"{entry.korean}\t{entry.english}\t{entry.records}\t{entry.source}\t{entry.score:.2f}")
