"""Checks of the language model, and of settings by which data may leave the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from urllib.parse import urlsplit

from shrag.cli.doctor.finding import DoctorFinding
from shrag.indexing.search_engine import LUCENE, EngineChoice
from shrag.messages.text import Text, joined
from shrag.models.chat.endpoint import parse_address
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelError, ModelUnavailable
from shrag.serving.http.access import is_loopback

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_JAVA_CONNECTS = ("-agentlib:", "-javaagent:", "-Dcom.sun.management.jmxremote", "proxyHost")


def check_language_model(settings: LlmSettings) -> DoctorFinding:
    """Query the configured endpoint, or check that ``shrag-serve`` can start a model server."""
    what = Text("Language model")
    try:
        if len(settings.urls) > 1:
            return _check_endpoints(settings, what)
        if settings.urls:
            return DoctorFinding(what, "ok", _answering(settings))
        if settings.command:
            from shrag.models.model_server.command import check_server_program, served_name

            check_server_program(settings)
            says = Text(
                "{served_name}, started by shrag-serve from {weights}",
                served_name=served_name(settings),
                weights=settings.weights,
            )
            return DoctorFinding(what, "ok", says)
    except ModelError as error:
        return DoctorFinding(
            what,
            "failure",
            Text("{error} Until then answers are extractive.", error=error),
            6,
            Text("start the model's server, or correct [llm] in shrag.toml (SHRAG_LLM_URL, SHRAG_LLM_COMMAND)"),
        )
    return DoctorFinding(what, "ok", Text("none: answers are extractive. To add one: docs/en/how-to/language-model.md"))


def check_connections(
    settings: LlmSettings, environment: Mapping[str, str], engine: EngineChoice = LUCENE
) -> Iterator[DoctorFinding]:
    """Yield a warning for each setting or variable by which data can leave the machine, or ``ok`` if there is none."""
    what = Text("Outside connections")
    found = [*_addresses(settings), *_database(engine), *_proxies(environment), *_java_options(environment)]
    for says, repair in found:
        yield DoctorFinding(what, "warning", says, repair=repair)
    if not found:
        yield DoctorFinding(what, "ok", Text("no setting that connects to another machine"))


def _check_endpoints(settings: LlmSettings, what: Text) -> DoctorFinding:
    """Query each configured endpoint. Raise :class:`ModelError` if none can be used."""
    from shrag.cli.options.model import open_endpoint_pool

    with closing(open_endpoint_pool(settings)) as pool:
        name, statuses = pool.name, pool.statuses
    problems = [each.problem for each in statuses if each.problem]
    if len(problems) == len(statuses):
        raise ModelUnavailable(problems[0])
    says = Text(
        "{model} at {working} of {count} endpoints",
        model=name,
        working=len(statuses) - len(problems),
        count=len(statuses),
    )
    if not problems:
        return DoctorFinding(what, "ok", says)
    says = Text("{endpoints}. {problems}", endpoints=says, problems=joined(problems, " "))
    return DoctorFinding(what, "warning", says, repair=Text("start the other servers, or take them out of [llm] url"))


def _answering(settings: LlmSettings) -> str:
    from shrag.models.chat.client import OpenAIModel

    with closing(OpenAIModel(settings)) as model:
        health = model.health()
    context = Text("a context of unknown length")
    if health.max_model_len:
        context = Text("a context of {tokens:,} tokens", tokens=health.max_model_len)
    says = Text("{model} at {url} answers, with {context}", model=health.model, url=settings.url, context=context)
    return Text("{answer}, {engine}", answer=says, engine=health.engine) if health.engine else says


def _addresses(settings: LlmSettings) -> Iterator[tuple[Text, Text]]:
    """Yield a message and a repair for each address in the settings that is not this machine's."""
    given = [("[llm] url", url) for url in settings.urls if not parse_address(url).socket]
    given += [("[llm] flags", word.partition("=")[2] or word) for word in settings.extra_flags if "://" in word]
    for where, url in given:
        host = urlsplit(url).hostname or ""
        if not is_loopback(host):
            yield (
                Text("{where}: questions and records are sent to {host}", where=where, host=host),
                Text("name an address of this machine (127.0.0.1, unix:/PATH), or leave it out"),
            )


def _database(engine: EngineChoice) -> Iterator[tuple[Text, Text]]:
    host = urlsplit(engine.address).hostname or ""
    if host and not is_loopback(host):
        yield (
            Text("engine_address: the index is loaded into {host}, and queries are sent there", host=host),
            Text("name an address of this machine (127.0.0.1), or use the engine lucene"),
        )


def _proxies(environment: Mapping[str, str]) -> Iterator[tuple[Text, Text]]:
    names = [name for name, value in environment.items() if value and name.lower() in _PROXIES]
    if names:
        yield (
            Text("{names}: SHRAG uses no proxy, but programs that it starts may", names=", ".join(sorted(names))),
            Text("unset {names}", names=" ".join(sorted(names))),
        )


def _java_options(environment: Mapping[str, str]) -> Iterator[tuple[Text, Text]]:
    for name in _JAVA_OPTIONS:
        if any(option in environment.get(name, "") for option in _JAVA_CONNECTS):
            yield (
                Text("{name} has Java load an agent, open a port or use a proxy", name=name),
                Text("unset {names}", names=name),
            )
