"""SHRAG: offline search and cited answers over Korean and English scholarly text.

    import shrag

    engine = shrag.open("demo")
    engine.search("그래핀은 전자파를 얼마나 차단하는가?").ranking.records[0].record.title
    engine.ask("How long should a lecture video be?").answer

What a command can do, a call can do: :func:`open` here, building in :mod:`shrag.corpora.ingest.add` and
:mod:`shrag.indexing.build.builder`, bulk evaluation in :mod:`shrag.evaluation`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shrag.indexing.search_engine import EngineName
    from shrag.indexing.storage.checksums import Verify
    from shrag.models.language_model import LanguageModel
    from shrag.serving.engine import Engine

__all__ = ["open"]


def open(
    index: str,
    home: str | os.PathLike[str] | None = None,
    *,
    verify: Verify = "full",
    model: LanguageModel | None = None,
    reranker: str = "auto",
    min_score: float | None = None,
    min_confidence: float | None = None,
    engine: EngineName = "lucene",
) -> Engine:
    """Open the index of that name under ``home`` (default: ``$SHRAG_HOME``, else ``var``) for questions.

    With a ``model`` (:class:`shrag.models.chat.client.OpenAIModel`) it chooses the keywords and writes the answers.
    Records are ranked by the ``reranker`` (:func:`shrag.serving.retrieval.rerankers.open_reranker`).
    A question is refused where the confidence that a record answers it is below ``min_confidence`` (None: the index's).

    Words are searched by the ``engine``, ``pyserini`` for a comparison with Pyserini.

    Every byte of it is checked first; with ``verify="quick"`` while questions are answered already.

    Raises :class:`shrag.indexing.errors.IndexingError`, whose message says what to do.
    """
    from shrag.serving.engine import open_engine

    indexes = Path(home or os.environ.get("SHRAG_HOME", "var")) / "indexes"
    return open_engine(
        indexes,
        index,
        verify=verify,
        model=model,
        reranker=reranker,
        min_score=min_score,
        min_confidence=min_confidence,
        engine=engine,
    )
