"""Strategy protocol, the resources strategies work with, and the timer of their stages."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from shrag.indexing.errors import EncoderUnavailable
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Event
from shrag.serving.request import Request
from shrag.serving.search_settings import Candidates


@dataclass(frozen=True, slots=True)
class Resources:
    """What a strategy works with. Where ``model`` is None, or does not answer, everything is done without one."""

    index: OpenIndex
    reranker: Reranker
    model: LanguageModel | None = None

    def without_glossary(self) -> Resources:
        """Return the same without translations: neither searched for nor ranked by."""
        reranker = self.reranker
        if isinstance(reranker, LexicalReranker):
            reranker = reranker.without_glossary()
        return replace(self, index=replace(self.index, glossary=None), reranker=reranker)


@dataclass(slots=True)
class StageTimer:
    """Adds up the seconds of named stages; ``seconds`` has them in the order in which the stages first ended."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to the stage ``name``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def add(self, name: str, seconds: float) -> None:
        """Add ``seconds``, measured elsewhere, to the stage ``name``."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


class Strategy(Protocol):
    """A way to answer. Keeps nothing of a question: one object serves any number at once."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """Return what happens as it is done: keywords, queries, hits, ranking, answer sentences, the answer, timings.

        The events of the answer are there only where the request wants one; the others always come, once each, even
        where there is nothing to find. Between them come the calls of a language model and what was done without it
        because it failed. Closing the generator stops a model that is writing.

        Raises:
            StrategyUnavailable: The index or the installation lacks what the strategy needs; raised before any event.
            SettingRejected: The request changes a setting that the strategy does not use.
        """


def choose_candidates(request: Request, own: Candidates) -> Candidates:
    """Return where candidates come from: what the settings say, or what the strategy has for its ``own``."""
    return own if request.settings.candidates == "strategy" else request.settings.candidates


def require_vectors(index: OpenIndex, needed_by: str, instead: str, encoder: str = "lsa") -> VectorIndex:
    """Return the index's vectors with their encoder loaded.

    Args:
        index: The index.
        needed_by: What needs the vectors, for the message.
        instead: What can be done without them, for the message.
        encoder: The encoder to build the index with.

    Raises:
        StrategyUnavailable: The index has no vectors, or their encoder cannot be loaded.
    """
    if index.dense is None:
        raise StrategyUnavailable(
            f"Index {index.name} has no vectors, which {needed_by} needs: build it with "
            f"`shrag index {index.name} --encoder {encoder}`, or {instead}."
        )
    try:
        index.dense.prepare()
    except EncoderUnavailable as error:
        raise StrategyUnavailable(str(error)) from error
    return index.dense
