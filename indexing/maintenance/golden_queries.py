"""Golden queries stored with an index."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import any_of
from shrag.indexing.search_engine import SearchEngine

FILE = "golden.json"
"""Its name in an index's folder."""

QUERIES = 20
HITS = 10
_TERMS = 8
_DECIMALS = 6

_Hits = tuple[tuple[str, float], ...]


class GoldenQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``hits`` are the docids and scores of the best ten, scores rounded to six decimals."""

    terms: tuple[str, ...]
    hits: _Hits


def write_golden_queries(generation: Path, parameters: Bm25) -> None:
    """Ask the generation's Lucene index its golden queries and keep the answers."""
    reader = LuceneSearcher(generation / FOLDER, parameters)
    try:
        wanted = [terms for record in reader.documents(sample(reader.count())) if (terms := _terms(record))]
        golden = [GoldenQuery(terms, _ask(reader, terms)) for terms in wanted]
    finally:
        reader.close()
    (generation / FILE).write_bytes(msgspec.json.encode(golden))


def verify_golden_queries(path: Path, engine: SearchEngine) -> list[tuple[str, str]]:
    """Ask every query of the file again; return each as text with what is wrong about its answer, "" where nothing is.

    Raises ``msgspec.MsgspecError`` where the file holds something else, ``OSError`` where it cannot be read.
    """
    queries = msgspec.json.decode(path.read_bytes(), type=list[GoldenQuery])
    return [(" ".join(query.terms), _difference(query.hits, _ask(engine, query.terms))) for query in queries]


def sample(documents: int, size: int = QUERIES) -> list[int]:
    """Return at most ``size`` document numbers spread evenly over an index of ``documents``."""
    return sorted({place * documents // size for place in range(size)} if documents else ())


def _terms(record: AnalyzedRecord) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.contents_terms))[:_TERMS]


def _ask(engine: SearchEngine, terms: tuple[str, ...]) -> _Hits:
    (hits,) = engine.search([any_of(terms)], HITS)
    return tuple((hit.docid, round(hit.score, _DECIMALS)) for hit in hits)


def _difference(sealed: _Hits, found: _Hits) -> str:
    if found == sealed:
        return ""
    place = next((place for place, pair in enumerate(zip(found, sealed, strict=False)) if pair[0] != pair[1]), None)
    if place is None:
        return f"finds {len(found)} records, found {len(sealed)} when it was sealed"
    return f"finds {_hit(found[place])} in place {place + 1}, found {_hit(sealed[place])} when it was sealed"


def _hit(hit: tuple[str, float]) -> str:
    return f"{hit[0]} ({hit[1]:.6f})"
