"""The strategy seam: a question × an open index → a stream of events."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from shrag.indexing.opening import OpenIndex
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.serving.events import Event, KeywordOrder
from shrag.serving.question import Question


class Request(NamedTuple):
    """What is asked: at most ``k`` records, ranked, and an answer from the best of them if ``answered``.

    A paper that the index has under two numbers is one record of the ranking unless ``every_record`` asks for both.
    ``keyword_order`` says by what keywords are ranked; the model's own order is there only where a model chose them.
    """

    question: Question
    k: int
    answered: bool
    every_record: bool = False
    keyword_order: KeywordOrder = "tfidf"


@dataclass(frozen=True, slots=True)
class Resources:
    """What a strategy works with. Where ``model`` is None, or does not answer, everything is done without one."""

    index: OpenIndex
    reranker: Reranker
    model: LanguageModel | None = None


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
