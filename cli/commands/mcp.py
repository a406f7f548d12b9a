"""``shrag mcp``: serve indexes to agents by the Model Context Protocol."""

from __future__ import annotations

import click

from shrag.cli.options.model import configured_model, llm_settings, no_model_option
from shrag.cli.options.names import index_argument
from shrag.cli.options.server import ServerOptions, read_api_key, server_options
from shrag.cli.output import echo
from shrag.cli.settings import Home
from shrag.indexing.storage.checksums import Verify
from shrag.messages.text import Text


@click.command()
@index_argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--http", is_flag=True, help="Serve by HTTP at /mcp instead of standard input and output.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on, with --http; others need an API key."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8081, show_default=True, help="Port, with --http.")
@server_options
@no_model_option
@click.pass_obj
def command(
    home: Home,
    names: tuple[str, ...],
    http: bool,
    host: str,
    port: int,
    no_model: bool,
    options: ServerOptions,
) -> None:
    """Serve the indexes NAME (default: demo) to agents by the Model Context Protocol.

    The first one is the default of all tools; other indexes cannot be reached. Clients start this command themselves.

    Example: shrag mcp sci wiki
    """
    from shrag.serving.agents.server import check_installed, serve_http, serve_stdio
    from shrag.serving.engine import Engine, open_engine
    from shrag.serving.runtime.admission import ServerLimits
    from shrag.serving.runtime.index_registry import ServedIndexes

    check_installed()
    key = read_api_key(options.api_key_file) if http else None
    model = configured_model(no_model=no_model)
    cache = options.open_cache(llm_settings())
    engine = options.choose_engine()
    limits = ServerLimits(asks=options.asks, queued_asks=options.queued_asks, deadline=options.deadline)

    def open_named(name: str, checked: Verify, generation: int | None) -> Engine:
        return open_engine(
            home.indexes,
            name,
            verify=checked,
            model=model,
            reranker=options.reranker,
            min_score=options.min_score,
            min_confidence=options.min_confidence,
            cache=cache,
            generation=generation,
            engine=engine,
        )

    indexes = ServedIndexes(home.indexes, names or ("demo",), open_named, options.verify)
    if http:
        serve_http(
            indexes,
            host=host,
            port=port,
            key=key,
            names=options.names_allowed,
            limits=limits,
            ready=lambda address: echo(Text("MCP at {address}", address=address), err=True),
        )
    else:
        serve_stdio(indexes, limits)
