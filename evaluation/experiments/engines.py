"""Build and open the indexes of an experiment, and ask its questions under a condition."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.registry import find_files, find_format
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.ingest.reading import ProgressCallback
from shrag.corpora.records import Topic
from shrag.corpora.store.manifest import MANIFEST_FILE, read_manifest
from shrag.evaluation.errors import ExperimentRejected, ResultsMismatch
from shrag.evaluation.experiments.judged_topics import resolve_data_path
from shrag.evaluation.experiments.spec import Condition, CorpusSource, JudgedSet
from shrag.evaluation.questions.batch import ask_question
from shrag.evaluation.questions.outcome import QuestionRecord, record_error
from shrag.evaluation.questions.reference_answers import Reference
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.job import BuildOptions
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.indexing.record_filter import RecordFilter
from shrag.indexing.storage.vector_card import canonical_encoder, weights_folder
from shrag.messages.text import Text
from shrag.models.language_model import LanguageModel
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError, ServingError
from shrag.serving.retrieval.rerankers import open_reranker
from shrag.serving.search_settings import SearchSettings


@dataclass
class OpenIndexes:
    """The indexes of an experiment by name. Each is opened at its first use and closed at exit."""

    indexes: Path
    _open: dict[str, OpenIndex] = field(default_factory=dict)

    def __getitem__(self, name: str) -> OpenIndex:
        """Return the index called ``name``.

        Raises as :func:`~shrag.indexing.open_index.open_index` does.
        """
        if name not in self._open:
            self._open[name] = open_index(self.indexes, name)
        return self._open[name]

    def under(self, judged_set: JudgedSet, condition: Condition) -> OpenIndex:
        """Return the index of a set that has the vectors of the condition's encoder."""
        return self[index_name(judged_set, condition.encoder)]

    def __enter__(self) -> OpenIndexes:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._open.popitem()[1].close()


def condition_engine(condition: Condition, index: OpenIndex, indexes: Path, model: LanguageModel | None) -> Engine:
    """Return an engine over ``index`` with the condition's re-ranker. The caller closes the index."""
    return Engine(index, model, open_reranker(condition.reranker, index, weights_folder(indexes)))


def check_condition(condition: Condition, index: OpenIndex, indexes: Path, model: LanguageModel | None) -> None:
    """Open the condition's engine, and begin a question without asking it.

    Raises:
        ExperimentRejected: The strategy, its settings or the re-ranker need a model, or vectors that the index lacks.
        ModelError: A cross-encoder or an encoder cannot be loaded.
    """
    settings = SearchSettings.from_mapping(condition.settings)
    try:
        engine = condition_engine(condition, index, indexes, model)
        engine.events("?", strategy=condition.strategy, settings=settings).close()
    except ServingError as error:
        raise ExperimentRejected(
            Text("The condition {name} cannot be run: {error}", name=condition.name, error=error)
        ) from None


def ask_topic(
    engine: Engine,
    condition: Condition,
    k: int,
    topic: Topic,
    judged: Mapping[str, int],
    reference: Reference | None = None,
) -> QuestionRecord:
    """Ask one question under the condition, and return its record. If it cannot be asked, the record has the error.

    ``judged`` is docid → relevance. ``reference`` has the choices of a multiple-choice question, and the paper that a
    question is about.
    """
    given = condition.settings
    if condition.own_paper and reference is not None and reference.paper:
        given = {**given, "paper": reference.paper}
    settings, strategy = SearchSettings.from_mapping(given), condition.strategy
    choices = reference.choices if reference is not None else ()
    record_filter = RecordFilter.from_mapping(condition.filter)
    try:
        record, _ = ask_question(
            engine, topic, judged, answered=condition.answers, k=k, strategy=strategy, settings=settings,
            choices=choices, record_filter=record_filter,
        )  # fmt: skip
    except QuestionError as error:
        return record_error(topic.qid, str(error), judged)
    return record


_NOT_NAME = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of corpora, of indexes, and of data. The paths in an experiment are relative to the last."""

    corpora: Path
    indexes: Path
    data: Path
    report: ProgressCallback = field(default=lambda stage, done: None)


def index_name(judged_set: JudgedSet, encoder: str) -> str:
    """Return the name of a set's index. An ``encoder`` other than the set's own is part of the name."""
    name = judged_set.index or judged_set.name
    return name if not encoder or encoder == judged_set.encoder else f"{name}-{_NOT_NAME.sub('-', encoder.lower())}"


def prepare_index(judged_set: JudgedSet, encoder: str, folders: Folders) -> None:
    """Build the corpus of a set and its index with vectors by ``encoder``, if they do not exist.

    Raises:
        ResultsMismatch: A corpus of that name was read from other files.
        CorpusError, IndexingError: The corpus or the index cannot be built.
    """
    if judged_set.corpus is None:
        return
    name = index_name(judged_set, encoder)
    expected = _sources(judged_set.corpus, folders.data)
    try:
        stored = read_manifest(folders.corpora / name) if (folders.corpora / name / MANIFEST_FILE).exists() else None
    except CorpusError:
        stored = None
    if stored is None:
        _add(name, judged_set.corpus, folders)
    elif sorted((each.format, each.sha256) for each in stored.sources) != sorted(expected):
        raise ResultsMismatch(
            Text(
                "The corpus {name} was read from other files than the set {set_name} names: rename the set, or "
                "set index = {name!r} to use it as it is.",
                name=name,
                set_name=judged_set.name,
            )
        )
    chosen = encoder or judged_set.encoder
    build_index(
        folders.corpora,
        folders.indexes,
        name,
        encoder=canonical_encoder(chosen) if chosen else None,
        options=BuildOptions(report=folders.report),
    )


def _sources(source: CorpusSource, data: Path) -> list[tuple[str, str]]:
    """Return the format and the SHA-256 of each source file of the corpus."""
    format = find_format(source.format)
    files = find_files(format, [resolve_data_path(path, data) for path in source.paths])
    digests: list[tuple[str, str]] = []
    for file in files:
        with file.open("rb") as stream:
            digests.append((format.label, hashlib.file_digest(stream, "sha256").hexdigest()))
    return digests


def _add(name: str, source: CorpusSource, folders: Folders) -> None:
    paths = [resolve_data_path(path, folders.data) for path in source.paths]
    add_corpus(
        folders.corpora,
        name,
        source.format,
        paths,
        max_rejects=source.max_rejects,
        replace=True,
        report=folders.report,
    )
