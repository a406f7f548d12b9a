"""Options of the language model: the ``[llm]`` table and ``SHRAG_LLM_*``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click
import msgspec

from shrag.cli.settings import CONFIG_FILE, Home
from shrag.corpora.files import check_name
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import GpuMissing

if TYPE_CHECKING:
    from shrag.models.chat.client import OpenAIModel
    from shrag.models.language_model import LanguageModel
    from shrag.models.memory_plan.plan import MemoryPart, MemoryPlan
    from shrag.models.model_server.server import ServerState

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
    from shrag.models.chat.client import OpenAIModel

    return OpenAIModel(settings)


no_model_option = click.option("--no-model", is_flag=True, help="Ask no language model, though one is configured.")
"""For commands that ask questions."""


def asked_language_model(*, no_model: bool) -> LanguageModel | None:
    """Return the model that the command being run asks: the configured one, none where the user wants none."""
    return None if no_model else open_language_model(llm_settings())


@contextmanager
def running_language_model(settings: LlmSettings, home: Home, index: str) -> Iterator[LanguageModel | None]:
    """Give the model as :func:`open_language_model` does, or, with ``command``, one whose server runs meanwhile.

    With a ``budget`` the server is held to a plan beside the vectors and the encoder of ``index``, and what the card
    really holds is compared with it once the server is ready. Raises
    :class:`~shrag.models.errors.ServerProgramMissing`, :class:`~shrag.models.errors.WeightsMissing` and what planning
    does.
    """
    if not settings.command:
        model = open_language_model(settings)
        with nullcontext() if model is None else closing(model):
            yield model
        return
    from shrag.models.model_server.planned_server import add_plan_flags, plan_server
    from shrag.models.model_server.served_model import ServedModel
    from shrag.models.model_server.server import ModelServer

    plan = plan_server(settings, _retrieval(home, index), home.weights) if settings.budget else None

    def report(state: ServerState) -> None:
        click.echo(f"Language model: {state}", err=True)
        if plan is not None and state.phase == "ready":
            click.echo(f"Memory of the card: {_held(plan)}", err=True)

    planned = add_plan_flags(settings, plan)
    with (
        ModelServer(planned, home.path / TABLE, on_change=report) as server,
        closing(ServedModel(planned, server)) as served,
    ):
        yield served


def _retrieval(home: Home, index: str) -> tuple[MemoryPart, ...]:
    """Return what the index's encoder and vectors take of the card."""
    from shrag.indexing.storage.generations import current_generation
    from shrag.indexing.storage.vector_card import LSA
    from shrag.models.memory_plan.retrieval_memory import NO_MODEL, VectorTable, retrieval_parts

    _, manifest = current_generation(home.indexes / check_name(index))
    card = manifest.vectors
    if card is None or card.encoder == LSA:
        return ()
    return retrieval_parts(card.encoder, NO_MODEL, VectorTable(card.rows, card.dimension), home.weights)


def _held(plan: MemoryPlan) -> str:
    from shrag.models.memory_plan.gpu_use import compare_use, read_gpu

    try:
        return str(compare_use(plan, read_gpu()))
    except GpuMissing as error:
        return f"not compared with the plan ({error})"
