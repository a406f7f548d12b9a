"""Shared fixtures of builds: larger corpora from the demonstration's words, and the comparison of two indexes."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.glossary.store import Glossary
from shrag.indexing.lexical.schema import CONTENTS, FOLDER, TITLE
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import any_of
from shrag.indexing.storage.generations import current_generation
from tests.support.killed_build import shorten_builds

DEMO_RECORDS = Path(__file__).resolve().parents[2] / "corpora" / "demo" / "records.jsonl"

Grow = Callable[[Path, str, int], None]
"""Adds a corpus of so many records to a home."""


@pytest.fixture(scope="session")
def grow_corpus() -> Grow:
    """Return a function that makes a corpus of records made of the demonstration's words, the same ones each time."""
    words = sorted(
        {word for line in DEMO_RECORDS.read_text().splitlines() for word in json.loads(line)["abstract"].split()}
    )

    def grow(home: Path, name: str, count: int) -> None:
        rng = random.Random(count)
        source = home / f"{name}.jsonl"
        home.mkdir(parents=True, exist_ok=True)
        with source.open("w") as stream:
            for number in range(count):
                text = " ".join(rng.choices(words, k=rng.randrange(8, 40)))
                # Titles repeat, so that scores are tied and the order of ties matters.
                record = {
                    "docid": f"g{rng.randrange(10**6):06}-{number}",
                    "title": words[number % 97],
                    "text": f"{text}.",
                }
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
        add_corpus(home / "corpora", name, "miracl", [source], replace=True)

    return grow


def index_identity(index: Path) -> dict[str, object]:
    """Return all that two indexes of the same content have in common, however they were built.

    The count; the docids with digests of their records; terms, term–document pairs and occurrences; and a run of 200
    queries, 100 deep, scores to six decimals. Also the glossary's pairs,
    the token store's and the rejects' bytes, and the documents' order.
    """
    folder, manifest = current_generation(index)
    reader = LuceneSearcher(folder / FOLDER, manifest.bm25)
    lucene = reader._reader
    docids = reader.docids(range(reader.count()))
    found = reader.fetch(docids)
    rng = random.Random(7)
    vocabulary = sorted({term for analysed in found if analysed is not None for term in analysed.contents_terms})
    queries = [any_of(rng.choices(vocabulary, k=rng.randrange(1, 6))) for _ in range(200)] if vocabulary else []
    run = [[(hit.docid, f"{hit.score:.6f}") for hit in hits] for hits in reader.search(queries, 100)]
    counts = {
        field: (
            int(lucene.getSumTotalTermFreq(field)),
            int(lucene.getSumDocFreq(field)),
            int(lucene.getDocCount(field)),
        )
        for field in (CONTENTS, TITLE)
    }
    reader.close()
    glossary = Glossary(folder / GLOSSARY)
    pairs = list(glossary.entries())
    glossary.close()
    return {
        "documents": (manifest.records, manifest.rejected, len(docids)),
        "records": {docid: hashlib.sha256(_told(each)).hexdigest() for docid, each in zip(docids, found, strict=True)},
        "order": docids,
        "terms": counts,
        "run": run,
        "glossary": pairs,
        "words": (folder / "tokens.sqlite").read_bytes(),
        "rejects": (folder / "rejects.jsonl").read_bytes(),
    }


@pytest.fixture(scope="session")
def identity() -> Callable[[Path], dict[str, object]]:
    """Return :func:`index_identity`."""
    return index_identity


def _told(analysed: AnalyzedRecord | None) -> bytes:
    return msgspec.json.encode(analysed and (analysed.record, analysed.title_terms, analysed.sentence_terms))


@pytest.fixture(scope="module")
def short_builds() -> Iterator[None]:
    """Make the builds of this module short."""
    with pytest.MonkeyPatch.context() as patch:
        shorten_builds(patch)
        yield
