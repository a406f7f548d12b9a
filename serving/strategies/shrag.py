"""The strategies shrag and hybrid: keywords, reduced OR queries, re-ranking, an answer (the SHRAG paper).

A language model, if there is one, chooses the keywords in both languages and writes the answer. Without one, keywords
are chosen by Kiwi and tf-idf and translated by the index's glossary, and the answer is extractive.

``hybrid`` adds candidates by the index's vectors. Whether words or vectors are better differs between collections
(``docs/vectors.md``), so their fusion only gathers candidates, and re-ranking adds the cosine to the score.
"""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.answering.answer import answer
from shrag.serving.events import Event
from shrag.serving.request import Request
from shrag.serving.retrieval.retriever import retrieve
from shrag.serving.search_settings import Candidates
from shrag.serving.strategy import Resources, StageTimer, choose_candidates, require_vectors

COSINE_WEIGHT = 2.0
"""Weight of the cosine in the ranking score, whose unit is idf; ``docs/vectors.md`` has the figures."""


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`.

    Args:
        name: The strategy's name.
        candidates: Where candidates come from unless the settings of a request say otherwise.
        cosine_weight: Weight of the cosine in the ranking score; 0 leaves it out.
    """

    def __init__(self, name: str = "shrag", candidates: Candidates = "lexical", cosine_weight: float = 0.0) -> None:
        self.name = name
        self._candidates = candidates
        self._cosine_weight = cosine_weight

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        source = choose_candidates(request, self._candidates)
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
