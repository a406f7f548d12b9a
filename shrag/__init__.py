"""SHRAG: offline search and cited answers over Korean and English scholarly text.

    import shrag

    shrag.add("lib", "catalogue.xlsx", columns={"id": "관리번호"})
    shrag.index("lib")
    with shrag.open("demo") as engine:
        for ranked in engine.search("그래핀은 전자파를 얼마나 차단하는가?"):
            print(ranked.rank, ranked.record.title)
        print(engine.ask("How long should a lecture video be?").text)

The functions and the engine's methods do what the commands do (``docs/en/how-to/python.md``).
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
        # Read only on demand: reading the metadata takes milliseconds, and few commands need it.
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
    """Read files into the corpus ``name`` and return what was added and rejected.

    The corpus is created if it does not exist. :func:`shrag.corpora.ingest.add.add_corpus` has further options.

    Args:
        name: The corpus's name.
        paths: One file or folder, or several.
        home: The data folder (default: :mod:`shrag.corpora.data_folder`).
        format: The format of the files; None detects the format of each file.
        columns: Field → column of a table or key of a JSON object, such as ``{"id": "관리번호"}``. The other fields are
            found by their usual names.
        max_rejects: The largest number of lines that may be rejected.
        replace: Whether the files are the whole corpus. If so, stored records that are not in them are deleted.

    Raises:
        CorpusError: A file cannot be read, or too many lines are rejected. The corpus then stays unchanged.
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
    """Index the corpus ``name``, publish the result, and return the manifest of the current generation.

    Nothing is built if the current generation has the same inputs. :func:`shrag.indexing.build.builder.build_index`
    has further options.

    Args:
        name: The name of the corpus and of the index.
        home: The data folder (default: :mod:`shrag.corpora.data_folder`).
        encoder: The encoder of the vectors, or ``none``. ``auto`` takes the encoder of the current generation, or the
            only encoder with weights if that generation has no vectors.
        force: Build even if the current generation is up to date.
        update: Write only the records that the corpus added, changed and deleted. An update keeps the encoder, so that
            it takes neither ``encoder`` nor ``force``.
        report: Called with the stage and the number of items done.

    Raises:
        CorpusError: There is no such corpus, or it cannot be read.
        IndexingError: The build failed, or ``update`` is given with ``encoder`` or ``force``; the message says what to
            do.
        ModelError: The encoder cannot be loaded.
    """
    from shrag.indexing.build.builder import build_index
    from shrag.indexing.build.incremental import update_index
    from shrag.indexing.build.job import BuildOptions
    from shrag.indexing.errors import IndexingError
    from shrag.indexing.storage.vector_card import AUTO
    from shrag.messages.text import Text

    folder, options = _home(home), BuildOptions(report=report)
    corpora, indexes = folder / "corpora", folder / "indexes"
    if update:
        if force or encoder != AUTO:
            raise IndexingError(
                Text(
                    "An update writes only what changed, and keeps the encoder of its index: leave out force and "
                    "encoder, or leave out update to build the whole index."
                )
            )
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
    """Open an index for search and answers.

    Args:
        index: The index's name.
        home: The data folder (default: :mod:`shrag.corpora.data_folder`).
        verify: Which files are read and verified before the index is opened: those that changed since they were last
            verified (``changed``), all (``full``) or none (``quick``). The others are verified in the background.
        model: The language model that chooses keywords and writes answers, such as
            :class:`shrag.models.chat.client.OpenAIModel`. Without one, answers are extractive.
        reranker: What ranks the records (:func:`shrag.serving.retrieval.rerankers.open_reranker`).
        min_score: Records that a cross-encoder scores lower are left out.
        min_confidence: A question is refused if the confidence that a record answers it is lower. None takes the
            threshold of the index.
        engine: What searches the words: ``lucene``; ``milvus`` or ``qdrant``, into which ``shrag index`` loads the
            index; or ``pyserini``, for a comparison with Pyserini.
        engine_address: The address of Milvus or Qdrant.
        engine_key: The key that Milvus or Qdrant requires, empty for none.

    Raises:
        IndexingError: The index cannot be opened; the message says what to do.
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
        EvaluationError: A topic cannot be asked, or the run cannot be written.
        DiskFull: The disk is full.
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
        measures: Names of measures of ir-measures, and of the further measures of ``shrag evaluate``.

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
