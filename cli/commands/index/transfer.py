"""``shrag index export``, ``import`` and ``load``: carry an index to another machine or into Milvus."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.commands.index.reporting import print_current, print_loaded
from shrag.cli.options.engine import engine_choice_option
from shrag.cli.options.names import index_argument
from shrag.cli.output import echo, progress
from shrag.cli.settings import Home
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.indexing.search_engine import EngineChoice


@click.command()
@index_argument()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--generation", type=click.IntRange(min=1), help="The generation.  [default: the current one]")
@click.option(
    "--opensearch", is_flag=True, help="Write a new folder FILE with the current generation in OpenSearch's formats."
)
@click.option(
    "--milvus",
    is_flag=True,
    help="Write the folder FILE with the current generation as Parquet files for Milvus's bulk import; an "
    "incomplete folder is continued.",
)
@click.pass_obj
def export(home: Home, name: str, file: Path, generation: int | None, opensearch: bool, milvus: bool) -> None:
    """Write the index NAME as one FILE, to be carried to another machine.

    Its checksums are verified first. The same generation gives the same bytes.

    Example: shrag index export sci sci-index.tar
    """
    from shrag.indexing.maintenance.transfer import export_index

    if opensearch or milvus:
        if opensearch and milvus:
            raise click.UsageError(Text("--opensearch and --milvus write different files: give one of them."))
        if generation is not None:
            raise click.UsageError(
                Text("--opensearch and --milvus write the current generation: leave out --generation.")
            )
        (_export_milvus if milvus else _export_opensearch)(home, name, file)
        return
    export_index(home.indexes, name, file, generation)
    echo(Text("index {name}: {file}, {bytes:,.1f} MiB", name=name, file=file, bytes=file.stat().st_size / 2**20))
    echo(Text("next, on the other machine: shrag index import {name}", name=file.name), err=True)


@click.command()
@index_argument()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--prefix",
    default="",
    help="Path of the files of FOLDER in the bucket that Milvus reads, such as shrag/sci.  [default: its top]",
)
@engine_choice_option
@click.pass_obj
def load(home: Home, name: str, folder: Path, prefix: str, choice: EngineChoice) -> None:
    """Load the index NAME into a Milvus server by bulk import, and publish it there.

    FOLDER is what `shrag index export NAME FOLDER --milvus` wrote. Copy its files into Milvus's object storage first:
    Milvus reads them there, and SHRAG sends it their paths only. Run again, it goes on with the import.

    Example: shrag index load sci sci-milvus --prefix shrag/sci
    """
    from shrag.corpora.files import check_name
    from shrag.indexing.distributed.bulk_load import bulk_load
    from shrag.indexing.storage.generations import current_generation

    records = current_generation(home.indexes / check_name(name))[1].records
    started = time.monotonic()
    with progress(records) as report:
        loaded = bulk_load(home.indexes, name, folder, choice, prefix, report)
    print_loaded(choice, records, started if loaded else None)


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="The index's name here.  [default: its name where it was exported]")
@click.pass_obj
def import_(home: Home, file: Path, name: str) -> None:
    """Publish the index in FILE, which `shrag index export` wrote, as the next generation of its index.

    Nothing is published unless all of it is as it was exported. `shrag index rollback NAME` takes it back.

    Example: shrag index import sci-index.tar
    """
    from shrag.indexing.maintenance.transfer import import_index

    manifest = import_index(home.indexes, file, name)
    print_current(name or manifest.source.name, manifest)


def _export_opensearch(home: Home, name: str, folder: Path) -> None:
    from shrag.indexing.distributed.opensearch import export_opensearch

    with progress() as report:
        records = export_opensearch(home.indexes, name, folder, report)
    echo(Text("index {name}: {records:,} records in {folder}", name=name, records=records, folder=folder))


def _export_milvus(home: Home, name: str, folder: Path) -> None:
    from shrag.indexing.distributed.bulk_files import export_milvus

    with progress() as report:
        files = export_milvus(home.indexes, name, folder, report)
    echo(
        Text(
            "index {name}: {records:,} records in {folder}, {files:,} files, {size:,.1f} MiB",
            name=name,
            records=sum(file.rows for file in files),
            folder=folder,
            files=len(files),
            size=sum(file.bytes for file in files) / 2**20,
        )
    )
    echo(
        Text(
            "next: copy the .parquet files into Milvus's bucket, under {prefix}/ for example, then: "
            "shrag index load {name} {folder} --prefix {prefix}",
            prefix=folder.absolute().name,
            name=name,
            folder=folder,
        ),
        err=True,
    )
