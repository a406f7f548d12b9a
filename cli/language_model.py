"""The ``[llm]`` table and ``SHRAG_LLM_*``: the language model they describe, opened, started or none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from shrag.cli.settings import CONFIG_FILE
from shrag.models.llm_settings import LlmSettings

if TYPE_CHECKING:
    from shrag.models.language_model import LanguageModel
    from shrag.models.model_server import ServerState
    from shrag.models.openai_model import OpenAIModel

TABLE = "llm"
_PREFIX = "SHRAG_LLM_"


def llm_settings(environment: Mapping[str, str] | None = None) -> LlmSettings:
    """Return the settings of the command being run: a variable goes before the table's key of the same name."""
    root = click.get_current_context().find_root()
    return read_llm_settings(
        (root.default_map or {}).get(TABLE, {}), os.environ if environment is None else environment
    )


def read_llm_settings(table: Mapping[str, Any], environment: Mapping[str, str]) -> LlmSettings:
    """Return what ``table`` and ``SHRAG_LLM_*`` say; raises ``click.UsageError`` for what they cannot."""
    if not isinstance(table, Mapping):
        raise click.UsageError(f"{TABLE} in {CONFIG_FILE} is a table: write [{TABLE}] and its keys below.")
    given = {
        name.removeprefix(_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(_PREFIX) and value
    }
    known = LlmSettings.__struct_fields__
    for key, where in [
        *((key, f"[{TABLE}] in {CONFIG_FILE}") for key in table),
        *((key, _PREFIX + "*") for key in given),
    ]:
        if key not in known:
            raise click.UsageError(f"{where} has no option {key!r}: use {', '.join(sorted(known))}.")
    try:
        return msgspec.convert({**table, **given}, LlmSettings, strict=False)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"The language model's settings cannot be used: {error}.") from None


def open_language_model(settings: LlmSettings) -> OpenAIModel | None:
    """Return the model at ``settings.url``, asked for nothing yet and the caller's to close; None without an address.

    A model that is only started by the server (``command``) is none to other commands.
    """
    if not settings.url:
        return None
    from shrag.models.openai_model import OpenAIModel

    return OpenAIModel(settings)


no_model_option = click.option("--no-model", is_flag=True, help="Ask no language model, though one is configured.")
"""For commands that ask questions."""


def asked_language_model(*, no_model: bool) -> LanguageModel | None:
    """Return the model that the command being run asks: the configured one, none where the user wants none."""
    return None if no_model else open_language_model(llm_settings())


@contextmanager
def running_language_model(settings: LlmSettings, home: Path) -> Iterator[LanguageModel | None]:
    """Give the model as :func:`open_language_model` does, or, with ``command``, one whose server runs meanwhile.

    Raises :class:`~shrag.models.errors.EngineMissing` and :class:`~shrag.models.errors.WeightsMissing`.
    """
    if not settings.command:
        model = open_language_model(settings)
        with nullcontext() if model is None else closing(model):
            yield model
        return
    from shrag.models.model_server import ModelServer
    from shrag.models.served_model import ServedModel

    def told(state: ServerState) -> None:
        click.echo(f"Language model: {state}", err=True)

    with (
        ModelServer(settings, home / TABLE, told=told) as server,
        closing(ServedModel(settings, server)) as served,
    ):
        yield served
