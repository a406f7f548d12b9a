"""Engines of an experiment: the index of each set, the settings and model of each condition."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.registry import find_files, find_format
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.ingest.reading import Report
from shrag.corpora.records import Topic
from shrag.corpora.store.manifest import MANIFEST_FILE, read_manifest
from shrag.evaluation.errors import ExperimentRejected, ResultsMismatch
from shrag.evaluation.experiments.judged_topics import find_data
from shrag.evaluation.experiments.spec import Condition, CorpusSource, JudgedSet
from shrag.evaluation.questions.outcome import Asked, answered, refused, searched
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.job import BuildOptions
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.indexing.storage.vector_card import canonical_encoder, weights_beside
from shrag.models.language_model import LanguageModel
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError, StrategyUnavailable
from shrag.serving.retrieval.rerankers import open_reranker
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


_NOT_NAME = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Places:
    """Where corpora and indexes are kept, and the data an experiment names files of."""

    corpora: Path
    indexes: Path
    data: Path
    report: Report = field(default=lambda stage, done: None)


def index_name(judged_set: JudgedSet, encoder: str) -> str:
    """Return the index's name: the set's, or with an ``encoder`` other than the set's own, both."""
    name = judged_set.index or judged_set.name
    return name if not encoder or encoder == judged_set.encoder else f"{name}-{_NOT_NAME.sub('-', encoder.lower())}"


def prepare_index(judged_set: JudgedSet, encoder: str, places: Places) -> str:
    """Build whatever is not there of the index that has vectors by ``encoder``; return its name.

    Raises :class:`ResultsMismatch` where a corpus of that name was read from other files, and what adding a corpus and
    building an index raise.
    """
    name = index_name(judged_set, encoder)
    if judged_set.corpus is None:
        return name
    wanted = _sources(judged_set.corpus, places.data)
    try:
        stored = read_manifest(places.corpora / name) if (places.corpora / name / MANIFEST_FILE).exists() else None
    except CorpusError:
        stored = None
    if stored is None:
        _add(name, judged_set.corpus, places)
    elif sorted((each.format, each.sha256) for each in stored.sources) != sorted(wanted):
        raise ResultsMismatch(
            f"The corpus {name} was read from other files than the set {judged_set.name} names: rename the set, or "
            f"say index = {name!r} to ask it all the same."
        )
    chosen = encoder or judged_set.encoder
    build_index(
        places.corpora,
        places.indexes,
        name,
        encoder=canonical_encoder(chosen) if chosen else None,
        options=BuildOptions(report=places.report),
    )
    return name


def _sources(source: CorpusSource, data: Path) -> list[tuple[str, str]]:
    """Return format and digest of each file the corpus is read from."""
    format = find_format(source.format)
    found: list[tuple[str, str]] = []
    for file in find_files(format, [find_data(path, data) for path in source.paths]):
        with file.open("rb") as stream:
            found.append((format.written, hashlib.file_digest(stream, "sha256").hexdigest()))
    return found


def _add(name: str, source: CorpusSource, places: Places) -> None:
    paths = [find_data(path, places.data) for path in source.paths]
    add_corpus(places.corpora, name, source.format, paths, max_rejects=source.max_rejects, report=places.report)
