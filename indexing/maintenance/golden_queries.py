"""Golden queries: a build stores them with their hits, to verify later that the index still finds the same hits."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import any_of
from shrag.indexing.search_engine import SearchEngine
from shrag.messages.text import Text

FILE = "golden.json"
"""File name in an index's folder."""

QUERIES = 20
HITS = 10
_TERMS = 8
_DECIMALS = 6
_ROUNDING = 2e-4  # largest difference of a score by an engine other than Lucene, which built the index

_Hits = tuple[tuple[str, float], ...]


class GoldenQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The terms of a query, and docids and scores (to six decimals) of its best ten hits."""

    terms: tuple[str, ...]
    hits: _Hits


def write_golden_queries(generation: Path, parameters: Bm25) -> None:
    """Search with the leading terms of a sample of records, and store queries and hits in ``generation``."""
    with closing(LuceneSearcher(generation / FOLDER, parameters)) as reader:
        wanted = [terms for record in reader.documents(sample(reader.count())) if (terms := _terms(record))]
        golden = [GoldenQuery(terms, _search(reader, terms)) for terms in wanted]
    (generation / FILE).write_bytes(msgspec.json.encode(golden))


def verify_golden_queries(path: Path, engine: SearchEngine) -> list[tuple[str, str]]:
    """Search with every query of the file again.

    The scores of an engine other than Lucene may differ by rounding, and so may the order of hits with such scores.

    Returns:
        Each query as text, and how its hits differ, empty if they do not.

    Raises:
        msgspec.MsgspecError: The file is invalid.
        OSError: The file cannot be read.
    """
    queries = msgspec.json.decode(path.read_bytes(), type=list[GoldenQuery])
    rounding = 0.0 if isinstance(engine, LuceneSearcher) else _ROUNDING
    return [
        (" ".join(query.terms), _difference(query.hits, _search(engine, query.terms), rounding)) for query in queries
    ]


def sample(documents: int, size: int = QUERIES) -> list[int]:
    """Return at most ``size`` document numbers, evenly spread over ``documents``."""
    return sorted({position * documents // size for position in range(size)} if documents else ())


def _terms(record: AnalyzedRecord) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.contents_terms))[:_TERMS]


def _search(engine: SearchEngine, terms: tuple[str, ...]) -> _Hits:
    (hits,) = engine.search([any_of(terms)], HITS)
    return tuple((hit.docid, round(hit.score, _DECIMALS)) for hit in hits)


def _difference(stored: _Hits, found: _Hits, rounding: float) -> str:
    pairs = enumerate(zip(found, stored, strict=False))
    rank = next((rank for rank, (hit, expected) in pairs if not _is_same(hit, expected, stored, rounding)), None)
    if rank is not None:
        return Text(
            "finds {found} at rank {rank}, {stored} when it was built",
            found=_hit(found[rank]),
            rank=rank + 1,
            stored=_hit(stored[rank]),
        )
    if len(found) == len(stored):
        return ""
    return Text("finds {found} records, {stored} when it was built", found=len(found), stored=len(stored))


def _is_same(hit: tuple[str, float], expected: tuple[str, float], stored: _Hits, rounding: float) -> bool:
    """Return whether a hit is the expected one or, up to ``rounding``, another one with its score."""
    if hit == expected:
        return True
    own = dict(stored).get(hit[0], stored[-1][1])
    return bool(rounding) and max(abs(hit[1] - expected[1]), abs(hit[1] - own)) <= rounding


def _hit(hit: tuple[str, float]) -> str:
    return f"{hit[0]} ({hit[1]:.6f})"
