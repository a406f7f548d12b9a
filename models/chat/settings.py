"""Settings of the language model: an endpoint's address, or a command that starts one."""

from __future__ import annotations

import hashlib
import shlex

import msgspec

from shrag.models.chat.endpoint import read_address
from shrag.models.memory_plan.byte_sizes import parse_size

# What the server's own flags say already; another value would put it where nobody looks for it.
_OURS = {"--uds", "--host", "--port", "--model", "--served-model-name"}


class LlmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The ``[llm]`` table. Neither ``url`` nor ``command``: there is no language model, and answers are extractive.

    An endpoint that runs already: ``url`` (``http://HOST:PORT/v1``, ``https://…`` or ``unix:/PATH``), ``model`` (empty:
    the one it serves) and ``api_key``, sent to that address only. One that ``shrag-serve`` starts: ``command`` (a list,
    or one line split as a shell does), ``weights`` (a folder), ``flags`` put behind those SHRAG gives, ``log`` (a
    file), ``budget`` (``50GB``) of the card for all of SHRAG, from which vLLM's memory flags follow, and the ``card``
    it is planned for where it is not the one here. Times are in seconds: ``timeout`` bounds a whole answer,
    ``read_timeout`` the wait for its next piece, ``keyword_timeout`` the wait for a short answer that nothing can go on
    without, a search neither: keywords. ``max_tokens`` bounds what any one answer may be asked for.

    Raises ``ValueError`` for what does not fit together; ``msgspec.ValidationError``, which is one, where it is read.
    """

    url: str = ""
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
            raise ValueError("url and command are two ways to one model: give the one or the other")
        if self.url:
            read_address(self.url)
        self._check_budget()
        if self.command and not self.weights:
            raise ValueError("command starts a model server and has no weights to give it: add weights = FOLDER")
        for flag in self.extra_flags:
            if flag.partition("=")[0] in _OURS:
                raise ValueError(f"flags holds {flag}, which SHRAG sets itself: leave it out")
        for name in (
            "connect_timeout", "read_timeout", "keyword_timeout", "timeout", "start_timeout", "max_tokens",
        ):  # fmt: skip
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)} and must be above 0")
        if not 0 <= self.retries <= 10:
            raise ValueError(f"retries is {self.retries} and must be from 0 to 10")

    def _check_budget(self) -> None:
        if self.budget and not self.command:
            raise ValueError("budget plans the server that command starts, and there is none: add command")
        if self.budget:
            parse_size(self.budget)

    def __repr__(self) -> str:
        """Show everything but the key: settings end up in logs."""
        shown = (
            f"{name}={'…' if name == 'api_key' and value else value!r}"
            for name in self.__struct_fields__
            if (value := getattr(self, name)) != ""
        )
        return f"LlmSettings({', '.join(shown)})"

    @property
    def fingerprint(self) -> str:
        """A digest of what determines the words of an answer: all settings but the key, the log and the times."""
        determines = (self.url, self.model, self.arguments, self.weights, self.extra_flags, self.max_tokens, self.seed)
        return hashlib.sha256(msgspec.json.encode(determines)).hexdigest()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command, as words."""
        return _words(self.command)

    @property
    def extra_flags(self) -> tuple[str, ...]:
        """The user's own flags, as words."""
        return _words(self.flags)


def _words(given: list[str] | str) -> tuple[str, ...]:
    return tuple(shlex.split(given) if isinstance(given, str) else given)
