"""Options of the search engine: its name, its address, its key."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, cast, get_args

import click

from shrag.cli.options.number import NumberRange
from shrag.cli.settings import ENGINE_KEYS
from shrag.indexing.search_engine import EngineChoice, EngineName
from shrag.messages.text import Text

KEY_VARIABLE = "SHRAG_ENGINE_KEY"
_OTHERS_MAY_READ = 0o077


def _configured(key: str, otherwise: object) -> Callable[[], object]:
    """Return a function that returns a top-level key of ``shrag.toml``, or ``otherwise`` if it is not set."""

    def value() -> object:
        context = click.get_current_context(silent=True)
        defaults: Mapping[str, Any] = (context.find_root().default_map or {}) if context is not None else {}
        return defaults.get(key, otherwise)

    return value


engine_option = click.option(
    "--engine",
    type=click.Choice(get_args(EngineName)),
    default=_configured("engine", "lucene"),
    show_default="lucene",
    envvar="SHRAG_ENGINE",
    help="lucene; milvus or qdrant: a vector database at --engine-address that the index is loaded into; or pyserini: "
    "Pyserini's own classes over the same index, for comparison. All but lucene need the extra of their name.",
)

engine_address_option = click.option(
    "--engine-address",
    metavar="URL|PATH",
    default=_configured("engine_address", ""),
    envvar="SHRAG_ENGINE_ADDRESS",
    help="Address of milvus or qdrant: http://HOST:PORT, or a path on this machine to try it without a server.",
)

engine_key_file_option = click.option(
    "--engine-key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=_configured("engine_key_file", None),
    envvar="SHRAG_ENGINE_KEY_FILE",
    help=f"File with the key of the database, readable by its owner only. {KEY_VARIABLE} can give the key instead.",
)

engine_timeout_option = click.option(
    "--engine-timeout",
    type=NumberRange(0.1, 600),
    default=_configured("engine_timeout", 10.0),
    show_default="10",
    envvar="SHRAG_ENGINE_TIMEOUT",
    help="Maximum seconds for a request to the database.",
)


def engine_options(command: Any) -> Any:  # noqa: ANN401 - any command
    """Add the options of the engine to a command; :func:`choose_engine` reads their values."""
    return engine_option(engine_address_option(engine_key_file_option(engine_timeout_option(command))))


def engine_choice_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the engine to a command and pass their values as one ``choice: EngineChoice``."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any command's parameters
        values = {name: kwargs.pop(name) for name in ENGINE_KEYS}
        return command(*args, choice=choose_engine(**values), **kwargs)

    return cast("Callable[..., Any]", engine_options(wrapped))


def configured_engine(environment: Mapping[str, str]) -> EngineChoice:
    """Return the engine that the variables or ``shrag.toml`` choose, without its key.

    It is for commands that do not have the engine's options.
    """
    name = environment.get("SHRAG_ENGINE") or _configured("engine", "lucene")()
    address = environment.get("SHRAG_ENGINE_ADDRESS") or _configured("engine_address", "")()
    known: EngineName = "milvus" if name == "milvus" else "qdrant" if name == "qdrant" else "lucene"
    choice = EngineChoice(known, str(address))
    return choice if choice.is_distributed else EngineChoice(known)


def choose_engine(
    engine: EngineName,
    engine_address: str,
    engine_key_file: Path | None,
    engine_timeout: float,
    environment: MutableMapping[str, str] | None = None,
) -> EngineChoice:
    """Return the engine that the options choose, and remove the key's variable from the environment.

    Raises:
        click.UsageError: A database has no address, or the key's file cannot be read, or others can read it.
    """
    environment = os.environ if environment is None else environment
    key = environment.pop(KEY_VARIABLE, "")
    choice = EngineChoice(engine)
    if not choice.is_distributed:
        return choice
    if (problem := EngineChoice(engine, engine_address).lacks_address) is not None:
        raise click.UsageError(problem)
    if engine_key_file is not None:
        key = _read_key(engine_key_file)
    return EngineChoice(engine, engine_address, key, engine_timeout)


def _read_key(path: Path) -> str:
    try:
        if path.stat().st_mode & _OTHERS_MAY_READ:
            raise click.UsageError(
                Text("Others can read {path}, the key of the search engine: `chmod 600 {path}`.", path=path)
            )
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(
            Text("{path}, the key of the search engine, cannot be read ({error}).", path=path, error=error)
        ) from None
