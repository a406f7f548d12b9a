"""Vector databases beside Lucene: ``python -m bench.engines.parity [--sets …] [--engines …] [--questions N]``.

An index of each development set is built under SHRAG_HOME and loaded into each engine. The engine is compared with
Lucene by the hundred best hits for every question's words, the answers of ``shrag ask``, and the times. Its hundred
nearest vectors are compared with an exact search. An engine is ``qdrant-edge`` or ``milvus-lite``, whose files are
under ``SHRAG_HOME/engines``, or ``milvus=URL`` or ``qdrant=URL``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from typing import TypeVar

import numpy as np

from bench.corpora import mix_passages, write_passages
from bench.data import DATA, home, require_data
from shrag.corpora.formats.topics import read_topics
from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.distributed.load import load_index
from shrag.indexing.query import any_of
from shrag.indexing.search_engine import EngineChoice, Hit
from shrag.indexing.storage.generations import generation_folder
from shrag.indexing.storage.vector_card import FOLDER
from shrag.indexing.vectors.exact_search import BlockSearch
from shrag.indexing.vectors.store import open_vectors
from shrag.serving.engine import Engine, open_engine

_T = TypeVar("_T")

SETS = {
    "wiki-ko": ("wiki-ko/corpus/docs-0.jsonl.gz", "wiki-ko/topics.tsv"),
    "wiki-en": ("wiki-en/corpus/docs-0.jsonl.gz", "wiki-en/topics.tsv"),
    "cacm": ("scholarly-ir/cacm/docs.jsonl.gz", "scholarly-ir/cacm/topics.tsv"),
    "cranfield": ("scholarly-ir/cranfield/docs.jsonl.gz", "scholarly-ir/cranfield/topics.tsv"),
}
MIXED = "mixed-"
K = 100


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="of %(default)s, or mixed-N: N passages of all")
    parser.add_argument("--engines", nargs="+", default=["qdrant-edge", "milvus-lite"])
    parser.add_argument("--questions", type=int, default=0, help="questions of each set, evenly spread; 0 for all")
    parser.add_argument("--answers", type=int, default=50, help="questions of each set that are answered too")
    chosen = parser.parse_args()
    require_data()
    for name in chosen.sets:
        questions = prepare(name)
        for engine in chosen.engines:
            compare(name, engine, _spread(questions, chosen.questions), chosen.answers)


def prepare(name: str) -> list[str]:
    """Build the index of a set unless there is one; return the set's questions."""
    corpora, indexes = home() / "corpora", home() / "indexes"
    corpus, topics = SETS.get(name, ("", "wiki-ko/topics.tsv"))
    if not (indexes / name / "CURRENT").exists():
        path = DATA / corpus
        if name.startswith(MIXED):
            path = home() / f"{name}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_passages(path, mix_passages(DATA, int(name.removeprefix(MIXED))))
        if not (corpora / name).exists():
            add_corpus(corpora, name, "miracl", [path])
        build_index(corpora, indexes, name, encoder="lsa")
    questions = [topic.text for topic in read_topics(DATA / topics)]
    if name.startswith(MIXED):
        questions += [topic.text for topic in read_topics(DATA / SETS["wiki-en"][1])]
    return questions


def compare(name: str, engine: str, questions: Sequence[str], answers: int) -> None:
    """Print how an engine's rankings, vectors and answers differ from Lucene's, and the times of both."""
    choice = _choice(engine, home() / "engines" / name)
    started = time.perf_counter()
    loaded = load_index(home() / "indexes", name, choice)
    seconds = time.perf_counter() - started
    with (
        open_engine(home() / "indexes", name) as ours,
        open_engine(home() / "indexes", name, engine=choice) as theirs,
    ):
        records = ours.manifest.records
        print(f"{name}, {records:,} records, {engine}" + (f": loaded in {seconds:.0f} s" if loaded else ""), flush=True)
        _compare_words(ours, theirs, questions)
        _compare_vectors(ours, theirs, questions)
        _compare_answers(ours, theirs, _spread(questions, answers))


def _compare_words(ours: Engine, theirs: Engine, questions: Sequence[str]) -> None:
    overlaps, same, difference = [], 0, 0.0
    times: dict[str, list[float]] = {"Lucene": [], "engine": []}
    for question in questions:
        (terms,) = ours.open_index.analyzer.terms([question])
        if not terms:
            continue
        query = [any_of(terms)]
        (wanted,) = _timed(times["Lucene"], lambda query=query: ours.open_index.searcher.search(query, K))  # type: ignore[misc]
        (found,) = _timed(times["engine"], lambda query=query: theirs.open_index.searcher.search(query, K))  # type: ignore[misc]
        overlaps.append(len(_docids(wanted) & _docids(found)) / len(wanted) if wanted else float(not found))
        same += [hit.docid for hit in wanted] == [hit.docid for hit in found]
        difference = max([difference, *(abs(a.score - b.score) for a, b in zip(wanted, found, strict=True))])
    print(
        f"  words: top-{K} overlap {np.mean(overlaps):.5f} over {len(overlaps):,} questions, least "
        f"{min(overlaps):.2f}, same order {same:,}, largest difference of scores {difference:.1e}; {_show(times)}",
        flush=True,
    )


def _compare_vectors(ours: Engine, theirs: Engine, questions: Sequence[str]) -> None:
    dense, other, card = ours.open_index.dense, theirs.open_index.dense, ours.manifest.vectors
    if dense is None or other is None or card is None:
        return
    folder = generation_folder(home() / "indexes" / ours.name, ours.manifest.generation)
    exact = BlockSearch(open_vectors(folder / FOLDER, card), ours.open_index.searcher.docids)  # type: ignore[attr-defined]
    recalls = []
    times: dict[str, list[float]] = {"exact": [], "engine": []}
    for question in questions:
        vector = dense.encode(question)
        if not vector.any():
            continue
        (wanted,) = _timed(times["exact"], lambda vector=vector: exact.search(vector, K))  # type: ignore[misc]
        found = _timed(times["engine"], lambda vector=vector: other.search(vector, K))  # type: ignore[misc]
        recalls.append(len(_docids(wanted) & _docids(found)) / max(len(wanted), 1))
    print(
        f"  vectors of {card.dimension}: recall@{K} {np.mean(recalls):.5f} over {len(recalls):,} questions, least "
        f"{min(recalls):.2f}; {_show(times)}",
        flush=True,
    )


def _compare_answers(ours: Engine, theirs: Engine, questions: Sequence[str]) -> None:
    times: dict[str, list[float]] = {"Lucene": [], "engine": []}
    same = 0
    for question in questions:
        wanted = _timed(times["Lucene"], lambda question=question: ours.ask(question))  # type: ignore[misc]
        found = _timed(times["engine"], lambda question=question: theirs.ask(question))  # type: ignore[misc]
        if wanted.text == found.text:
            same += 1
        else:
            print(f"    another answer: {question}")
    print(f"  answers: {same} of {len(questions)} the same; {_show(times)}", flush=True)


def _choice(engine: str, folder: Path) -> EngineChoice:
    name, _, address = engine.partition("=")
    if address:
        return EngineChoice("milvus" if name == "milvus" else "qdrant", address, timeout=60.0)
    if engine == "milvus-lite":
        return EngineChoice("milvus", str(folder / "lite.db"), timeout=60.0)
    return EngineChoice("qdrant", str(folder / "edge"))


def _timed(times: list[float], function: Callable[[], _T]) -> _T:
    started = time.perf_counter()
    found = function()
    times.append(time.perf_counter() - started)
    return found


def _show(times: dict[str, list[float]]) -> str:
    cuts = {name: quantiles(each, n=20) for name, each in times.items() if len(each) > 1}
    return ", ".join(f"{name} p50 {1e3 * cut[9]:.1f} ms, p95 {1e3 * cut[18]:.1f} ms" for name, cut in cuts.items())


def _spread(questions: Sequence[str], count: int) -> list[str]:
    if not count or count >= len(questions):
        return list(questions)
    return [questions[place * len(questions) // count] for place in range(count)]


def _docids(hits: Sequence[Hit]) -> set[str]:
    return {hit.docid for hit in hits}


if __name__ == "__main__":
    main()
