"""The protocol of strategies, and the resources that they work with."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Protocol

from shrag.indexing.errors import EncoderUnavailable
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.vectors.hybrid_reranker import HybridReranker
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.messages.text import Text, message_of
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Event
from shrag.serving.request import Request


@dataclass(frozen=True, slots=True)
class Resources:
    """The index, the re-ranker and the model of a strategy. It does without a ``model`` that is None or fails."""

    index: OpenIndex
    reranker: Reranker
    model: LanguageModel | None = None

    def without_glossary(self) -> Resources:
        """Return the resources without translations, for the search and for the ranking."""
        return replace(self, index=replace(self.index, glossary=None), reranker=_without_glossary(self.reranker))


def _without_glossary(reranker: Reranker) -> Reranker:
    if isinstance(reranker, HybridReranker):
        return replace(reranker, words=_without_glossary(reranker.words))
    return reranker.without_glossary() if isinstance(reranker, LexicalReranker) else reranker


class Strategy(Protocol):
    """A way to answer questions. It keeps no state of a question, so that threads can share it."""

    @property
    def name(self) -> str:
        """The name of the strategy in requests."""

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """Yield the events of answering: keywords, queries, hits, ranking, answer sentences, the answer, timings.

        Except for the sentences, each comes once, in this order, even if nothing is found. The events of the answer
        come only if the request wants an answer. Model calls, fallbacks and the nodes of a plan come between them.
        Closing the generator stops the model.

        Raises:
            StrategyUnavailable: The index or the installation lacks what the strategy needs. It is raised by this call,
                before any event.
            SettingRejected: The request changes a setting that the strategy does not use.
        """


def require_vectors(index: OpenIndex, needed_by: str, instead: str, encoder: str = "lsa") -> VectorIndex:
    """Return the index's vectors, with their encoder loaded.

    Raises :class:`StrategyUnavailable` if the index has no vectors or their encoder cannot be loaded. Without vectors,
    the message says that ``needed_by`` needs them, and advises to build the index with ``encoder`` or to do
    ``instead``.
    """
    if index.dense is None:
        raise StrategyUnavailable(
            Text(
                "Index {name} has no vectors, which {needed_by} needs: build it with `shrag index {name} "
                "--encoder {encoder}`, or {instead}.",
                name=index.name,
                needed_by=needed_by,
                encoder=encoder,
                instead=instead,
            )
        )
    try:
        index.dense.prepare()
    except EncoderUnavailable as error:
        raise StrategyUnavailable(message_of(error)) from error
    return index.dense
