"""``shrag serve`` and ``shrag-serve``: the local endpoint and the page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from shrag.cli.access import access_options, chosen_key
from shrag.cli.settings import Home, cache_options, reranker_options, verify_option
from shrag.indexing.seals import Verify


@click.command()
@click.argument("name", default="demo")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; others need a key.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any free one.")
@access_options
@reranker_options
@verify_option
@click.option("--asks", type=click.IntRange(1, 512), default=16, show_default=True, help="Answers worked on at once.")
@click.option(
    "--queued-asks", type=click.IntRange(0), default=128, show_default=True, help="Answers that may wait; more get 429."
)
@click.option(
    "--deadline",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    show_default=True,
    help="Seconds a request may take.",
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
    cache_mib: int,
    no_cache: bool,
    log_questions: bool,
) -> None:
    """Serve the index NAME (default: demo): the page at /, the interface under /v1, its description at /docs.

    Other machines can ask where --host is an address of the network and there is an API key (shrag key).

    The log goes to stderr, one JSON object a line.

    Example: shrag-serve sci --port 8080
    """
    from shrag.cli.language_model import llm_settings, running_language_model
    from shrag.serving.answer_cache import AnswerCache
    from shrag.serving.engine import Engine
    from shrag.serving.limits import Limits
    from shrag.serving.server import serve

    key = chosen_key(api_key_file)

    def ready(engine: Engine, address: str) -> None:
        click.echo(f"SHRAG serves {engine.name} ({engine.manifest.records:,} records) at {address}", err=True)
        writes = f"Language model: {model.name}." if model else "No language model: answers are extractive."
        click.echo(f"{writes} Ctrl-C stops.", err=True)

    llm = llm_settings()
    cache = None if no_cache else AnswerCache(cache_mib << 20, f"{llm.fingerprint} {reranker} {min_score}")
    with running_language_model(llm, home, name) as model:
        serve(
            home.indexes,
            name,
            host=host,
            port=port,
            key=key,
            names=names_allowed,
            ready=ready,
            verify=verify,
            model=model,
            cache=cache,
            limits=Limits(asks=asks, queued_asks=queued_asks, deadline=deadline),
            log_questions=log_questions,
            reranker=reranker,
            min_score=min_score,
        )


def main() -> None:
    """Run ``shrag-serve``: ``shrag serve`` under a name of its own."""
    from shrag.cli.main import main as shrag

    sys.argv.insert(1, "serve")
    shrag()
