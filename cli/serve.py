"""``shrag serve`` and ``shrag-serve``: the local endpoint and the page."""

from __future__ import annotations

import sys

import click

from shrag.cli.settings import Home, reranker_options, verify_option
from shrag.indexing.seals import Verify


@click.command()
@click.argument("name", default="demo")
@click.option("--host", default="127.0.0.1", show_default=True, help="An address of this machine only.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any free one.")
@reranker_options
@verify_option
@click.pass_obj
def command(
    home: Home, name: str, host: str, port: int, reranker: str, min_score: float | None, verify: Verify
) -> None:
    """Serve the index NAME (default: demo): the page at /, the interface under /v1.

    Example: shrag-serve sci --port 8080
    """
    from shrag.cli.language_model import llm_settings, running_language_model
    from shrag.serving.engine import Engine
    from shrag.serving.server import serve

    def ready(engine: Engine, address: str) -> None:
        click.echo(f"SHRAG serves {engine.name} ({engine.manifest.records:,} records) at {address}", err=True)
        writes = f"Language model: {model.name}." if model else "No language model: answers are extractive."
        click.echo(f"{writes} Ctrl-C stops.", err=True)

    with running_language_model(llm_settings(), home, name) as model:
        serve(
            home.indexes,
            name,
            host=host,
            port=port,
            ready=ready,
            verify=verify,
            model=model,
            reranker=reranker,
            min_score=min_score,
        )


def main() -> None:
    """Run ``shrag-serve``: ``shrag serve`` under a name of its own."""
    from shrag.cli.main import main as shrag

    sys.argv.insert(1, "serve")
    shrag()
