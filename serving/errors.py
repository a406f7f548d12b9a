"""ServingError and its subclasses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shrag.models.errors import InvalidOutput, ModelUnavailable
from shrag.serving.events import Budget, ModelCall

Lack = Literal["model", "vectors"]
"""What a strategy may need that is not here."""


class ServingError(Exception):
    """A question cannot be answered or the server cannot run; the message says what to do about it."""


class QuestionError(ServingError):
    """The question itself is at fault; ``code`` is stable and for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AddressTaken(ServingError):
    """The server cannot listen where it was told to."""


class KeyRejected(ServingError):
    """An API key cannot be used; the message never has the key."""


class StrategyUnavailable(ServingError):
    """The index lacks what the strategy needs: vectors, or their encoder."""

    lacks: Lack = "vectors"


class ModelNeeded(StrategyUnavailable):
    """The strategy is nothing without a language model, and there is none."""

    lacks = "model"


class UnknownStrategy(ServingError):
    """There is no strategy of that name."""


class PipelineRejected(UnknownStrategy):
    """A line of pipeline stages cannot be run."""


class BudgetExceeded(ModelUnavailable):
    """A plan has used up a budget, ``allowed`` of ``exhausted``; it answers from what is known by then."""

    def __init__(self, exhausted: Budget, allowed: float) -> None:
        super().__init__(f"The plan has used up the {allowed:g} {exhausted} it was allowed.")
        self.exhausted = exhausted
        self.allowed = allowed


class UnusableOutput(InvalidOutput):
    """What a model wrote cannot be used; ``calls`` were made for it, and are told all the same."""

    def __init__(self, message: str, calls: Sequence[ModelCall]) -> None:
        super().__init__(message)
        self.calls = tuple(calls)


class SettingRejected(ServingError):
    """There is no search setting of that name, or it cannot have that value."""


class UnknownReranker(ServingError):
    """There is no re-ranker of that name, or not with such options."""


class NotServed(ServingError):
    """A question is not worked on, or no longer; asking again after ``retry_after`` seconds may help."""

    code = "not_served"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Overloaded(NotServed):
    """As many questions wait as may."""

    code = "overloaded"


class DeadlineExceeded(NotServed):
    """An answer took longer than a request may."""

    code = "deadline_exceeded"


class Stopping(NotServed):
    """The server is being stopped."""

    code = "stopping"

    def __init__(
        self, message: str = "The server is being stopped: ask again once it is back.", retry_after: int = 5
    ) -> None:
        super().__init__(message, retry_after)


class ClientLeft(ServingError):
    """Nobody waits for the answer any more."""


class QuestionAbandoned(NotServed):
    """The answering of a question was stopped while others waited for it; asking again is all there is to do."""

    code = "abandoned"


class IndexClosed(Stopping):
    """The server is stopping and takes no more questions."""


class UnknownIndex(ServingError):
    """No index of that name is served."""


class DocumentMissing(ServingError):
    """The index has no document of that identifier."""
