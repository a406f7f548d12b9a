"""``shrag serve`` and ``shrag-serve``: the HTTP server with its API and web page."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from shrag.cli.options.general import print_folders, server_general_options
from shrag.cli.options.names import index_argument
from shrag.cli.options.number import NumberRange
from shrag.cli.options.server import ServerOptions, read_api_key, server_options
from shrag.cli.output import echo, echo_or_drop, language
from shrag.cli.settings import Home
from shrag.messages.text import Text, in_language, joined

if TYPE_CHECKING:
    from shrag.models.language_model import LanguageModel
    from shrag.serving.engine import Engine

_PROGRAM = "shrag-serve"


class _ServeContext(click.Context):
    """A context whose command path is the name of the program that was called."""

    @property
    def command_path(self) -> str:
        """Return ``shrag-serve`` or ``shrag serve``."""
        return _PROGRAM if self.find_root().info_name == _PROGRAM else super().command_path


class _ServeCommand(click.Command):
    context_class = _ServeContext


@click.command(cls=_ServeCommand)
@index_argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need an API key.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port; 0 takes any free one."
)
@server_options
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Server processes. Each has its own limits, answer cache and metrics, and takes half a gigabyte.",
)
@click.option(
    "--start-seconds",
    type=NumberRange(1),
    default=600,
    show_default=True,
    help="With --workers, kill a process that is not ready after this many seconds.",
)
@click.option(
    "--share-port",
    is_flag=True,
    help="Let other shrag-serve processes of this user listen on the port too: each can be restarted without a gap.",
)
@click.option("--log-questions", is_flag=True, help="Write the text of questions to the log.")
@server_general_options
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    host: str,
    port: int,
    workers: int,
    start_seconds: float,
    share_port: bool,
    log_questions: bool,
    options: ServerOptions,
) -> int:
    """Serve the indexes NAME (default: demo): the web page at /, the API under /v1, the documentation at /docs.

    The first one is used if a request names none.

    Other machines have access if --host is a network address and there is an API key (shrag key).

    The log goes to stderr, one JSON object per line.

    Example: shrag-serve sci wiki --port 8080
    """
    home: Home = ctx.obj
    print_folders(ctx)
    from shrag.cli.options.model import llm_settings, running_language_model
    from shrag.serving.http.access import access_for_host
    from shrag.serving.http.server import reserve
    from shrag.serving.http.workers import run_workers
    from shrag.serving.runtime.admission import ServerLimits, searches_at_once
    from shrag.serving.serve import serve

    served = names or ("demo",)
    # Created before the workers, so that a browser that signs in at one worker is signed in at all of them.
    access = access_for_host(host, read_api_key(options.api_key_file), options.names_allowed)
    llm, engine = llm_settings(), options.choose_engine()
    if workers > 1 and llm.command:
        raise click.UsageError(
            Text(
                "With [llm] command each worker would start its own language model: start the model's server "
                "separately and set [llm] url, or use one worker."
            )
        )

    def work(port: int, log: Callable[[str], None], send_heartbeat: Callable[[], None] = lambda: None) -> None:
        cache = options.open_cache(llm)
        with running_language_model(llm, home, served, options.reranker) as model:

            def ready(engines: Sequence[Engine], address: str) -> None:
                # As a plain string, since a worker sends it through a pipe.
                log(in_language(_started_text(engines, address, workers, model), language.get()))

            serve(
                home.indexes,
                served,
                host=host,
                port=port,
                access=access,
                ready=ready,
                verify=options.verify,
                engine=engine,
                model=model,
                cache=cache,
                limits=ServerLimits(
                    searches=searches_at_once(workers, waiting=options.asks if model else 0),
                    asks=options.asks,
                    queued_asks=options.queued_asks,
                    deadline=options.deadline,
                    computing=searches_at_once(workers),
                ),
                log_questions=log_questions,
                reranker=options.reranker,
                min_score=options.min_score,
                min_confidence=options.min_confidence,
                shared=share_port or workers > 1,
                send_heartbeat=send_heartbeat,
            )

    if workers == 1:
        work(port, partial(echo, err=True))
        return 0
    with reserve(host, port, shared=share_port) as reserved:
        return run_workers(workers, partial(work, reserved.getsockname()[1]), echo_or_drop, longest_start=start_seconds)


def _started_text(engines: Sequence[Engine], address: str, workers: int, model: LanguageModel | None) -> Text:
    """Return a message that says what is served, where, and what writes the answers."""
    indexes = [
        Text("{name} ({records:,} records)", name=engine.name, records=engine.manifest.records) for engine in engines
    ]
    serves = Text("SHRAG serves {indexes} at {address}", indexes=joined(indexes, ", "), address=address)
    if workers > 1:
        serves = Text("{serves} by {workers} workers", serves=serves, workers=workers)
    writes = Text("No language model: answers are extractive.")
    if model:
        writes = Text("Language model: {name}.", name=model.name)
    return Text("{serves}\n{writes} Ctrl-C stops.", serves=serves, writes=writes)


def main() -> None:
    """Run ``shrag-serve``, which is the same as ``shrag serve``, or print its shell completion as click does."""
    variable = "_SHRAG_SERVE_COMPLETE"
    if instruction := os.environ.get(variable):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(command, {}, _PROGRAM, variable, instruction))
    from shrag.cli.main import main as shrag

    sys.argv.insert(1, "serve")
    shrag(_PROGRAM)
