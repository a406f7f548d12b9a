"""Where the server takes the engine for each question from: an index kept current, or one engine from first to last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shrag.serving.engine import Engine
from shrag.serving.errors import IndexClosed
from shrag.serving.leased_engine import Lease, LeasedEngine

_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What is served and what is not.

    ``generation`` is what new questions go to, ``closing`` are those before it that still have questions to answer.
    ``problem`` says why what is published is not what is served, empty where it is. ``swaps`` counts the generations
    taken up since the start.
    """

    generation: int
    closing: tuple[int, ...]
    problem: str
    swaps: int


class EngineSource(Protocol):
    """Gives the engine that a question is asked of. Safe to share between threads."""

    @property
    def name(self) -> str:
        """The index's name."""

    @property
    def standing(self) -> Standing:
        """What is served and what is not."""

    def use(self) -> Lease:
        """Return a lease on the engine: ``with source.use() as engine:`` keeps it open, and the same, to the end.

        Raises :class:`IndexClosed`.
        """

    def close(self) -> None:
        """Give no more leases; every engine is closed when its last one is released."""


class FixedEngine:
    """Implements :class:`EngineSource` over one engine, whatever is published; closes it."""

    def __init__(self, engine: Engine) -> None:
        self._name = engine.name
        self._leased = LeasedEngine(engine)

    @property
    def name(self) -> str:
        """See :class:`EngineSource`."""
        return self._name

    @property
    def standing(self) -> Standing:
        """See :class:`EngineSource`."""
        return Standing(self._leased.generation, (), "", 0)

    def use(self) -> Lease:
        """See :class:`EngineSource`."""
        lease = self._leased.lease()
        if lease is None:
            raise IndexClosed(f"Index {self._name} is closed: the server is stopping.")
        return lease

    def close(self) -> None:
        """See :class:`EngineSource`; an engine that nobody uses is waited for."""
        self._leased.retire()
        if not self._leased.in_use:
            self._leased.wait_closed(_STOP_SECONDS)
