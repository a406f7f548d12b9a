"""Serve published indexes over HTTP until the process is told to stop."""

from __future__ import annotations

import ctypes
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from shrag.corpora.files import check_name
from shrag.indexing.search_engine import LUCENE, EngineChoice
from shrag.indexing.storage.checksums import Verify
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.chat.endpoint_pool import EndpointPool
from shrag.models.language_model import LanguageModel
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.engine import Engine, open_engine
from shrag.serving.http.access import Access, access_for_host
from shrag.serving.http.server import address_of, listen, make_server, run, stop_at_sigterm
from shrag.serving.retrieval.rerankers import AUTO
from shrag.serving.runtime.admission import ServerLimits
from shrag.serving.runtime.hot_reload import CurrentIndex

_ARENA_MAX = -8
"""M_ARENA_MAX of mallopt(3), which Python has no name for."""

_ARENAS = 2


def serve(
    indexes: Path,
    names: Sequence[str],
    *,
    host: str,
    port: int,
    access: Access | None = None,
    ready: Callable[[Sequence[Engine], str], None],
    verify: Verify = "full",
    engine: EngineChoice = LUCENE,
    model: LanguageModel | None = None,
    reranker: str = AUTO,
    min_score: float | None = None,
    min_confidence: float | None = None,
    cache: AnswerCache | None = None,
    limits: ServerLimits | None = None,
    log_questions: bool = False,
    shared: bool = False,
    send_heartbeat: Callable[[], None] = lambda: None,
) -> None:
    """Serve indexes, and switch to their newer generations while serving.

    The address is bound before the indexes are opened, so that an address in use is reported at once.

    Args:
        indexes: The folder of all indexes.
        names: The indexes. The first is that of requests that name none. All are opened at the start.
        host: The address to listen on.
        port: The port; 0 for any free one.
        access: Who may send requests; by default this machine only.
        ready: Called with the engines and the server's address before the first request.
        engine: The engine of lexical search.
        verify: How the checksums of an index are verified: see :func:`~shrag.indexing.open_index.open_index`.
        model: Writes answers and chooses keywords. Without one, or while it fails, answers are extractive.
        reranker: See :func:`~shrag.serving.retrieval.rerankers.open_reranker`.
        min_score: The least score that the re-ranker shows.
        min_confidence: The least confidence of an answer, for requests that set none. None for the index's threshold.
        cache: The cache of answers; it must be for these settings.
        limits: How many requests run and wait at once.
        log_questions: Whether the log, JSON lines on stderr, contains the text of questions.
        shared: Whether other processes of the same server listen on the address too.
        send_heartbeat: Called about every second by the event loop.

    Raises:
        AddressTaken: Another process listens on the address.
        ServingError: ``host`` is refused by :func:`~shrag.serving.http.access.access_for_host`.
    """
    access = access or access_for_host(host)
    limit_malloc_arenas()
    with listen(host, port, shared=shared) as listener:
        guarded = model if model is None or isinstance(model, EndpointPool) else CircuitBreaker(model)

        def open_checked(name: str, checked: Verify, generation: int | None) -> Engine:
            return open_engine(
                indexes, name, verify=checked, model=guarded, reranker=reranker, min_score=min_score,
                min_confidence=min_confidence, cache=cache, generation=generation, engine=engine,
            )  # fmt: skip

        with ExitStack() as stack:
            sources: list[CurrentIndex] = []
            for name in dict.fromkeys(names):
                source = CurrentIndex(indexes / check_name(name), partial(open_checked, name), verify)
                sources.append(stack.enter_context(closing(source)))
                source.watch()
            server = make_server(create_app(sources, access, limits, log_questions=log_questions), send_heartbeat)
            stop_at_sigterm(server)  # before `ready` makes the address known to clients
            if shared:  # earlier, the kernel would send this process connections that others can serve already
                listener.listen(socket.SOMAXCONN)
            _report_ready(sources, ready, address_of(host, listener) + "/")
            run(server, listener)


def _report_ready(
    sources: Sequence[CurrentIndex], ready: Callable[[Sequence[Engine], str], None], address: str
) -> None:
    # This is not part of `serve`, whose local variables would keep the files of a closed engine mapped.
    with ExitStack() as stack:
        ready([stack.enter_context(source.use()) for source in sources], address)


def limit_malloc_arenas() -> None:
    """Let all threads allocate memory from the same few arenas of glibc. Call it before there are threads.

    By default, glibc makes up to eight arenas for each processor, and memory that is freed in one arena cannot be used
    by the threads of another. A process of forty threads then grows until each thread has made its largest answer.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, _ARENAS)
