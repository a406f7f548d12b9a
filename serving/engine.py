"""Engine: one open index plus models; search(), ask(), events()."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from shrag.corpora.records import Record
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.manifest import IndexManifest, manifest_digest
from shrag.indexing.storage.vector_card import weights_folder
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.prompts.prompt import prompts_fingerprint
from shrag.serving.answer_cache import AnswerCache, AnswerKey
from shrag.serving.concurrency import CancellationToken
from shrag.serving.errors import Requirement, StrategyUnavailable
from shrag.serving.event_run import EventRun, SingleFlight
from shrag.serving.events import Event, KeywordOrder
from shrag.serving.llm.request_model import RequestModel
from shrag.serving.request import DEFAULT_K, DEFAULT_STRATEGY, Request, parse_request
from shrag.serving.results import AskResult, SearchResult, ask_result, search_result
from shrag.serving.retrieval.rerankers import AUTO, check_reranker, open_lexical_reranker, open_reranker
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.registry import STRATEGIES, find_strategy
from shrag.serving.strategy import Resources

_Begin = Callable[[], Generator[Event, None, None]]


class Engine:
    """Answers questions over one generation of one index. Safe to share between threads.

    Records are ranked by words where no other ``reranker`` is given, and answered without a model where there is none.
    With a ``cache``, which other engines may share, identical questions are answered once.
    """

    def __init__(
        self,
        index: OpenIndex,
        model: LanguageModel | None = None,
        reranker: Reranker | None = None,
        cache: AnswerCache | None = None,
    ) -> None:
        self._index = index
        self._cache = cache
        self._digest = manifest_digest(index.manifest)
        self._prompts = prompts_fingerprint()
        self._resources = Resources(index, reranker or open_lexical_reranker(index), model)

    @property
    def name(self) -> str:
        """The index's name."""
        return self._index.name

    @property
    def manifest(self) -> IndexManifest:
        """The index's manifest."""
        return self._index.manifest

    @property
    def model(self) -> LanguageModel | None:
        """The language model it asks, None where it works without."""
        return self._resources.model

    @property
    def digest(self) -> str:
        """The SHA-256 of the index's manifest."""
        return self._digest

    @property
    def cache(self) -> AnswerCache | None:
        """The cache of its answers, None where there is none."""
        return self._cache

    @property
    def resources(self) -> Resources:
        """What its strategies work with."""
        return self._resources

    @property
    def open_index(self) -> OpenIndex:
        """The index itself."""
        return self._index

    def search(
        self,
        question: str,
        *,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        every_record: bool = False,
        keyword_order: KeywordOrder | None = None,
        settings: SearchSettings = PRODUCT,
        choices: Sequence[str] = (),
    ) -> SearchResult:
        """Find records for a question.

        Args:
            question: The question, in Korean or English.
            k: Records at most.
            strategy: A strategy's name, or a line that composes stages.
            every_record: Whether a paper that is in the index under two numbers comes twice, and not once as its
                best-ranked record.
            keyword_order: What keywords are ranked by; goes before that of the settings.
            settings: Search settings, for experiments.
            choices: What the question is to be answered by one of.

        Raises:
            QuestionError: The question, ``k`` or the choices are not valid.
            SettingRejected: The strategy does not use a setting that is changed.
            UnknownStrategy: There is no such strategy.
            StrategyUnavailable: The strategy needs something that is not here.
            IndexDamaged: A check that goes on while questions are answered has found damage.
        """
        request = parse_request(
            question, answered=False, k=k, strategy=strategy, every_record=every_record,
            keyword_order=keyword_order, settings=settings, choices=choices,
        )  # fmt: skip
        return search_result(self.name, self._index.manifest.generation, request, self.run(request).take_all())

    def ask(
        self,
        question: str,
        *,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        every_record: bool = False,
        keyword_order: KeywordOrder | None = None,
        settings: SearchSettings = PRODUCT,
        choices: Sequence[str] = (),
        cancellation: CancellationToken | None = None,
    ) -> AskResult:
        """Find records as :meth:`search` does and answer from the best of them, by one of the choices if there are any.

        Raises:
            ClientDisconnected: It was cancelled by ``cancellation``. Else raises as :meth:`search` does.
        """
        request = parse_request(
            question, answered=True, k=k, strategy=strategy, every_record=every_record,
            keyword_order=keyword_order, settings=settings, choices=choices,
        )  # fmt: skip
        run = self.run(request)
        if cancellation is not None:
            cancellation.on_cancel(run.close)
        return ask_result(self.name, self._index.manifest.generation, request, run.take_all())

    def events(
        self,
        question: str,
        *,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        keyword_order: KeywordOrder | None = None,
        settings: SearchSettings = PRODUCT,
        choices: Sequence[str] = (),
    ) -> EventRun[Event]:
        """Return the events of asking ``question``, each made when it is taken. Raises as :meth:`search` does."""
        request = parse_request(
            question, answered=True, k=k, strategy=strategy, keyword_order=keyword_order, settings=settings,
            choices=choices,
        )  # fmt: skip
        run = self.run(request)
        run.start()
        return run

    def run(self, request: Request) -> EventRun[Event]:
        """Return the events of answering a request, each made when it is taken. Waits for nothing itself.

        With a cache it is the cached answer, a run that another caller has begun, or a new one.

        Raises:
            UnknownStrategy: There is no such strategy.
            IndexDamaged: A check that goes on while questions are answered has found damage.
        """
        if self._index.checksums.state == "damaged":
            self._index.checksums.raise_if_damaged()
        strategy = STRATEGIES.get(request.strategy) or find_strategy(request.strategy)
        resources = self._resources if request.settings.glossary else self._resources.without_glossary()
        cancel = _nothing
        if resources.model is not None:
            request_model = RequestModel(resources.model)
            resources, cancel = replace(resources, model=request_model), request_model.cancel
        begin = partial(strategy.run, request, resources)
        if self._cache is None:
            return EventRun(SingleFlight(begin, cancel))
        model = self._resources.model
        name = model.known_name if isinstance(model, CircuitBreaker) else model.name if model is not None else ""
        if model is not None and not name:
            return self._run_named(self._cache, request, model, begin, cancel)
        return self._run_cached(self._cache, request, name, begin, cancel)

    @cached_property
    def lacking(self) -> Mapping[str, Requirement | None]:
        """The strategies by name, each with what it needs that is not here, None where it can be asked."""
        request = parse_request("?", answered=False, k=1)
        lacking: dict[str, Requirement | None] = {}
        for name, strategy in STRATEGIES.items():
            try:
                strategy.run(request, self._resources).close()
            except StrategyUnavailable as error:
                lacking[name] = error.lacks
            else:
                lacking[name] = None
        return lacking

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of the strategies that this index has all the parts for."""
        return tuple(name for name, lack in self.lacking.items() if lack is None)

    def document(self, docid: str) -> Record | None:
        """Return the record of ``docid``, None where the index has none."""
        self._index.checksums.raise_if_damaged()
        (found,) = self._index.store.fetch([docid])
        return found.record if found else None

    def close(self) -> None:
        """Close the index's files."""
        self._index.close()

    def _run_cached(
        self, cache: AnswerCache, request: Request, model: str, begin: _Begin, cancel: Callable[[], None]
    ) -> EventRun[Event]:
        key = AnswerKey(
            index=self._index.name,
            generation=self._index.manifest.generation,
            manifest=self._digest,
            prompts=self._prompts,
            model=model,
            reranker=self._resources.reranker.name,
            settings=cache.settings,
            request=request,
        )
        # While its files are still being read through, what an index says is not known to be sound.
        return cache.run(key, self, begin, cancel, lambda: self._index.checksums.state == "verified")

    def _run_named(
        self, cache: AnswerCache, request: Request, model: LanguageModel, begin: _Begin, cancel: Callable[[], None]
    ) -> EventRun[Event]:
        """Return the run of a model that has to be asked for its name, by the thread that takes the first event."""
        token = CancellationToken()

        def begin_named() -> EventRun[Event]:
            run = self._run_cached(cache, request, model.name, begin, cancel)
            token.on_cancel(run.close)
            run.start()
            return run

        return EventRun(SingleFlight(begin_named, token.cancel))


def open_engine(
    indexes: Path,
    name: str,
    first_question: str | None = None,
    verify: Verify = "full",
    *,
    model: LanguageModel | None = None,
    reranker: str = AUTO,
    min_score: float | None = None,
    cache: AnswerCache | None = None,
) -> Engine:
    """Open the index ``name`` for questions, answered by ``model`` where there is one, and cached in ``cache``.

    ``min_score`` is the least score that the re-ranker shows. The other arguments and the errors are those of
    :func:`~shrag.indexing.open_index.open_index` and :func:`~shrag.serving.retrieval.rerankers.open_reranker`.
    """
    check_reranker(reranker, min_score)
    index = open_index(indexes, name, first_question, verify)
    try:
        return Engine(index, model, open_reranker(reranker, index, weights_folder(indexes), min_score), cache)
    except BaseException:
        index.close()
        raise


def _nothing() -> None:
    """Cancel nothing: without a model there is nothing to wait for."""
