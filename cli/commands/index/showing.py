"""``shrag index verify``, ``list`` and ``show``: what there is, and whether it is intact."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from shrag.cli.options.names import index_argument
from shrag.cli.output import echo, echo_error, json_option, progress
from shrag.cli.settings import Home
from shrag.messages.text import Text


@click.command()
@index_argument()
@click.option("--generation", type=click.IntRange(min=1), help="The generation.  [default: the current one]")
@json_option
@click.pass_context
def verify(ctx: click.Context, name: str, generation: int | None, as_json: bool) -> None:
    """Check the whole index NAME: every byte, Lucene's own check, counts, and the results of stored queries.

    Every problem is printed with its file. Exit status 4 if there is one.

    Example: shrag index verify sci
    """
    from shrag.indexing.maintenance.verify import verify_index

    home: Home = ctx.obj
    with progress() as report:
        found = verify_index(home.indexes, name, generation, report)
    for problem in found.problems:
        _print(problem._asdict(), Text("{file}: {message}", file=problem.file, message=problem.message), as_json)
    for check in found.checks:
        values = {"check": check.name, "examined": check.examined, "problems": len(check.problems)}
        line = Text("{check:>16}  {examined:>9,} examined", check=check.name, examined=check.examined)
        if check.problems:
            line = Text("{line}  {count} wrong", line=line, count=len(check.problems))
        else:
            line = Text("{line}  ok", line=line)
        _print(values, line, as_json)
    for what in found.skipped:
        line = Text("{check:>16}  not examined, because the files that it reads are damaged", check=what)
        _print({"check": what, "skipped": True}, line, as_json)
    if as_json:
        echo(json.dumps({"index": name, "generation": found.generation, "verified": not found.problems}))
    elif not found.problems:
        echo(Text("index {name}: generation {generation} is intact", name=name, generation=found.generation))
    if found.problems:
        echo_error(
            Text(
                "shrag: generation {generation} of index {name} is damaged: build it again with `shrag index "
                "{name} --force`, or choose another with `shrag index rollback {name}`.",
                generation=found.generation,
                name=name,
            )
        )
        ctx.exit(4)


@click.command("list")
@index_argument(required=False)
@json_option
@click.pass_obj
def list_(home: Home, name: str | None, as_json: bool) -> None:
    """List the generations of every index, or of NAME; * marks the current one. Files are not checked.

    Example: shrag index list
    """
    from shrag.indexing.maintenance.history import list_index, list_names

    for index in [name] if name else list_names(home.indexes):
        for row in list_index(home.indexes, index):
            mark = "*" if row.current else " "
            line = Text(
                "{index}  {mark}{generation:>4}  {about}",
                index=row.index,
                mark=mark,
                generation=row.generation,
                about=row.problem
                or Text(
                    "{records:>10,} records  {size:>9.1f} MiB  {created}",
                    records=row.records,
                    size=row.bytes / 2**20,
                    created=row.created,
                ),
            )
            _print(asdict(row), line, as_json)


@click.command()
@index_argument()
@click.option("--generation", type=click.IntRange(min=1), help="The generation.  [default: the current one]")
@click.pass_obj
def show(home: Home, name: str, generation: int | None) -> None:
    """Print the manifest of the index NAME: its sources, versions, options, and every file's checksum.

    Example: shrag index show sci
    """
    from shrag.indexing.maintenance.history import show_manifest

    echo(show_manifest(home.indexes, name, generation), nl=False)


def _print(values: dict[str, Any], line: str, as_json: bool) -> None:
    echo(json.dumps(values, ensure_ascii=False) if as_json else line)
