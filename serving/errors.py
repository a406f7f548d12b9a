"""Errors of serving: ServingError and its subclasses. Each message says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shrag.corpora.near_names import did_you_mean
from shrag.messages.text import Text
from shrag.models.errors import InvalidOutput, ModelUnavailable
from shrag.serving.events import Budget, ModelCall

Requirement = Literal["model", "vectors"]
"""What a strategy may require."""


_BUDGETS: dict[Budget, Text] = {
    "depth": Text("depth"),
    "nodes": Text("nodes"),
    "calls": Text("calls"),
    "seconds": Text("seconds"),
}


class ServingError(Exception):
    """A question cannot be answered, or the server cannot run."""


class QuestionError(ServingError):
    """The question is invalid; programs can rely on ``code``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AddressTaken(ServingError):
    """The server cannot listen on the configured address."""


class KeyRejected(ServingError):
    """An API key cannot be used; the message never has the key."""


class StrategyUnavailable(ServingError):
    """The index lacks what the strategy needs: vectors, or their encoder."""

    lacks: Requirement = "vectors"


class ModelNeeded(StrategyUnavailable):
    """The strategy needs a language model, and there is none."""

    lacks = "model"


class UnknownStrategy(ServingError):
    """No strategy has that name."""


class PipelineRejected(UnknownStrategy):
    """A line of pipeline stages cannot be run."""


class BudgetExceeded(ModelUnavailable):
    """A plan has used up one of its budgets: ``exhausted`` names it, and ``allowed`` is how large it was."""

    def __init__(self, exhausted: Budget, allowed: float) -> None:
        budget = _BUDGETS[exhausted]
        super().__init__(Text("The plan reached its limit of {allowed:g} {budget}.", allowed=allowed, budget=budget))
        self.exhausted = exhausted
        self.allowed = allowed


class UnusableOutput(InvalidOutput):
    """A model's output was invalid twice; ``calls`` are the calls that were made for it."""

    def __init__(self, message: str, calls: Sequence[ModelCall]) -> None:
        super().__init__(message)
        self.calls = tuple(calls)


class SettingRejected(ServingError):
    """A search setting is unknown, has an invalid value, or is not used by the strategy."""


class UnknownReranker(ServingError):
    """No re-ranker has that name, or it does not take such options."""


class ServiceUnavailable(ServingError):
    """A question is not answered now, but may be after ``retry_after`` seconds."""

    code = "service_unavailable"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Overloaded(ServiceUnavailable):
    """The queue of waiting questions is full."""

    code = "overloaded"


class DeadlineExceeded(ServiceUnavailable):
    """Answering took longer than a request may take."""

    code = "deadline_exceeded"


class ShuttingDown(ServiceUnavailable):
    """The server is shutting down."""

    code = "shutting_down"

    def __init__(self, message: str = Text("The server is being stopped: ask again once it is back.")) -> None:
        super().__init__(message, retry_after=5)


class ClientDisconnected(ServingError):
    """The client has disconnected, or the caller has cancelled the run."""


class QuestionAbandoned(ServiceUnavailable):
    """Several callers waited for a run, and the thread that worked on it was stopped."""

    code = "cancelled"


class IndexClosed(ShuttingDown):
    """The index is closed, because the server is shutting down."""


class UnknownIndex(ServingError):
    """No served index is called ``name``; the message lists the ``served`` ones."""

    def __init__(self, name: str, served: Sequence[str]) -> None:
        known = ", ".join(served)
        super().__init__(
            Text(
                "There is no index {name!r} here: use one of {known}.{hint}",
                name=name,
                known=known,
                hint=did_you_mean(name, served),
            )
        )


class DocumentMissing(ServingError):
    """The index has no document with that identifier."""
