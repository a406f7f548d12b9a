"""Ask questions: write a TREC run, or yield records from several threads in order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.files import MACHINE_ERRORS, disk_errors
from shrag.corpora.records import Topic
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import open_run, write_topic
from shrag.evaluation.questions.outcome import QuestionOutcome, QuestionRecord, record_answer, record_search
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.indexing.search_engine import Hit
from shrag.messages.text import Text
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.events import KeywordOrder
from shrag.serving.results import SearchResult
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.registry import find_strategy


class WrittenRun(NamedTuple):
    """Facts about a written run that are not in its file.

    Attributes:
        empty: Number of topics without a record.
        fallbacks: Number of topics ranked without the language model because it failed.
        depths: The least and the greatest number of hits that the queries of a topic asked for.
    """

    empty: int
    fallbacks: int
    depths: tuple[int, int]


def write_run(
    engine: Engine,
    topics: Sequence[Topic],
    output: Path,
    *,
    k: int,
    strategy: str,
    keyword_order: KeywordOrder | None = None,
    settings: SearchSettings = PRODUCT,
    record_filter: RecordFilter = EVERY_RECORD,
    outcomes: Path | None = None,
    answered: bool = False,
    report: Callable[[str, int], None] = lambda stage, done: None,
) -> WrittenRun:
    """Write the ranking of every topic to the run file ``output``, tagged ``shrag-STRATEGY``.

    If records are duplicates of one paper, each is ranked under its own docid, because judgements may name any of them.
    Each file appears by one rename when it is complete. The run is compressed if its name ends in ``.gz``.

    Args:
        engine: The engine to ask.
        topics: The questions.
        output: The run file.
        k: Records per topic.
        strategy: A strategy's name, or the stages of a pipeline.
        keyword_order: What keywords are ranked by; overrides the settings.
        settings: Search settings.
        record_filter: The records that may be found.
        outcomes: A file for the outcome of each topic: JSON Lines of
            :class:`~shrag.evaluation.questions.outcome.QuestionOutcome` without judgements.
        answered: Whether to answer, not only search. The answers are in the outcomes.
        report: Called with the stage and the number of topics done.

    Raises:
        EvaluationError: A topic cannot be asked, or a file cannot be written.
        DiskFull: The disk is full.
    """
    tag = f"shrag-{find_strategy(strategy).name}".replace(" ", "")  # the columns of a run are separated by spaces
    drafts = {path.with_name(f".part-{path.name}"): path for path in (output, outcomes) if path is not None}
    empty = fallbacks = 0
    depths = set[int]()
    try:
        with disk_errors(output.parent), ExitStack() as stack:
            # All files are opened before the first question, so that one that cannot be written is found then.
            run_draft, *outcome_drafts = drafts
            stream = stack.enter_context(open_run(run_draft))
            asked = [stack.enter_context(draft.open("wb")) for draft in outcome_drafts]
            for done, topic in enumerate(topics, 1):
                try:
                    record, result = ask_question(
                        engine, topic, {}, answered=answered, k=k, strategy=strategy, settings=settings,
                        keyword_order=keyword_order, record_filter=record_filter,
                    )  # fmt: skip
                except QuestionError as error:
                    raise EvaluationError(
                        Text("Topic {qid} cannot be asked: {error}", qid=topic.qid, error=error)
                    ) from None
                for each in asked:
                    each.write(msgspec.json.encode(record.outcome) + b"\n")
                empty += not result.ranking.records
                fallbacks += bool(result.fallbacks)
                depths.add(result.hits.depth)
                hits = [Hit(ranked.record.docid, ranked.score) for ranked in result.ranking.records]
                write_topic(stream, topic.qid, hits, tag)
                report("topics", done)
        for draft, path in drafts.items():
            draft.replace(path)
    except OSError as error:
        if error.errno in MACHINE_ERRORS:
            raise
        unwritten = next((path for draft, path in drafts.items() if str(draft) == str(error.filename)), output)
        raise EvaluationError(
            Text("{output} cannot be written: {strerror}.", output=unwritten, strerror=error.strerror)
        ) from error
    finally:
        for draft in drafts:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
    return WrittenRun(empty, fallbacks, (min(depths, default=0), max(depths, default=0)))


def ask_question(
    engine: Engine,
    topic: Topic,
    judged: Mapping[str, int],
    *,
    answered: bool,
    k: int,
    strategy: str,
    settings: SearchSettings,
    keyword_order: KeywordOrder | None = None,
    choices: Sequence[str] = (),
    record_filter: RecordFilter = EVERY_RECORD,
) -> tuple[QuestionRecord, SearchResult]:
    """Ask one question, and return its record and the search. Each duplicate of a paper is ranked under its own docid.

    ``judged`` is docid → relevance. ``answered`` says whether to answer, not only search. The other arguments are those
    of :meth:`~shrag.serving.engine.Engine.ask`.
    """
    if answered:
        answer = engine.ask(
            topic.text, k=k, strategy=strategy, every_record=True, keyword_order=keyword_order, settings=settings,
            choices=choices, record_filter=record_filter,
        )  # fmt: skip
        return record_answer(topic.qid, answer, judged), answer.search
    found = engine.search(
        topic.text, k=k, strategy=strategy, every_record=True, keyword_order=keyword_order, settings=settings,
        choices=choices, record_filter=record_filter,
    )  # fmt: skip
    return record_search(topic.qid, found, judged), found


def read_outcome_file(path: Path) -> list[QuestionOutcome]:
    """Return the outcomes in a file that :func:`write_run` wrote, or in the ``.questions.jsonl`` of an experiment.

    Raises :class:`EvaluationError` if the file cannot be read, is not of this kind, or has a question twice.
    """
    try:
        outcomes = msgspec.json.Decoder(QuestionOutcome).decode_lines(path.read_bytes())
    except OSError as error:
        raise EvaluationError(Text("{path} cannot be read: {strerror}.", path=path, strerror=error.strerror)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EvaluationError(
            Text(
                "{path} has no outcomes of questions ({error}): give a file of `shrag run --outcomes`, or a "
                ".questions.jsonl of an experiment.",
                path=path,
                error=error,
            )
        ) from None
    counts = Counter(outcome.qid for outcome in outcomes)
    for qid, count in counts.items():
        if count > 1:
            raise EvaluationError(
                Text(
                    "{path} has the question {qid!r} {count} times: each may occur once.",
                    path=path,
                    qid=qid,
                    count=count,
                )
            )
    return outcomes


_QUEUED_PER_THREAD = 4
"""Number of questions submitted for each thread. None is then idle while the record of a slow question is awaited."""


def ask_all(
    ask: Callable[[Topic], QuestionRecord], topics: Sequence[Topic], pool: ThreadPoolExecutor, threads: int
) -> Generator[QuestionRecord, None, None]:
    """Ask the topics with the ``threads`` threads of ``pool``, and yield their records in the order of the topics.

    The records do not depend on the number of threads. An exception of ``ask`` is raised at its topic's position. Then
    later topics that have not started are canceled, and those that have are waited for.
    """
    waiting: deque[Future[QuestionRecord]] = deque()
    try:
        for topic in topics:
            waiting.append(pool.submit(ask, topic))
            if len(waiting) > threads * _QUEUED_PER_THREAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)
