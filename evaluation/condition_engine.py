"""A condition as something to ask: one index opened once, with each condition's re-ranker, settings and model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from shrag.corpora.records import Topic
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiment import Condition
from shrag.evaluation.outcome import Asked, answered, refused, searched
from shrag.indexing.opening import OpenIndex, open_index
from shrag.indexing.vector_card import weights_beside
from shrag.models.language_model import LanguageModel
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError, StrategyUnavailable
from shrag.serving.rerankers import open_reranker
from shrag.serving.search_settings import SearchSettings


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """How a language model is had: ``open`` gives one that draws by a seed; ``fingerprint`` tells it from others."""

    name: str
    fingerprint: str
    open: Callable[[int], AbstractContextManager[LanguageModel]]


@dataclass
class OpenIndexes:
    """The indexes that are being asked, each opened once."""

    indexes: Path
    _open: dict[str, OpenIndex] = field(default_factory=dict)

    def __getitem__(self, name: str) -> OpenIndex:
        """Return the index, opened and checked the first time."""
        if name not in self._open:
            self._open[name] = open_index(self.indexes, name)
        return self._open[name]

    def __enter__(self) -> OpenIndexes:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._open.popitem()[1].close()


def condition_engine(condition: Condition, index: OpenIndex, indexes: Path, model: LanguageModel | None) -> Engine:
    """Return an engine over an open index that ranks as the condition says. The index stays the caller's to close."""
    return Engine(index, model, open_reranker(condition.reranker, index, weights_beside(indexes)))


def check_condition(condition: Condition, index: OpenIndex) -> None:
    """Raise :class:`ExperimentRejected` where the strategy, without a model, lacks one or what the index has not."""
    try:
        Engine(index).events("?", strategy=condition.strategy).close()
    except StrategyUnavailable as error:
        raise ExperimentRejected(f"The condition {condition.name} cannot be asked: {error}") from None


def ask_topic(
    engine: Engine,
    condition: Condition,
    k: int,
    topic: Topic,
    judged: Mapping[str, int],
    choices: Sequence[str] = (),
) -> Asked:
    """Ask one question, with its ``choices``, as the condition says.

    One that cannot be asked is an outcome too, with its error.
    """
    settings, strategy = SearchSettings.from_mapping(condition.settings), condition.strategy
    try:
        if condition.answers:
            result = engine.ask(
                topic.text, k=k, strategy=strategy, every_record=True, settings=settings, choices=choices
            )
            return answered(topic.qid, result, judged)
        found = engine.search(topic.text, k=k, strategy=strategy, every_record=True, settings=settings, choices=choices)
        return searched(topic.qid, found, judged)
    except QuestionError as error:
        return refused(topic.qid, str(error), judged)
