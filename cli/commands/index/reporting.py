"""The last lines that subcommands of ``shrag index`` print: the current generation, the load into a database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from shrag.cli.output import echo
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.indexing.search_engine import EngineChoice
    from shrag.indexing.storage.manifest import IndexManifest


def print_current(name: str, manifest: IndexManifest) -> None:
    """Print which generation is the current one."""
    echo(
        Text(
            "index {name}: generation {generation} is current, {records:,} records",
            name=name,
            generation=manifest.generation,
            records=manifest.records,
        )
    )
    echo(Text("Running servers switch to it within seconds."), err=True)


def print_loaded(choice: EngineChoice, records: int, started: float | None) -> None:
    """Print that a vector database has the index, and the seconds of loading it since ``started``.

    ``started`` is None if the database had the index already.
    """
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
