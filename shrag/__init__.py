"""SHRAG: offline search and cited answers over Korean and English scholarly text.

    import shrag

    shrag.add("lib", "catalogue.xlsx", columns={"id": "관리번호"})
    shrag.index("lib")
    with shrag.open("demo") as engine:
        for ranked in engine.search("그래핀은 전자파를 얼마나 차단하는가?"):
            print(ranked.rank, ranked.record.title)
        print(engine.ask("How long should a lecture video be?").text)

What a command can do, a call can do (``docs/en/how-to/python.md``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shrag.corpora.ingest.add import AdditionResult
    from shrag.evaluation.questions.batch import WrittenRun
    from shrag.evaluation.run_evaluation import RunEvaluation
    from shrag.indexing.record_filter import RecordFilter
    from shrag.indexing.search_engine import EngineName
    from shrag.indexing.storage.checksums import Verify
    from shrag.indexing.storage.manifest import IndexManifest
    from shrag.models.language_model import LanguageModel
    from shrag.serving.engine import Engine

__all__ = ["__version__", "add", "evaluate", "index", "open", "run"]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        # Reading the metadata takes milliseconds that no command should pay for.
        if name == "__version__":
            from importlib.metadata import version

            return version("shrag")
        raise AttributeError(f"module 'shrag' has no attribute {name!r}")


def add(
    name: str,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    home: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    max_rejects: int = 0,
    replace: bool = False,
) -> AdditionResult:
    """Read files into the corpus of that name, which need not exist, and return what was added and rejected.

    Every other option is that of :func:`shrag.corpora.ingest.add.add_corpus`.

    Args:
        name: The corpus's name.
        paths: A file or folder, or several.
        home: The data folder, as for :func:`open`.
        format: The format of the files, None to find that of each.
        columns: Field → column of a table or key of a JSON object, as ``{"id": "관리번호"}``; others by their names.
        max_rejects: Most lines that may be rejected.
        replace: The files are the whole corpus: what is not in them is deleted.

    Raises:
        CorpusError: A file cannot be read, or too many lines are no records; the corpus stays as it was.
    """
    from shrag.corpora.formats.columns import parse_columns
    from shrag.corpora.ingest.add import add_corpus

    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return add_corpus(
        _home(home) / "corpora",
        name,
        format,
        [Path(path) for path in given],
        columns=parse_columns([f"{field}={column}" for field, column in (columns or {}).items()]),
        max_rejects=max_rejects,
        replace=replace,
    )


def index(
    name: str,
    home: str | os.PathLike[str] | None = None,
    *,
    encoder: str = "auto",
    force: bool = False,
    update: bool = False,
    report: Callable[[str, int], None] = lambda stage, done: None,
) -> IndexManifest:
    """Index the corpus of that name and publish the result; return the manifest of the current generation.

    Nothing is built where the current generation has the same inputs. Every option of a build is that of
    :func:`shrag.indexing.build.builder.build_index`.

    Args:
        name: The name of the corpus and of the index.
        home: The data folder (default: :mod:`shrag.corpora.data_folder`).
        encoder: The encoder of the vectors, ``none`` for none; ``auto`` for that of the current generation or, where it
            has none, the only one with weights.
        force: Build even if the current generation is up to date.
        update: Write only the records that the corpus added, changed and deleted.
        report: Called with the progress.

    Raises:
        CorpusError: There is no such corpus, or it cannot be read.
        IndexingError: The build failed; the message says what to do.
    """
    from shrag.indexing.build.builder import build_index
    from shrag.indexing.build.incremental import update_index
    from shrag.indexing.build.job import BuildOptions

    folder, options = _home(home), BuildOptions(report=report)
    corpora, indexes = folder / "corpora", folder / "indexes"
    if update:
        return update_index(corpora, indexes, name, options=options)[0]
    return build_index(corpora, indexes, name, encoder=encoder, force=force, options=options)[0]


def open(
    index: str,
    home: str | os.PathLike[str] | None = None,
    *,
    verify: Verify = "changed",
    model: LanguageModel | None = None,
    reranker: str = "auto",
    min_score: float | None = None,
    min_confidence: float | None = None,
    engine: EngineName = "lucene",
    engine_address: str = "",
    engine_key: str = "",
) -> Engine:
    """Open the index of that name in the data folder ``home`` (default: :mod:`shrag.corpora.data_folder`).

    With a ``model`` (:class:`shrag.models.chat.client.OpenAIModel`) it chooses the keywords and writes the answers.
    Records are ranked by the ``reranker`` (:func:`shrag.serving.retrieval.rerankers.open_reranker`).
    A question is refused where the confidence that a record answers it is below ``min_confidence`` (None: the index's).

    Words are searched by the ``engine``: ``milvus`` or ``qdrant`` at ``engine_address``, which want to be shown
    ``engine_key`` or nothing, where the index was loaded (:func:`index`); ``pyserini`` for a comparison with Pyserini.

    Files of it that changed since they were last verified are read through first, the others while questions are
    answered already; with ``verify="full"`` all are first, with ``"quick"`` none.

    Raises :class:`shrag.indexing.errors.IndexingError`, whose message says what to do.
    """
    from shrag.indexing.search_engine import EngineChoice
    from shrag.serving.engine import open_engine

    return open_engine(
        _home(home) / "indexes",
        index,
        verify=verify,
        model=model,
        reranker=reranker,
        min_score=min_score,
        min_confidence=min_confidence,
        engine=EngineChoice(engine, engine_address, engine_key),
    )


def run(
    engine: Engine,
    topics: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    k: int = 100,
    strategy: str = "shrag",
    record_filter: RecordFilter | None = None,
) -> WrittenRun:
    """Search for every topic of a file and write the ranking as a TREC run.

    Args:
        engine: The engine, from :func:`open`.
        topics: TSV of qid and question, BEIR's queries.jsonl, or TREC topics.
        output: The run file.
        k: Records per topic.
        strategy: A strategy's name, or the stages of a pipeline.
        record_filter: The records that may be found, None for all.

    Raises:
        CorpusError: The topics cannot be read.
        EvaluationError: A topic cannot be asked, or the run not be written.
    """
    from shrag.corpora.formats.topics import read_topics
    from shrag.evaluation.questions.batch import write_run
    from shrag.indexing.record_filter import EVERY_RECORD

    chosen = record_filter or EVERY_RECORD
    return write_run(engine, read_topics(Path(topics)), Path(output), k=k, strategy=strategy, record_filter=chosen)


def evaluate(
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    qrels: str | os.PathLike[str],
    measures: Sequence[str] = ("nDCG@10", "R@100", "Success@1", "Success@10"),
) -> RunEvaluation:
    """Evaluate TREC runs with judgements.

    Args:
        runs: One run file or several.
        qrels: TREC or MIRACL qrels, or BEIR's TSV.
        measures: Measures by ir-measures' names, and those of ``shrag evaluate``.

    Raises:
        EvaluationError: A measure is unknown, or a run cannot be read.
        CorpusError: The judgements cannot be read.
    """
    from shrag.evaluation.run_evaluation import evaluate_runs

    given = [runs] if isinstance(runs, (str, os.PathLike)) else runs
    return evaluate_runs(Path(qrels), [Path(each) for each in given], measures)


def _home(home: str | os.PathLike[str] | None) -> Path:
    from shrag.corpora.data_folder import data_folder

    return data_folder(home)
