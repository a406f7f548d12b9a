"""Search like a human: keywords, reduced OR queries, one list of candidates, re-ranking, an answer (the SHRAG paper).

With a language model it chooses the keywords in both languages and writes the answer. Without one: keywords by Kiwi and
tf-idf, translated by the index's own glossary; the answer made of the records' sentences.

``hybrid`` adds the index's vectors. They find what shares no word with the question; the queries find the word itself.
Which of the two to trust differs from one collection to the next (``docs/vectors.md``), so their fusion only gathers
the candidates, and words and cosine decide together.
"""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.answering.answer import answer
from shrag.serving.events import Event
from shrag.serving.request import Request
from shrag.serving.retrieval.retriever import retrieve
from shrag.serving.search_settings import Candidates
from shrag.serving.strategy import Resources, StageTimer, require_vectors

COSINE_WEIGHT = 2.0
"""Weight of the cosine beside the re-ranker's score, which is in units of idf; ``docs/vectors.md`` has the figures."""


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`; as it is by default, with words alone."""

    def __init__(self, name: str = "shrag", candidates: Candidates = "lexical", cosine_weight: float = 0.0) -> None:
        """Make the strategy called ``name``.

        Args:
            name: Its name.
            candidates: Where its candidates come from unless a request's settings say otherwise.
            cosine_weight: What the cosine of stored vectors counts beside the re-ranker's score.
        """
        self.name = name
        self._candidates = candidates
        self._cosine_weight = cosine_weight

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        source = self._candidates if request.settings.candidates == "strategy" else request.settings.candidates
        if self._cosine_weight or source != "lexical":
            require_vectors(resources.index, f"the strategy {self.name}", "ask with another strategy")
        return retrieve_and_answer(request, resources, source, self._cosine_weight)


def hybrid_strategy(cosine_weight: float = COSINE_WEIGHT) -> ShragStrategy:
    """Return the strategy ``hybrid``, for an index that was built with an encoder."""
    return ShragStrategy("hybrid", "hybrid", cosine_weight)


def retrieve_and_answer(
    request: Request, resources: Resources, source: Candidates, cosine_weight: float
) -> Generator[Event, None, None]:
    """Yield the events of retrieving records and answering from them."""
    timer = StageTimer()
    found = yield from retrieve(request, resources, source, timer, cosine_weight)
    yield from answer(request, found, resources, timer)
