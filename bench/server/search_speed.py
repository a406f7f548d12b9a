"""Search speed over a large index: ``python -m bench.server.search_speed [--passages N] [--pyserini PYTHON]``.

The ten reduced queries of a question are compared with the longest one alone, for 1, 4 and 16 callers in one process.
The times include fetching the records. The server's questions per second are measured too. ``--pyserini`` is an
interpreter that can import ``pyserini.server.rest``, which needs torch, transformers and faiss. Pyserini's server then
answers the same questions over the same terms of the same passages. Passages consist of resampled words of the
development sets. Two of their questions are joined into one, so that each has ten keywords.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.corpora import resample_passages, write_passages
from bench.data import DATA, require_data
from bench.server.pyserini_comparison import PATH, build_pyserini, pyserini_bodies, pyserini_server
from bench.server.served import run_server
from shrag.corpora.formats.topics import read_topics
from shrag.indexing.query import Query
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.engine import Engine, open_engine
from shrag.serving.retrieval.query_builder import build_subqueries, reduce_query
from shrag.serving.retrieval.query_terms import query_terms, rank_keywords, searchable
from shrag.serving.retrieval.ranking import search_candidates
from shrag.serving.search_settings import PRODUCT
from shrag.serving.strategies.shrag import DEPTH

BIN = Path(sys.executable).parent
QUESTIONS = 200
CALLERS = (1, 4, 16)
REQUESTS = 600


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000, help="passages of the index (%(default)s)")
    parser.add_argument("--pyserini", type=Path, help="a Python with Pyserini and its dependencies")
    parser.add_argument("--home", type=Path, help="folder of the index for later runs (default: temporary)")
    chosen = parser.parse_args()
    require_data()
    with tempfile.TemporaryDirectory() as scratch:
        home = chosen.home or Path(scratch, "home")
        os.environ["SHRAG_HOME"] = str(home)
        name = f"passages-{chosen.passages}"
        if not (home / "indexes" / name / "CURRENT").exists():
            build(home, name, chosen.passages)
        engine = open_engine(home / "indexes", name)
        questions = joined_questions()
        compare_queries(engine, questions)
        ours = measure_server(name, questions)
        if chosen.pyserini:
            theirs = measure_pyserini(chosen.pyserini, engine, Path(scratch), questions)
            print(
                f"  SHRAG, one query {ours['bm25'] / theirs:.1f} times; ten queries: {ours['shrag'] / theirs:.1f} times"
            )
        engine.close()


def build(home: Path, name: str, count: int) -> None:
    """Build the index by the command line."""
    home.mkdir(parents=True, exist_ok=True)
    source = home / "passages.jsonl"
    write_passages(source, resample_passages(DATA, count))
    for command in (["corpus", "add", name, "--format", "miracl", str(source)], ["index", name]):
        subprocess.run([str(BIN / "shrag"), *command], check=True)
    source.unlink()


def joined_questions() -> list[str]:
    """Return questions that each join two questions of one development set."""
    rng = random.Random(1)
    questions = []
    for name in ("wiki-ko", "wiki-en"):
        topics = rng.sample(read_topics(DATA / name / "topics.tsv"), QUESTIONS)
        questions += [f"{one.text} {other.text}" for one, other in zip(topics[::2], topics[1::2], strict=True)]
    return questions


def compare_queries(engine: Engine, questions: Sequence[str]) -> None:
    """Print the times of the ten reduced queries and of the longest query alone for each number of callers."""
    index = engine.open_index
    query_lists = []
    for question in questions:
        words = searchable(query_terms(analyze_question(question, index.analyzer, index.searcher)))
        keywords = [word for word, _ in rank_keywords(words, "tfidf", index.searcher)][: PRODUCT.keywords]
        if len(keywords) == PRODUCT.keywords:
            query_lists.append(build_subqueries(reduce_query(keywords)))
    print(f"{engine.manifest.records:,} passages, {len(query_lists)} questions of {PRODUCT.keywords} keywords:")

    def take(queries: Sequence[Query]) -> None:
        search_candidates(queries, index, DEPTH)

    for queries in query_lists:
        take(queries)
    for callers in CALLERS:
        longest, all_times = [], []
        for _ in range(3):  # alternating, so that both run under the same load of the machine
            longest += timed(callers, [queries[:1] for queries in query_lists], take)
            all_times += timed(callers, query_lists, take)
        print(f"  {callers:>2} callers: longest query {spread(longest)}; ten queries {spread(all_times)}")
        print(f"     ratio {sum(all_times) / sum(longest):.2f} of the means, {median_ratio(all_times, longest)}")


def timed(callers: int, work: Sequence[Sequence[Query]], take: Callable[[Sequence[Query]], None]) -> list[float]:
    """Do all ``work`` once, shared among ``callers`` threads; return the seconds of each piece."""
    pieces = itertools.count()
    seconds: list[float] = []

    def call() -> None:
        while (number := next(pieces)) < len(work):
            started = time.perf_counter()
            take(work[number])
            seconds.append(time.perf_counter() - started)

    run_in_threads(callers, call)
    return seconds


def measure_server(name: str, questions: Sequence[str]) -> dict[str, float]:
    """Return the highest rate of ``shrag-serve`` in questions per second, by strategy."""
    best = {}
    with run_server(name, ["--no-cache"]) as server:
        for strategy in ("bm25", "shrag"):
            bodies = [json.dumps({"question": question, "k": 10, "strategy": strategy}) for question in questions]
            best[strategy] = load(f"shrag-serve, {strategy}", server.port, "/v1/search", bodies)
    return best


def measure_pyserini(python: Path, engine: Engine, scratch: Path, questions: Sequence[str]) -> float:
    """Index the same terms with Anserini; return the highest rate of Pyserini's server in questions per second."""
    index = build_pyserini(engine, scratch)
    with pyserini_server(python, index, 8392):
        return load("Pyserini's server", 8392, PATH, pyserini_bodies(engine, questions))


def load(name: str, port: int, path: str, bodies: Sequence[str]) -> float:
    """Ask from 1, 4 and 16 connections, print the figures, and return the highest rate."""
    best = 0.0
    ask(port, path, bodies, 1, len(bodies))  # warms up
    for callers in CALLERS:
        started = time.perf_counter()
        seconds = ask(port, path, bodies, callers, REQUESTS)
        rate = REQUESTS / (time.perf_counter() - started)
        best = max(best, rate)
        print(f"  {name}, {callers:>2} callers: {rate:7.1f} questions/s, {spread(seconds)}")
    return best


def ask(port: int, path: str, bodies: Sequence[str], callers: int, count: int) -> list[float]:
    """Post ``count`` bodies over ``callers`` keep-alive connections; return the seconds of each."""
    numbers = itertools.count()
    seconds: list[float] = []

    def call() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while (number := next(numbers)) < count:
            started = time.perf_counter()
            connection.request(
                "POST", path, bodies[number % len(bodies)].encode(), {"Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise SystemExit(f"{path} answered {answer.status}: {body[:300]!r}")
            seconds.append(time.perf_counter() - started)
        connection.close()

    run_in_threads(callers, call)
    return seconds


def run_in_threads(callers: int, call: Callable[[], None]) -> None:
    """Run ``call`` in ``callers`` threads and wait for them."""
    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def spread(seconds: Sequence[float]) -> str:
    """Return median and 95th percentile in milliseconds as text."""
    ordered = sorted(seconds)
    return f"p50 {ordered[len(ordered) // 2] * 1e3:.1f} ms, p95 {ordered[int(len(ordered) * 0.95)] * 1e3:.1f} ms"


def median_ratio(ones: Sequence[float], others: Sequence[float]) -> str:
    """Return the ratio of the medians as text."""
    return f"{sorted(ones)[len(ones) // 2] / sorted(others)[len(others) // 2]:.2f} of the medians"


if __name__ == "__main__":
    main()
