"""``shrag serve`` and ``shrag-serve``: the local endpoint and the page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from shrag.cli.commands.key import access_options, chosen_key
from shrag.cli.options.server import cache_options, chosen_cache, limit_options
from shrag.cli.settings import Home, reranker_options, verify_option
from shrag.indexing.storage.checksums import Verify


@click.command()
@click.argument("name", default="demo")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; others need a key.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any free one.")
@access_options
@reranker_options
@verify_option
@limit_options
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that answer, each with its own half gigabyte, places, kept answers and figures.",
)
@cache_options
@click.option("--log-questions", is_flag=True, help="Let the log have the words of questions.")
@click.pass_obj
def command(
    home: Home,
    name: str,
    host: str,
    port: int,
    api_key_file: Path | None,
    names_allowed: tuple[str, ...],
    reranker: str,
    min_score: float | None,
    verify: Verify,
    asks: int,
    queued_asks: int,
    deadline: float,
    workers: int,
    cache_mib: int,
    no_cache: bool,
    log_questions: bool,
) -> int:
    """Serve the index NAME (default: demo): the page at /, the interface under /v1, its description at /docs.

    Other machines can ask where --host is an address of the network and there is an API key (shrag key).

    The log goes to stderr, one JSON object a line.

    Example: shrag-serve sci --port 8080
    """
    from shrag.cli.options.model import llm_settings, running_language_model
    from shrag.serving.engine import Engine
    from shrag.serving.http.access import access_for_host
    from shrag.serving.http.server import reserve, serve
    from shrag.serving.http.workers import run_workers
    from shrag.serving.runtime.admission import ServerLimits, searches_at_once

    # Before there are workers, so that a browser signed in at one of them is at all.
    access = access_for_host(host, chosen_key(api_key_file), names_allowed)
    llm = llm_settings()
    if workers > 1 and llm.command:
        raise click.UsageError(
            "Each worker would start a language model of its own by [llm] command: "
            "start its server by itself and give its url, or use one worker."
        )

    def work(port: int, tell: Callable[[str], None]) -> None:
        cache = chosen_cache(cache_mib, llm, reranker, min_score, no_cache=no_cache)
        with running_language_model(llm, home, name) as model:

            def ready(engine: Engine, address: str) -> None:
                by = f" by {workers} workers" if workers > 1 else ""
                writes = f"Language model: {model.name}." if model else "No language model: answers are extractive."
                tell(
                    f"SHRAG serves {engine.name} ({engine.manifest.records:,} records) at {address}{by}\n"
                    f"{writes} Ctrl-C stops."
                )

            serve(
                home.indexes,
                name,
                host=host,
                port=port,
                access=access,
                ready=ready,
                verify=verify,
                model=model,
                cache=cache,
                limits=ServerLimits(
                    searches=searches_at_once(workers, waiting=asks if model else 0),
                    asks=asks,
                    queued_asks=queued_asks,
                    deadline=deadline,
                ),
                log_questions=log_questions,
                reranker=reranker,
                min_score=min_score,
                shared=workers > 1,
            )

    def say(text: str) -> None:
        click.echo(text, err=True)

    if workers == 1:
        work(port, say)
        return 0
    with reserve(host, port) as held:
        return run_workers(workers, partial(work, held.getsockname()[1]), say)


def main() -> None:
    """Run ``shrag-serve``: ``shrag serve`` under a name of its own."""
    from shrag.cli.main import main as shrag

    sys.argv.insert(1, "serve")
    shrag()
