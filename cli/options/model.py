"""Read the settings of the language model, and open the model.

The settings are in the table ``[llm]`` of ``shrag.toml`` and in the variables ``SHRAG_LLM_*``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from shrag.cli.output import echo_or_drop
from shrag.cli.settings import Home
from shrag.corpora.data_folder import CONFIG_FILE
from shrag.corpora.files import check_name
from shrag.corpora.near_names import did_you_mean
from shrag.messages.text import Text
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import GpuMissing

if TYPE_CHECKING:
    from shrag.models.chat.client import OpenAIModel
    from shrag.models.chat.endpoint_pool import EndpointPool
    from shrag.models.language_model import LanguageModel
    from shrag.models.memory_plan.plan import MemoryPart, MemoryPlan
    from shrag.models.model_server.server import ServerState

TABLE = "llm"
_PREFIX = "SHRAG_LLM_"


def llm_settings() -> LlmSettings:
    """Return the language model's settings for the running command. Variables take precedence over the table."""
    root = click.get_current_context().find_root()
    return read_llm_settings((root.default_map or {}).get(TABLE, {}), os.environ)


def read_llm_settings(table: Mapping[str, Any], environment: Mapping[str, str]) -> LlmSettings:
    """Return the settings of ``table`` and ``SHRAG_LLM_*``. Raise ``click.UsageError`` for unknown or invalid ones."""
    if not isinstance(table, Mapping):
        raise click.UsageError(
            Text(
                "{table} in {config_file} must be a table: write [{table}] and its keys below it.",
                table=TABLE,
                config_file=CONFIG_FILE,
            )
        )
    given = {
        name.removeprefix(_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(_PREFIX) and value
    }
    known = LlmSettings.__struct_fields__
    for key, where in [
        *((key, Text("[{table}] in {config_file}", table=TABLE, config_file=CONFIG_FILE)) for key in table),
        *((key, _PREFIX + "*") for key in given),
    ]:
        if key not in known:
            raise click.UsageError(
                Text(
                    "{where} has no option {key!r}: use {known}.{hint}",
                    where=where,
                    key=key,
                    known=", ".join(sorted(known)),
                    hint=did_you_mean(key, known),
                )
            )
    try:
        return msgspec.convert({**table, **given}, LlmSettings, strict=False)
    except msgspec.ValidationError as error:
        raise click.UsageError(
            # The cause is an error of the settings themselves, which has its message in each language.
            Text("The settings of the language model are invalid: {error}.", error=error.__cause__ or error)
        ) from None


def open_language_model(settings: LlmSettings) -> OpenAIModel | EndpointPool | None:
    """Return a client of the model at ``settings.url``, or None without a URL.

    If there are several addresses, the client uses all of them. No request is sent yet. The caller closes the client.
    Commands other than ``shrag-serve`` cannot use a model that it starts by ``command``.
    """
    if not settings.urls:
        return None
    from shrag.models.chat.client import OpenAIModel

    return OpenAIModel(settings) if len(settings.urls) == 1 else open_endpoint_pool(settings)


def open_endpoint_pool(settings: LlmSettings) -> EndpointPool:
    """Return a client of all addresses of ``settings.url``. The caller closes it; no request is sent yet."""
    from shrag.models.chat.client import OpenAIModel
    from shrag.models.chat.endpoint_pool import EndpointPool

    # A request that fails is tried at another address at once, rather than again at the same one after a pause.
    return EndpointPool([OpenAIModel(msgspec.structs.replace(settings, url=url, retries=0)) for url in settings.urls])


no_model_option = click.option("--no-model", is_flag=True, help="Do not use the configured language model.")


def configured_model(*, no_model: bool) -> LanguageModel | None:
    """Return a client of the configured language model; None with ``--no-model`` or without a URL."""
    return None if no_model else open_language_model(llm_settings())


@contextmanager
def running_language_model(
    settings: LlmSettings, home: Home, indexes: Sequence[str], reranker: str
) -> Iterator[LanguageModel | None]:
    """Yield a client of the configured model, or None without one. If ``command`` is set, run its server meanwhile.

    With a ``budget``, GPU memory is planned for the server, the re-ranker, and the vectors and encoders of ``indexes``.
    Once the server is ready, the plan is compared with the memory in use.

    Raises:
        ModelError: The server or its weights are missing, or the memory cannot be planned.
    """
    if not settings.command:
        model = open_language_model(settings)
        with nullcontext() if model is None else closing(model):
            yield model
        return
    from shrag.models.encoders.network import limit_gpu_memory
    from shrag.models.memory_plan.retrieval_memory import network_memory
    from shrag.models.model_server.command import add_plan_flags, plan_server
    from shrag.models.model_server.served_model import ServedModel
    from shrag.models.model_server.server import ModelServer

    plan = None
    if settings.budget:
        retrieval = plan_retrieval(home, indexes, reranker)
        plan = plan_server(settings, retrieval, home.weights)
        if size := network_memory(retrieval):
            limit_gpu_memory(size)

    def report_state(state: ServerState) -> None:
        echo_or_drop(Text("Language model: {state}", state=state.text))
        if plan is not None and state.phase == "ready":
            echo_or_drop(Text("GPU memory: {comparison}", comparison=_compare_with_gpu(plan)))

    planned = add_plan_flags(settings, plan)
    context = copy_context()  # the server's thread has neither the language nor the verbosity of the command line
    with (
        ModelServer(
            planned, home.path / TABLE, on_change=lambda state: context.copy().run(report_state, state)
        ) as server,
        closing(ServedModel(planned, server)) as served,
    ):
        yield served


def plan_retrieval(home: Home, indexes: Sequence[str], reranker: str) -> tuple[MemoryPart, ...]:
    """Return the GPU memory of the re-ranker and of the indexes' encoders and vectors."""
    from shrag.indexing.storage.generations import current_generation
    from shrag.indexing.storage.vector_card import LSA, encoder_of
    from shrag.models.encoders.choice import split_choice
    from shrag.models.encoders.weights import is_path
    from shrag.models.memory_plan.retrieval_memory import NO_MODEL, VectorTable, retrieval_parts
    from shrag.serving.retrieval.rerankers import model_of_reranker

    manifests = [current_generation(home.indexes / check_name(index))[1] for index in indexes]
    cards = [card for manifest in manifests if (card := manifest.vectors) is not None and card.encoder != LSA]
    encoders = [(encoder_of(card, home.weights), VectorTable(card.rows, card.dimension)) for card in cards]
    # An index whose encoder was a folder that is gone is searched by words, so nothing of it is on the GPU.
    found = [each for each in encoders if not is_path(each[0]) or Path(split_choice(each[0])[0]).is_dir()]
    return retrieval_parts(
        [encoder for encoder, _ in found],
        model_of_reranker(reranker, home.weights) or NO_MODEL,
        [vectors for _, vectors in found],
        home.weights,
    )


def _compare_with_gpu(plan: MemoryPlan) -> str:
    from shrag.models.memory_plan.gpu_use import compare_use, read_gpu

    try:
        return compare_use(plan, read_gpu()).text
    except GpuMissing as error:
        return Text("not compared with the plan ({error})", error=error)
