"""Filters: the same records as by hand, and their time: ``python -m bench.server.filter_speed [--passages N]``.

Passages consist of resampled words of the development sets; each has a year drawn from a hundred, one of 500 journals,
a language and up to three of 5,000 authors. Filters by year pass 1, 10 and 50 % of them. Of each filter the first ten
hits of ``bm25`` and the hits of each query of the default strategy are compared with those of a search for every record,
of which the passing ones are kept. Times are of one caller, the conditions in turn for each question.
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
from shrag.indexing.glossary.query_translation import analyze_question
from shrag.indexing.query import any_of
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.serving.engine import Engine, open_engine
from shrag.serving.search_settings import SearchSettings

FIRST_YEAR = 1925
FILTERS: Mapping[str, RecordFilter] = {
    "none": EVERY_RECORD,
    "1 %": RecordFilter(year_to=FIRST_YEAR),
    "10 %": RecordFilter(year_to=FIRST_YEAR + 9),
    "50 %": RecordFilter(year_to=FIRST_YEAR + 49),
}
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
    """Print how many questions get the same hits as by hand."""
    index, records = engine.open_index, engine.manifest.records
    print(f"{records:,} records, {len(questions)} questions compared with filtering by hand:")
    for name, record_filter in list(FILTERS.items())[1:]:
        same = {"bm25": 0, "shrag": 0, "vectors": 0}
        for question in questions:
            terms = analyze_question(question, index.analyzer, index.searcher).terms
            (every_hit,) = index.searcher.search([any_of(terms)], records)
            passing = {
                record.record.docid
                for record in index.store.fetch([hit.docid for hit in every_hit])
                if record is not None and record_filter.passes(record.record)
            }
            (found,) = index.searcher.search([any_of(terms)], 10, record_filter)
            same["bm25"] += found == [hit for hit in every_hit if hit.docid in passing][:10]
            settings = SearchSettings(depth=10)
            filtered = engine.search(question, settings=settings, record_filter=record_filter)
            everything = engine.search(question, settings=SearchSettings(depth=1_000))
            same["shrag"] += all(
                [hit for hit in hits if hit.docid in passing][:10] == list(kept)[: len(hits)]
                for hits, kept in zip(
                    (
                        [hit for hit in hits if record_filter.passes(_record(engine, hit.docid))][:10]
                        for hits in everything.hits.hits
                    ),
                    filtered.hits.hits,
                    strict=True,
                )
            )
        print(f"  {name:>5}: {same}")
