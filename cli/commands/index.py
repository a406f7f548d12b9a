"""``shrag index``: build, verify, list, show, roll back and remove indexes."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click_default_group import DefaultGroup

from shrag.cli.options.engine import engine_choice_option
from shrag.cli.options.names import corpus_argument, index_argument
from shrag.cli.output import ask_before_deleting, echo, echo_error, json_option, progress, yes_option
from shrag.cli.settings import Home
from shrag.cli.stages import stage_text
from shrag.messages.text import Text, joined

if TYPE_CHECKING:
    from shrag.indexing.search_engine import EngineChoice
    from shrag.indexing.storage.manifest import IndexManifest

_KEEP = 2
_FEW_RECORDS = 5_000


class _IndexGroup(DefaultGroup, click.Group):  # type: ignore[misc]  # DefaultGroup has no types
    format_commands = click.Group.format_commands  # without a star and another order for the default command


@click.group(cls=_IndexGroup, default="build")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Build an index, and look after what is published.

    `shrag index NAME` is short for `shrag index build NAME`.
    """
    # Options of `build` may stand in the table [index] of shrag.toml.
    options = ctx.default_map or {}
    ctx.default_map = {**options, "build": {**options, **options.get("build", {})}}


@command.command(context_settings={"auto_envvar_prefix": "SHRAG_INDEX"})
@corpus_argument()
@click.option(
    "--dictionary",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Words not to be split: a TSV of WORD and optionally TAG and SCORE. Later builds use them too.",
)
@click.option("--no-dictionary", is_flag=True, help="Build without the words of an earlier --dictionary.")
@click.option(
    "--glossary",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Your terms or corrections for the glossary: lines of Korean, tab, English, other English; or TBX. "
    "Repeatable. Later builds use them too.",
)
@click.option(
    "--encoder",
    metavar="lsa|gte|NAME|PATH|none",
    help="Vectors for `--strategy hybrid` and `--reranker vectors`: lsa is computed from the corpus; gte and others "
    "are models with weights under SHRAG_HOME/weights or at PATH; gte:256 gives shorter vectors.  "
    "[default: that of the current index, else the only one with weights under SHRAG_HOME/weights]",
)
@click.option("--force", is_flag=True, help="Build even if the current index is up to date.")
@click.option("--update", is_flag=True, help="Write only the records that the corpus added, changed and deleted.")
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=_KEEP,
    show_default=True,
    help="Generations to keep, including the new one.",
)
@engine_choice_option
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes for analysis; 0 is one for each core.")
@click.option(
    "--ray",
    metavar="local|auto|HOST:PORT",
    default="",
    help="Analyse and encode on a Ray cluster (shrag[ray]): one of this machine alone, its own, or another.",
)
@click.option(
    "--max-rejected",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Most records that may be left out because they cannot be analysed.",
)
@click.pass_obj
def build(
    home: Home,
    name: str,
    dictionary: Path | None,
    no_dictionary: bool,
    glossary: tuple[Path, ...],
    encoder: str | None,
    force: bool,
    update: bool,
    keep: int,
    workers: int,
    ray: str,
    max_rejected: int,
    choice: EngineChoice,
) -> None:
    """Index the corpus NAME and publish the result; load it into the vector database where one is the engine.

    Example: shrag index sci --dictionary words.tsv
    """
    if dictionary and no_dictionary:
        raise click.UsageError(Text("--dictionary and --no-dictionary contradict each other: give one of them."))
    from shrag.corpora.ingest.demonstration import DEMO, add_demonstration, is_added
    from shrag.corpora.store.open_corpus import open_corpus
    from shrag.indexing.analysis.user_dictionary import EMPTY_DICTIONARY, read_dictionary
    from shrag.indexing.build.builder import build_index
    from shrag.indexing.build.incremental import update_index
    from shrag.indexing.build.job import BuildOptions
    from shrag.indexing.glossary.corrections import read_corrections
    from shrag.indexing.lexical.jvm import expect_short_use
    from shrag.indexing.storage.vector_card import AUTO

    if update:
        _check_update(force=force, ray=bool(ray), changed=bool(dictionary or no_dictionary or glossary or encoder))
    words = EMPTY_DICTIONARY if no_dictionary else None
    if dictionary:
        words = read_dictionary(dictionary)
        echo(
            Text("dictionary {dictionary}: {words_count:,} words", dictionary=dictionary, words_count=len(words.words)),
            err=True,
        )
    corrections = read_corrections(glossary) if glossary else None
    if name == DEMO and not is_added(home.corpora):
        add_demonstration(home.corpora)
        echo(Text("added the demonstration corpus to {folder}", folder=home.corpora), err=True)
    total = open_corpus(home.corpora, name)[0].records
    if total <= _FEW_RECORDS:
        expect_short_use()
    started = time.monotonic()
    with progress(total) as report:
        options = BuildOptions(workers, max_rejected, keep, report, lambda line: echo(line, err=True), ray)
        if update:
            manifest, changes = update_index(home.corpora, home.indexes, name, options=options)
            what = Text("updated ({changes})", changes=str(changes)) if changes else None
        else:
            manifest, new = build_index(
                home.corpora,
                home.indexes,
                name,
                dictionary=words,
                corrections=corrections,
                encoder=encoder or AUTO,
                force=force,
                options=options,
            )
            what = Text("built") if new else None
    size = sum(file.bytes for file in manifest.files.values()) / 2**20
    done = Text("up to date, nothing to build")
    if what:
        done = Text("{what} in {seconds:.1f} s", what=what, seconds=time.monotonic() - started)
    echo(
        Text(
            "index {name}: generation {generation}, {records:,} records, {size:.1f} MiB, {done}",
            name=name,
            generation=manifest.generation,
            records=manifest.records,
            size=size,
            done=done,
        )
    )
    if what:
        shares = [
            Text("{stage} {share:.0%}", stage=stage_text(stage), share=share)
            for stage, share in manifest.utilization.items()
        ]
        echo(Text("utilization: {shares}", shares=joined(shares, ", ")), err=True)
    if manifest.rejected:
        echo(
            Text("{rejected:,} records were left out: see rejects.jsonl in its folder", rejected=manifest.rejected),
            err=True,
        )
    _load(home, name, choice, manifest.records)
    echo(Text('next: shrag ask {name} "…", or shrag-serve {name}', name=name), err=True)


def _check_update(*, force: bool, ray: bool, changed: bool) -> None:
    """Raise ``click.UsageError`` for options that ``--update`` cannot have beside it."""
    if force:
        raise click.UsageError(Text("--force builds the whole index, --update only what changed: choose one."))
    if changed:
        raise click.UsageError(
            Text(
                "An update has the dictionary, glossary corrections and encoder of its index: build without "
                "--update to change them."
            )
        )
    if ray:
        raise click.UsageError(Text("--update analyses what changed on this machine: leave --ray out."))


@command.command()
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
        line = Text("{check:>16}  not examined: what it reads is damaged", check=what)
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


@command.command()
@index_argument()
@click.option(
    "--to", type=click.IntRange(min=1), help="The generation.  [default: the newest intact one before the current]"
)
@engine_choice_option
@click.pass_obj
def rollback(home: Home, name: str, to: int | None, choice: EngineChoice) -> None:
    """Make an earlier generation of the index NAME the current one again.

    Its checksums, format and analyzer are verified first, and that the vector database has it where one is the engine,
    whose alias then points to it. Nothing is deleted, so `--to` can return to a newer one.

    Example: shrag index rollback sci
    """
    from shrag.indexing.maintenance.history import roll_back

    manifest = roll_back(home.indexes, name, to, choice)
    _print_current(name, manifest)


@command.command()
@index_argument()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--generation", type=click.IntRange(min=1), help="The generation.  [default: the current one]")
@click.option(
    "--opensearch", is_flag=True, help="Write a new folder FILE with the current generation in OpenSearch's formats."
)
@click.option(
    "--milvus",
    is_flag=True,
    help="Write the folder FILE with the current generation as Parquet files for Milvus's bulk import; go on with one "
    "that is not complete.",
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
    header = export_index(home.indexes, name, file, generation)
    echo(Text("index {name}: {file}, {bytes:,.1f} MiB", name=name, file=file, bytes=header.total_bytes / 2**20))
    echo(Text("next, on the other machine: shrag index import {name}", name=file.name), err=True)


@command.command()
@index_argument()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--prefix",
    default="",
    help="Where the files of FOLDER are in the bucket that Milvus reads, such as shrag/sci.  [default: at its top]",
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
    _print_loaded(choice, records, started if loaded else None)


@command.command("import")
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
    _print_current(name or manifest.source.name, manifest)


@command.command()
@index_argument()
@yes_option
@click.pass_obj
def remove(home: Home, name: str, yes: bool) -> None:
    """Delete the index NAME with all of its generations, after a question. Its corpus stays.

    Refused while a build writes it, or a server or another command has it open.

    Example: shrag index remove sci
    """
    from shrag.indexing.maintenance.history import list_index, remove_index

    rows = list_index(home.indexes, name)
    size = sum(row.bytes for row in rows) / 2**20
    ask_before_deleting(
        Text(
            "This deletes index {name}: {rows_count} generations, {size:,.1f} MiB",
            name=name,
            rows_count=len(rows),
            size=size,
        ),
        yes=yes,
    )
    remove_index(home.indexes, name)
    echo(Text("index {name}: removed", name=name))


@command.command("list")
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


@command.command()
@index_argument()
@click.option("--generation", type=click.IntRange(min=1), help="The generation.  [default: the current one]")
@click.pass_obj
def show(home: Home, name: str, generation: int | None) -> None:
    """Print the manifest of the index NAME: its sources, versions, options, and every file's checksum.

    Example: shrag index show sci
    """
    from shrag.indexing.maintenance.history import show_manifest

    echo(show_manifest(home.indexes, name, generation), nl=False)


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


def _load(home: Home, name: str, choice: EngineChoice, records: int) -> None:
    if not choice.is_distributed:
        return
    from shrag.indexing.distributed.load import load_index

    started = time.monotonic()
    with progress(records) as report:
        loaded = load_index(home.indexes, name, choice, report)
    _print_loaded(choice, records, started if loaded else None)


def _print_loaded(choice: EngineChoice, records: int, started: float | None) -> None:
    done = Text("loaded already")
    if started is not None:
        done = Text("loaded in {seconds:.1f} s", seconds=time.monotonic() - started)
    echo(
        Text(
            "{engine} at {address}: {records:,} records, {done}",
            engine=choice.name,
            address=choice.address,
            records=records,
            done=done,
        )
    )


def _print(values: dict[str, Any], line: str, as_json: bool) -> None:
    echo(json.dumps(values, ensure_ascii=False) if as_json else line)


def _print_current(name: str, manifest: IndexManifest) -> None:
    echo(
        Text(
            "index {name}: generation {generation} is current, {records:,} records",
            name=name,
            generation=manifest.generation,
            records=manifest.records,
        )
    )
    echo(Text("Running servers switch to it within seconds."), err=True)
