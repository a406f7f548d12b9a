"""Correctness and time of filters: ``python -m bench.server.filter_speed [--passages N]``.

Passages consist of resampled words of the development sets. Each has a language, a year drawn from a hundred, one of
500 journals and up to three of 5,000 authors. Filters by year pass 1, 10 and 50 % of them. Their first ten hits for
each query, and for the vectors, are compared with filtering by hand: a search for every record, of which only the
passing ones are kept. Times are those of one caller, who asks each question under all conditions in turn. Before that,
each strategy is asked once, and the first condition changes from question to question, because the first search of a
question also reads its words and records.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.corpora import resample_passages
from bench.data import DATA, require_data
from bench.server.search_speed import joined_questions
from shrag.indexing.query import Query, any_of
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.engine import Engine, open_engine
from shrag.serving.retrieval.query_builder import build_subqueries, reduce_query
from shrag.serving.retrieval.query_terms import query_terms, rank_keywords, searchable
from shrag.serving.search_settings import PRODUCT

FIRST_YEAR = 1925
FILTERS: Mapping[str, RecordFilter] = {
    "none": EVERY_RECORD,
    "1 %": RecordFilter(year_to=FIRST_YEAR),
    "10 %": RecordFilter(year_to=FIRST_YEAR + 9),
    "50 %": RecordFilter(year_to=FIRST_YEAR + 49),
}
STRATEGIES = ("bm25", "shrag", "hybrid")
COMPARED = 20
TIMED = 100


def main() -> None:
    """Compare and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000, help="passages of the index (%(default)s)")
    parser.add_argument("--home", type=Path, help="folder of the index for later runs (default: temporary)")
    chosen = parser.parse_args()
    require_data()
    with tempfile.TemporaryDirectory() as scratch:
        home = chosen.home or Path(scratch, "home")
        name = f"filtered-{chosen.passages}"
        if not (home / "indexes" / name / "CURRENT").exists():
            build(home, name, chosen.passages)
        with open_engine(home / "indexes", name) as engine:
            questions = joined_questions()
            compare(engine, questions[: 2 * COMPARED : 2])
            measure(engine, questions[:TIMED])


def build(home: Path, name: str, count: int) -> None:
    """Build the index by the command line."""
    home.mkdir(parents=True, exist_ok=True)
    source = home / "records.jsonl"
    with source.open("w", encoding="utf-8") as stream:
        for record in _records(count):
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    shrag = [str(Path(sys.executable).parent / "shrag")]
    environment = {**os.environ, "SHRAG_HOME": str(home)}
    for command in (
        ["corpus", "add", name, "--format", "scienceon", str(source)],
        ["index", name, "--encoder", "lsa"],
    ):
        subprocess.run(shrag + command, check=True, env=environment)
    source.unlink()


def _records(count: int) -> Iterator[dict[str, str]]:
    rng = random.Random(3)
    for passage in resample_passages(DATA, count):
        yield {
            "CN": passage["docid"],
            "title": passage["title"],
            "abstract": passage["text"],
            "author": ";".join(f"Author {rng.randrange(5_000)}" for _ in range(rng.randrange(1, 4))),
            "journal": f"Journal {rng.randrange(500)}",
            "publisher": "",
            "year": str(FIRST_YEAR + rng.randrange(100)),
            "link": "",
            "lang": "",
        }


def compare(engine: Engine, questions: Sequence[str]) -> None:
    """Print for how many questions filtering by hand gives the same hits: ``bm25``, default strategy, vectors."""
    index, count = engine.open_index, engine.manifest.records
    searcher, dense = index.searcher, index.dense
    years = {each.record.docid: each.record.year or 0 for each in index.store.sample(count)}
    print(f"{count:,} records; {len(questions)} questions with the same hits as by hand:")
    for name, record_filter in list(FILTERS.items())[1:]:
        passing = {docid for docid, year in years.items() if year <= (record_filter.year_to or 0)}
        same: dict[str, int] = {"bm25": 0, "default": 0, "vectors": 0}
        for question in questions:
            plan = _queries(engine, question)
            every_hit = searcher.search(plan, count)
            by_hand = [[hit for hit in hits if hit.docid in passing][:10] for hits in every_hit]
            found = searcher.search(plan, 10, record_filter)
            same["bm25"] += found[0] == by_hand[0]
            same["default"] += found == by_hand
            if dense is not None:
                vector = dense.encode(question)
                nearest = [hit for hit in dense.search(vector, count) if hit.docid in passing][:10]
                same["vectors"] += dense.filtered(record_filter).search(vector, 10) == nearest
        print(f"  {name:>5} ({len(passing):,} records): {same}")


def _queries(engine: Engine, question: str) -> list[Query]:
    """Return the query of ``bm25`` and those of the default strategy."""
    index = engine.open_index
    terms = analyze_question(question, index.analyzer, index.searcher).terms
    words = searchable(query_terms(analyze_question(question, index.analyzer, index.searcher)))
    keywords = [word for word, _ in rank_keywords(words, "tfidf", index.searcher)][: PRODUCT.keywords]
    return [any_of(terms), *build_subqueries(reduce_query(keywords))]


def measure(engine: Engine, questions: Sequence[str]) -> None:
    """Print the times of whole searches by strategy and filter, without and with facets."""
    cases = [(strategy, name, facets) for strategy in STRATEGIES for name in FILTERS for facets in (False, True)]
    seconds: dict[tuple[str, str, bool], list[float]] = {case: [] for case in cases}
    for place, question in enumerate([*questions[:20], *questions]):
        for strategy in STRATEGIES:
            engine.search(question, strategy=strategy)
        first = place % len(cases)
        for case in (*cases[first:], *cases[:first]):
            strategy, name, facets = case
            started = time.perf_counter()
            engine.search(question, strategy=strategy, record_filter=FILTERS[name], facets=facets)
            if place >= 20:  # the first ones fill caches
                seconds[case].append(time.perf_counter() - started)
    print(f"{len(questions)} questions of about ten keywords, milliseconds: median (95 % are faster than)")
    for strategy in STRATEGIES:
        for name in FILTERS:
            shown = (_spread(seconds[strategy, name, facets]) for facets in (False, True))
            print(f"  {strategy:>6} {name:>5}: {'; with facets '.join(shown)}")


def _spread(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return f"{1000 * statistics.median(ordered):.1f} ({1000 * ordered[int(0.95 * len(ordered))]:.1f})"


if __name__ == "__main__":
    main()
