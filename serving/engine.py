"""Engine: one open index plus models; search(), ask(), events()."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from shrag.corpora.records import Record
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.manifest import IndexManifest, manifest_digest
from shrag.indexing.storage.vector_card import weights_beside
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.prompts.prompt import prompts_fingerprint
from shrag.serving.answer_cache import AnswerCache, AnswerKey, KeptAnswer
from shrag.serving.answering.multiple_choice import read_choices
from shrag.serving.concurrency import Asking
from shrag.serving.errors import ClientLeft, Lack, QuestionError, StrategyUnavailable, UnknownStrategy
from shrag.serving.events import KeywordOrder
from shrag.serving.llm.request_model import OneQuestion
from shrag.serving.question import read_question
from shrag.serving.results import AskResult, SearchResult, ask_result, search_result
from shrag.serving.retrieval.reranking import AUTO, check_reranker, open_reranker
from shrag.serving.strategies.bm25 import Bm25Strategy
from shrag.serving.strategies.decomposition.strategies import ChainStrategy, DecomposeStrategy, RewriteStrategy
from shrag.serving.strategies.iterative import ITERATIVE
from shrag.serving.strategies.pipeline.presets import WAYS, read_way
from shrag.serving.strategies.pipeline.strategy import CompositionStrategy
from shrag.serving.strategies.pipeline.syntax import KINDS, LONGEST_LINE, parse_composition
from shrag.serving.strategies.shrag import HybridStrategy, ShragStrategy
from shrag.serving.strategies.stepwise.strategies import stepwise_strategies
from shrag.serving.strategies.tree.strategy import TreeStrategy
from shrag.serving.strategy import PRODUCT, Request, Resources, SearchSettings, Strategy

_COMPOSED = re.compile("[>(]")

DEFAULT_STRATEGY = "shrag"
DEFAULT_K = 10
LARGEST_K = 1_000

_STRATEGIES: tuple[Strategy, ...] = (
    ShragStrategy(),
    Bm25Strategy(),
    HybridStrategy(),
    DecomposeStrategy(),
    ChainStrategy(),
    RewriteStrategy(),
    TreeStrategy(),
    *ITERATIVE,
    *stepwise_strategies(),
    *(CompositionStrategy(way, name) for name, way in WAYS.items()),
)

STRATEGIES: Mapping[str, Strategy] = {strategy.name: strategy for strategy in _STRATEGIES}


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
        if reranker is None:
            reranker = LexicalReranker(index.analyzer, index.engine, index.manifest.bm25, index.glossary)
        self._resources = Resources(index, reranker, model)

    @property
    def name(self) -> str:
        """The index's name."""
        return self._index.name

    @property
    def manifest(self) -> IndexManifest:
        """What the index says of itself."""
        return self._index.manifest

    @property
    def model(self) -> LanguageModel | None:
        """The language model it asks, None where it works without."""
        return self._resources.model

    @property
    def digest(self) -> str:
        """The SHA-256 of its manifest."""
        return self._digest

    @property
    def cache(self) -> AnswerCache | None:
        """What its answers are kept in, None where they are not."""
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
        """Find at most ``k`` records.

        A paper that stands in the index under two numbers comes once, as its best-ranked record, unless
        ``every_record`` asks for each. ``settings`` are for experiments; ``keyword_order`` goes before theirs.

        Raises :class:`QuestionError`, :class:`SettingRejected` and :class:`UnknownStrategy`; ``IndexDamaged`` where a
        check that goes on while questions are answered has found damage.
        """
        request = self._request(
            question, k, keyword_order, settings, answered=False, every_record=every_record, choices=choices
        )
        return search_result(self.name, self.manifest.generation, request, strategy, list(self._run(request, strategy)))

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
        begun: Callable[[Asking], None] = lambda _: None,
    ) -> AskResult:
        """Find at most ``k`` records and answer from the best of them, by one of the ``choices`` where there are any.

        ``begun`` is given what another thread can cancel it by. Raises as :meth:`search` does, and :class:`ClientLeft`
        where it was cancelled.
        """
        request = self._request(
            question, k, keyword_order, settings, answered=True, every_record=every_record, choices=choices
        )
        with closing(self._run(request, strategy)) as asking:
            begun(asking)
            events = list(asking)
        if not events or events[-1].event != "timings":
            raise ClientLeft("The question was withdrawn: ask it again.")
        return ask_result(self.name, self.manifest.generation, request, strategy, events)

    def events(
        self,
        question: str,
        *,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        keyword_order: KeywordOrder | None = None,
        settings: SearchSettings = PRODUCT,
        choices: Sequence[str] = (),
    ) -> Asking:
        """Return the events of asking ``question``, each done when it is asked for. Raises as :meth:`search` does."""
        request = self._request(question, k, keyword_order, settings, answered=True, choices=choices)
        return self._run(request, strategy)

    def kept(
        self,
        question: str,
        *,
        answered: bool,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        keyword_order: KeywordOrder | None = None,
        choices: Sequence[str] = (),
    ) -> KeptAnswer | None:
        """Return what the cache has of asking ``question`` (``answered``) or of searching for it, None for nothing.

        Nothing is waited for: a model whose name is not known yet is not asked for it. Raises as :meth:`search` does.
        """
        request = self._request(question, k, keyword_order, PRODUCT, answered=answered, choices=choices)
        find_strategy(strategy)
        self._index.seals.raise_if_damaged()
        model = self.model.known_name if isinstance(self.model, CircuitBreaker) else self.model and self.model.name
        if self._cache is None or model == "":
            return None
        return self._cache.find(self._key(request, strategy, model or ""))

    @cached_property
    def lacking(self) -> Mapping[str, Lack | None]:
        """The strategies by name, each with what it needs that is not here, None where it can be asked."""
        request = self._request("?", 1, None, PRODUCT, answered=False)
        lacking: dict[str, Lack | None] = {}
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
        self._index.seals.raise_if_damaged()
        (found,) = self._index.store.fetch([docid])
        return found.record if found else None

    def close(self) -> None:
        """Let go of the index's files."""
        self._index.close()

    def _request(
        self,
        question: str,
        k: int,
        keyword_order: KeywordOrder | None,
        settings: SearchSettings,
        *,
        answered: bool,
        every_record: bool = False,
        choices: Sequence[str] = (),
    ) -> Request:
        if not 1 <= k <= LARGEST_K:
            raise QuestionError("k_out_of_range", f"k must be from 1 to {LARGEST_K}, got {k}.")
        if keyword_order not in {None, settings.keyword_order}:
            settings = replace(settings, keyword_order=keyword_order)
        asked = replace(read_question(question), choices=read_choices(choices))
        return Request(asked, k, answered, every_record, settings)

    def _run(self, request: Request, strategy: str) -> Asking:
        self._index.seals.raise_if_damaged()
        if self._cache is None:
            return self._begin(request, strategy)
        key = self._key(request, strategy, self.model.name if self.model is not None else "")
        # Outside the cache's turn, in which others wait: an encoder may have to be loaded. Unused, it has not begun.
        begun = self._begin(request, strategy)
        # While its files are still being read through, what an index says is not known to be sound.
        return self._cache.ask(key, self, lambda: begun, lambda: self._index.seals.state == "whole")

    def _key(self, request: Request, strategy: str, model: str) -> AnswerKey:
        return AnswerKey(
            index=self._index.name,
            generation=self._index.manifest.generation,
            manifest=self._digest,
            request=request,
            strategy=strategy,
            prompts=self._prompts,
            model=model,
            reranker=self._resources.reranker.name,
            settings=self._cache.settings if self._cache is not None else "",
        )

    def _begin(self, request: Request, strategy: str) -> Asking:
        model = OneQuestion(self._resources.model) if self._resources.model is not None else None
        resources = replace(self._resources, model=model)
        if not request.settings.glossary:
            resources = resources.without_glossary()
        return Asking(find_strategy(strategy).run(request, resources), model)


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
    """Open the index ``name`` for questions, answered by ``model`` where there is one, and kept in ``cache``.

    ``min_score`` is the least score that the re-ranker shows. The other arguments and the errors are those of
    :func:`~shrag.indexing.open_index.open_index` and :func:`~shrag.serving.retrieval.reranking.open_reranker`.
    """
    check_reranker(reranker, min_score)
    index = open_index(indexes, name, first_question, verify)
    try:
        return Engine(index, model, open_reranker(reranker, index, weights_beside(indexes), min_score), cache)
    except BaseException:
        index.close()
        raise


def find_strategy(name: str) -> Strategy:
    """Return the strategy called ``name``, or composed by a line, as ``retrieve(10) > rerank(5)`` or ``way-2(9, 3)``.

    Raises :class:`UnknownStrategy` naming those there are, or saying what to change in the line.
    """
    strategy = STRATEGIES.get(name)
    if strategy is not None:
        return strategy
    if _COMPOSED.search(name) or name.strip() in KINDS:
        return CompositionStrategy(read_way(name) or parse_composition(name))
    shown = name if len(name) <= LONGEST_LINE else f"{name[:LONGEST_LINE]}…"
    raise UnknownStrategy(
        f"There is no strategy {shown!r}: use one of {', '.join(STRATEGIES)}, or compose stages, as in "
        "'retrieve(15) > rerank(5)'."
    )
