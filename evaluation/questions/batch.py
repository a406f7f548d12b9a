"""Ask an engine many questions in parallel, in order, and write a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.records import Topic
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import open_run, write_topic
from shrag.evaluation.questions.outcome import Asked
from shrag.indexing.search_engine import Hit
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.events import KeywordOrder
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.registry import find_strategy


class Written(NamedTuple):
    """How many topics found nothing, and for how many the language model failed and keywords were chosen without it."""

    empty: int
    fallbacks: int


def write_run(
    engine: Engine,
    topics: Sequence[Topic],
    output: Path,
    *,
    k: int,
    strategy: str,
    keyword_order: KeywordOrder | None = None,
    settings: SearchSettings = PRODUCT,
    report: Callable[[str, int], None] = lambda stage, done: None,
) -> Written:
    """Write the ranking of every topic to ``output``, tagged ``shrag-STRATEGY``.

    A paper that the index has under two numbers is ranked under both, since judgements may name either. The file is
    written whole or not at all, compressed where its name ends in ``.gz``. Raises :class:`EvaluationError` naming the
    topic that cannot be asked.
    """
    tag = f"shrag-{find_strategy(strategy).name}".replace(" ", "")  # a run's columns are parted by spaces
    draft = output.with_name(f".part-{output.name}")
    empty = fallbacks = 0
    try:
        with open_run(draft) as stream:
            for done, topic in enumerate(topics, 1):
                try:
                    result = engine.search(
                        topic.text,
                        k=k,
                        strategy=strategy,
                        every_record=True,
                        keyword_order=keyword_order,
                        settings=settings,
                    )
                except QuestionError as error:
                    raise EvaluationError(f"Topic {topic.qid} cannot be asked: {error}") from None
                empty += not result.ranking.records
                fallbacks += bool(result.fallbacks)
                hits = [Hit(ranked.record.docid, ranked.score) for ranked in result.ranking.records]
                write_topic(stream, topic.qid, hits, tag)
                report("topics", done)
        draft.replace(output)
    except OSError as error:
        raise EvaluationError(f"{output} cannot be written: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)
    return Written(empty, fallbacks)


_AHEAD = 16
"""Questions handed to the threads before the first outcome is taken: enough to keep four busy."""


def ask_all(
    ask: Callable[[Topic], Asked], topics: Sequence[Topic], pool: ThreadPoolExecutor
) -> Generator[Asked, None, None]:
    """Yield the outcome of each topic, in their order, asked by the threads of ``pool``.

    An engine keeps nothing of a question, so that the outcomes do not depend on the number of threads. What ``ask``
    raises is raised at its place; those behind it are then not begun, and none is at work any more.
    """
    waiting: deque[Future[Asked]] = deque()
    try:
        for topic in topics:
            waiting.append(pool.submit(ask, topic))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)
