"""The settings of the language model: the address of an endpoint, or a command that starts one."""

from __future__ import annotations

import hashlib
import shlex

import msgspec

from shrag.messages.text import Text
from shrag.models.chat.endpoint import parse_address
from shrag.models.memory_plan.byte_sizes import parse_size

# SHRAG sets these itself, since the server could not be reached, or would refuse requests, under other values.
_RESERVED_FLAGS = {"--uds", "--host", "--port", "--model", "--served-model-name", "--scheduling-policy"}

_TIMES = ("connect_timeout", "read_timeout", "keyword_timeout", "timeout", "start_timeout")

_LONGEST_TIME = 1_000_000
"""Seconds. The system's calls take no infinite time, nor one of some centuries."""


class LlmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The ``[llm]`` table. Without ``url`` and ``command`` there is no language model, and answers are extractive.

    Raises ``ValueError`` if settings contradict each other or a value is out of range; decoding raises its subclass
    ``msgspec.ValidationError``, caused by the former.

    Attributes:
        url: The address of a running endpoint: ``http://HOST:PORT/v1``, ``https://…`` or ``unix:/PATH``. Several
            addresses that serve the same model are a list, or one line with commas between them.
        model: The name of the model; empty for the only one that the endpoint serves.
        command: The command that starts a model server: a list, or one line that is split as in a shell.
        weights: The folder of the weights that the started server loads.
        flags: Further options of that server, put after the options that SHRAG sets.
        budget: The GPU memory for all of SHRAG (``50GB``), from which vLLM's memory options follow.
        card: The GPU card to plan for; empty for the card of this machine.
        read_timeout: Seconds to wait for the next piece of a streamed response.
        keyword_timeout: Seconds for keywords or a rewritten follow-up question, which searches wait for.
        timeout: Seconds for any complete response.
        start_timeout: Seconds until a started server must be ready.
        retries: Repetitions of a failed request, 0 to 10. With several addresses, another address is tried instead.
        max_tokens: The most tokens of one response.
    """

    url: list[str] | str = ""
    model: str = ""
    api_key: str = ""
    command: list[str] | str = msgspec.field(default_factory=list)
    weights: str = ""
    flags: list[str] | str = msgspec.field(default_factory=list)
    log: str = ""
    budget: str = ""
    card: str = ""
    connect_timeout: float = 5.0
    read_timeout: float = 120.0
    keyword_timeout: float = 20.0
    timeout: float = 300.0
    start_timeout: float = 900.0
    retries: int = 2
    max_tokens: int = 2048
    seed: int = 0

    def __post_init__(self) -> None:
        if self.url and self.command:
            raise ValueError(Text("url and command are alternatives: give only one of them"))
        for url in self.urls:
            parse_address(url)
        if len(set(self.urls)) < len(self.urls):
            raise ValueError(Text("url has an address twice: give each once"))
        self._check_key()
        self._check_started_server()
        for name in _TIMES:
            value = getattr(self, name)
            if not 0 < value <= _LONGEST_TIME:
                raise ValueError(
                    Text(
                        "{name} is {value} and must be above 0 and at most {longest}",
                        name=name,
                        value=value,
                        longest=_LONGEST_TIME,
                    )
                )
        if not self.max_tokens > 0:
            raise ValueError(Text("max_tokens is {value} and must be above 0", value=self.max_tokens))
        if not 0 <= self.retries <= 10:
            raise ValueError(Text("retries is {value} and must be from 0 to 10", value=self.retries))

    def _check_key(self) -> None:
        # The client that cannot send a key would show it in its error.
        if not all("!" <= character <= "~" for character in self.api_key):
            raise ValueError(
                Text("api_key has a space, a line break or a character that is not ASCII: give the key alone")
            )

    def _check_started_server(self) -> None:
        if self.budget and not self.command:
            raise ValueError(Text("budget is for a server that command starts: add command, or leave budget out"))
        if self.budget:
            parse_size(self.budget)
        if self.command and not "".join(self.arguments).strip():
            raise ValueError(Text("command is blank: give the program that starts the server, or leave it out"))
        if self.command and not self.weights:
            raise ValueError(Text("command starts a model server, which needs weights: add weights = FOLDER"))
        for flag in self.extra_flags:
            if flag.partition("=")[0].replace("_", "-") in _RESERVED_FLAGS:  # vLLM reads either
                raise ValueError(Text("flags holds {flag}, which SHRAG sets itself: leave it out", flag=flag))

    def __repr__(self) -> str:
        """Show every setting except the value of the key, since settings are logged."""
        shown = (
            f"{name}={'…' if name == 'api_key' and value else value!r}"
            for name in self.__struct_fields__
            if (value := getattr(self, name)) != ""
        )
        return f"LlmSettings({', '.join(shown)})"

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the settings that determine an answer's text: no key, log, budget, card, retries or times."""
        determines = (self.urls, self.model, self.arguments, self.weights, self.extra_flags, self.max_tokens, self.seed)
        return hashlib.sha256(msgspec.json.encode(determines)).hexdigest()

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses."""
        given = self.url.split(",") if isinstance(self.url, str) else self.url
        return tuple(url.strip() for url in given if url.strip())

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command as a list of arguments."""
        return _words("command", self.command)

    @property
    def extra_flags(self) -> tuple[str, ...]:
        """The user's flags as a list of arguments."""
        return _words("flags", self.flags)


def _words(name: str, given: list[str] | str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(given) if isinstance(given, str) else given)
    except ValueError as error:
        raise ValueError(
            Text("{name} cannot be split as in a shell ({error}): correct it, or give a list", name=name, error=error)
        ) from None
