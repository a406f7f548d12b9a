"""Ask an engine many questions: write a TREC run, or yield outcomes from several threads in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.records import Topic
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import open_run, write_topic
from shrag.evaluation.questions.outcome import QuestionRecord
from shrag.indexing.search_engine import Hit
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.events import KeywordOrder
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.registry import find_strategy


class WrittenRun(NamedTuple):
    """Number of topics without a record, and of topics ranked without the language model because it failed."""

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
) -> WrittenRun:
    """Write the ranking of every topic to the run file ``output``, tagged ``shrag-STRATEGY``.

    Duplicates of a paper are ranked under each of their docids, since judgements may name any of them. The file appears
    by one rename when it is complete; it is compressed if its name ends in ``.gz``. ``report`` is called with the stage
    and the number of topics done. Raises :class:`EvaluationError` where a topic cannot be asked, or the file not be
    written.
    """
    tag = f"shrag-{find_strategy(strategy).name}".replace(" ", "")  # the columns of a run are separated by spaces
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
    return WrittenRun(empty, fallbacks)


_QUEUED = 16
"""Questions submitted to the threads ahead of the outcome being waited for: enough for four threads."""


def ask_all(
    ask: Callable[[Topic], QuestionRecord], topics: Sequence[Topic], pool: ThreadPoolExecutor
) -> Generator[QuestionRecord, None, None]:
    """Yield the record of each topic, in their order, asked by the threads of ``pool``.

    The records do not depend on the number of threads. An exception of ``ask`` is raised at its topic's position; the
    topics after it that have not started are cancelled, and those that have are waited for.
    """
    waiting: deque[Future[QuestionRecord]] = deque()
    try:
        for topic in topics:
            waiting.append(pool.submit(ask, topic))
            if len(waiting) > _QUEUED:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)
