"""Searching a large index, as ratios in one run: ``python -m bench.server.search_speed [--passages N] [--pyserini PYTHON]``.

Measured are the ladder of ten queries against its longest query alone, records fetched, for 1, 4 and 16 callers in one
process; and the questions a second that the server answers. ``--pyserini`` names the interpreter of an environment
whose ``pyserini.server.rest`` can be imported (it wants torch, transformers and faiss): that server then answers the
same questions over the same terms of the same passages. Passages are made of the development sets' words; questions are
theirs, two joined, so that each has ten keywords.
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

from bench.corpora import resampled, write
from bench.data import DATA, need_data
from bench.server.pyserini_comparison import PATH, build_pyserini, pyserini_bodies, pyserini_server
from bench.server.served import served
from shrag.corpora.formats.topics import read_topics
from shrag.indexing.glossary.query_translation import analyze_question
from shrag.indexing.query import Query
from shrag.serving.engine import Engine, open_engine
from shrag.serving.retrieval.keywords import rank_keywords
from shrag.serving.retrieval.query_builder import build_subqueries
from shrag.serving.retrieval.query_terms import query_terms, searchable
from shrag.serving.retrieval.retriever import DEPTH, search_candidates
from shrag.serving.search_settings import PRODUCT

BIN = Path(sys.executable).parent
QUESTIONS = 200
CALLERS = (1, 4, 16)
REQUESTS = 600


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000, help="passages of the index (%(default)s)")
    parser.add_argument("--pyserini", type=Path, help="a Python with all that Pyserini declares")
    parser.add_argument("--home", type=Path, help="where the index is kept for another run (thrown away)")
    chosen = parser.parse_args()
    need_data()
    with tempfile.TemporaryDirectory() as scratch:
        home = chosen.home or Path(scratch, "home")
        os.environ["SHRAG_HOME"] = str(home)
        name = f"passages-{chosen.passages}"
        if not (home / "indexes" / name / "CURRENT").exists():
            build(home, name, chosen.passages)
        engine = open_engine(home / "indexes", name)
        questions = joined_questions()
        compare_ladder(engine, questions)
        ours = measure_server(name, questions)
        if chosen.pyserini:
            theirs = measure_pyserini(chosen.pyserini, engine, Path(scratch), questions)
            print(
                f"  SHRAG's one query {ours['bm25'] / theirs:.1f} times, its ladder {ours['shrag'] / theirs:.1f} times"
            )
        engine.close()


def build(home: Path, name: str, count: int) -> None:
    """Build the index by the commands a user has."""
    home.mkdir(parents=True, exist_ok=True)
    source = home / "passages.jsonl"
    write(source, resampled(DATA, count))
    for command in (["corpus", "add", name, "--format", "miracl", str(source)], ["index", name]):
        subprocess.run([str(BIN / "shrag"), *command], check=True)
    source.unlink()


def joined_questions() -> list[str]:
    """Return questions of the development sets, two of one language joined."""
    rng = random.Random(1)
    questions = []
    for name in ("wiki-ko", "wiki-en"):
        topics = rng.sample(read_topics(DATA / name / "topics.tsv"), QUESTIONS)
        questions += [f"{one.text} {other.text}" for one, other in zip(topics[::2], topics[1::2], strict=True)]
    return questions


def compare_ladder(engine: Engine, questions: Sequence[str]) -> None:
    """Print the times of the ladder and of its longest query alone, side by side for each number of callers."""
    index = engine.open_index
    ladders = []
    for question in questions:
        words = searchable(query_terms(analyze_question(question, index.analyzer, index.engine)))
        keywords = [word for word, _ in rank_keywords(words, "tfidf", index.engine)][: PRODUCT.keywords]
        if len(keywords) == PRODUCT.keywords:
            ladders.append(build_subqueries(keywords))
    print(f"{engine.manifest.records:,} passages, {len(ladders)} questions of {PRODUCT.keywords} keywords:")

    def take(queries: Sequence[Query]) -> None:
        search_candidates(queries, index, DEPTH)

    for ladder in ladders:
        take(ladder)
    for callers in CALLERS:
        longest, ladder_times = [], []
        for _ in range(3):  # alternating, so that both meet the same load of the machine
            longest += timed(callers, [ladder[:1] for ladder in ladders], take)
            ladder_times += timed(callers, ladders, take)
        print(f"  {callers:>2} callers: longest query {spread(longest)}; ladder {spread(ladder_times)}")
        print(f"     ratio {sum(ladder_times) / sum(longest):.2f} of the means, {median_ratio(ladder_times, longest)}")


def timed(callers: int, work: Sequence[Sequence[Query]], take: Callable[[Sequence[Query]], None]) -> list[float]:
    """Do all ``work`` once, shared between the callers; return the seconds of each piece."""
    pieces = itertools.count()
    seconds: list[float] = []

    def call() -> None:
        while (number := next(pieces)) < len(work):
            started = time.perf_counter()
            take(work[number])
            seconds.append(time.perf_counter() - started)

    together(callers, call)
    return seconds


def measure_server(name: str, questions: Sequence[str]) -> dict[str, float]:
    """Return the most questions a second of ``shrag-serve``, by strategy."""
    best = {}
    with served(name, ["--no-cache"]) as server:
        for strategy in ("bm25", "shrag"):
            bodies = [json.dumps({"question": question, "k": 10, "strategy": strategy}) for question in questions]
            best[strategy] = load(f"shrag-serve, {strategy}", server.port, "/v1/search", bodies)
    return best


def measure_pyserini(python: Path, engine: Engine, scratch: Path, questions: Sequence[str]) -> float:
    """Index the same terms by Anserini; return the most questions a second of Pyserini's server."""
    index = build_pyserini(engine, scratch)
    with pyserini_server(python, index, 8392):
        return load("Pyserini's server", 8392, PATH, pyserini_bodies(engine, questions))


def load(name: str, port: int, path: str, bodies: Sequence[str]) -> float:
    """Ask from 1, 4 and 16 connections, print the figures, and return the most questions a second."""
    best = 0.0
    ask(port, path, bodies, 1, len(bodies))  # warm
    for callers in CALLERS:
        started = time.perf_counter()
        seconds = ask(port, path, bodies, callers, REQUESTS)
        rate = REQUESTS / (time.perf_counter() - started)
        best = max(best, rate)
        print(f"  {name}, {callers:>2} callers: {rate:7.1f} questions/s, {spread(seconds)}")
    return best


def ask(port: int, path: str, bodies: Sequence[str], callers: int, count: int) -> list[float]:
    """Post ``count`` bodies over ``callers`` kept-alive connections; return the seconds of each."""
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

    together(callers, call)
    return seconds


def together(callers: int, call: Callable[[], None]) -> None:
    """Run ``call`` in so many threads at once, to their end."""
    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def spread(seconds: Sequence[float]) -> str:
    """Return the median and the 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    return f"p50 {ordered[len(ordered) // 2] * 1e3:.1f} ms, p95 {ordered[int(len(ordered) * 0.95)] * 1e3:.1f} ms"


def median_ratio(ones: Sequence[float], others: Sequence[float]) -> str:
    """Return the ratio of the medians, in words."""
    return f"{sorted(ones)[len(ones) // 2] / sorted(others)[len(others) // 2]:.2f} of the medians"


if __name__ == "__main__":
    main()
