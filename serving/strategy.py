"""The strategy seam: a question × an open index → a stream of events."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from shrag.indexing.lexical_reranker import LexicalReranker
from shrag.indexing.opening import OpenIndex
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.serving.events import Event
from shrag.serving.question import Question
from shrag.serving.search_settings import PRODUCT, SearchSettings


class Request(NamedTuple):
    """What is asked: at most ``k`` records, ranked, and an answer from the best of them if ``answered``.

    A paper that the index has under two numbers is one record of the ranking unless ``every_record`` asks for both.
    ``settings`` say how they are found; a model's own order of keywords is there only where a model chose them.
    """

    question: Question
    k: int
    answered: bool
    every_record: bool = False
    settings: SearchSettings = PRODUCT


@dataclass(frozen=True, slots=True)
class Resources:
    """What a strategy works with. Where ``model`` is None, or does not answer, everything is done without one."""

    index: OpenIndex
    reranker: Reranker
    model: LanguageModel | None = None

    def without_glossary(self) -> Resources:
        """Return the same, but for words carried into the other language: neither searched for nor ranked by."""
        reranker = self.reranker
        if isinstance(reranker, LexicalReranker):
            reranker = reranker.without_glossary()
        return replace(self, index=replace(self.index, glossary=None), reranker=reranker)


class Strategy(Protocol):
    """A way to answer. Keeps nothing of a question: one object serves any number at once."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """Yield what happens as it is done: keywords, queries, hits, ranking, answer sentences, the answer, timings.

        The events of the answer are there only where the request wants one; the others always come, once each, even
        where there is nothing to find. Between them come the calls of a language model and what was done without it
        because it failed. Closing the iterator stops a model that is writing.
        """
