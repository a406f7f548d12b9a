"""``shrag index build``: index a corpus and publish the result."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.commands.index.reporting import print_loaded
from shrag.cli.options.engine import engine_choice_option
from shrag.cli.options.names import corpus_argument
from shrag.cli.output import echo, progress
from shrag.cli.settings import Home
from shrag.cli.stages import stage_text
from shrag.messages.text import Text, joined

if TYPE_CHECKING:
    from shrag.indexing.search_engine import EngineChoice
    from shrag.indexing.storage.manifest import IndexManifest

_KEEP = 2
_FEW_RECORDS = 5_000


@click.command(context_settings={"auto_envvar_prefix": "SHRAG_INDEX"})
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
    help="Your terms or corrections for the glossary: lines of Korean, tab, English, other English, or of synonyms; or "
    "TBX. Repeatable. Later builds use them too.",
)
@click.option(
    "--encoder",
    metavar="lsa|gte|NAME|PATH|none",
    help="Vectors of the records. gte and others are models with weights under SHRAG_HOME/weights or at PATH, whose "
    "vectors help to rank every search; gte:256 gives shorter ones. lsa is computed from the corpus, for `--strategy "
    "hybrid` and `--reranker vectors`.  "
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
    help="Analyse and encode on a Ray cluster (shrag[ray]): a new one of this machine alone (local), the one that "
    "this machine belongs to (auto), or the one at an address.",
)
@click.option(
    "--max-rejected",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Maximum number of records that may be left out because they cannot be analysed.",
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
    _print_built(name, manifest, what, time.monotonic() - started)
    _load(home, name, choice, manifest.records)
    echo(Text('next: shrag ask {name} "…", or shrag-serve {name}', name=name), err=True)


def _check_update(*, force: bool, ray: bool, changed: bool) -> None:
    """Raise ``click.UsageError`` for options that cannot be combined with ``--update``."""
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


def _print_built(name: str, manifest: IndexManifest, what: Text | None, seconds: float) -> None:
    """Print the current generation, and what was done in ``seconds``; ``what`` is None if it was up to date."""
    size = sum(file.bytes for file in manifest.files.values()) / 2**20
    done = Text("up to date, nothing to build")
    if what:
        done = Text("{what} in {seconds:.1f} s", what=what, seconds=seconds)
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


def _load(home: Home, name: str, choice: EngineChoice, records: int) -> None:
    if not choice.is_distributed:
        return
    from shrag.indexing.distributed.load import load_index

    started = time.monotonic()
    with progress(records) as report:
        loaded = load_index(home.indexes, name, choice, report)
    print_loaded(choice, records, started if loaded else None)
