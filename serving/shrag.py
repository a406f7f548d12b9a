"""Search like a human: keywords, a ladder of OR queries, one pool, a re-ranking, an answer (the SHRAG paper).

With a language model it chooses the keywords in both languages and writes the answer. Without one: keywords by Kiwi and
tf-idf, carried into the other language by the index's own glossary; the answer made of the records' sentences.
"""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.climb import climb
from shrag.serving.events import Event
from shrag.serving.strategy import Request, Resources


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`."""

    name = "shrag"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises as :func:`~shrag.serving.climb.climb` does."""
        return climb(request, resources, self.name, "lexical")
