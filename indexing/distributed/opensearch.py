"""Export an index for OpenSearch: settings and mapping, records for its bulk interface, and bodies of requests.

The fields hold the terms of the index's own analyzer, separated by spaces, so OpenSearch needs no Korean analyzer. They
are scored with the index's k1 and b. OpenSearch is not an engine of SHRAG, and these files have never been loaded into
OpenSearch.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from shrag.corpora.files import check_name, disk_errors
from shrag.indexing.analyzed_record import AnalyzedRecord, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexingError
from shrag.indexing.filter_fields import YEAR, record_parts
from shrag.indexing.lexical.jvm import start_java
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term
from shrag.indexing.record_filter import EVERY_RECORD, VALUE_FIELDS, RecordFilter
from shrag.indexing.storage.generations import check_files, current_generation
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.storage.vector_card import VectorCard
from shrag.indexing.vectors.store import open_vectors
from shrag.messages.text import Text

INDEX_FILE = "index.json"
"""The body of ``PUT /NAME``."""

BULK_FILE = "bulk.ndjson"
"""The body of ``POST /NAME/_bulk``, to be sent in parts of an even number of lines."""

_Json = dict[str, Any]
_REPORTED = 1_000


def export_opensearch(
    indexes: Path, name: str, folder: Path, report: Callable[[str, int], None] = lambda what, done: None
) -> int:
    """Write the current generation of an index into a new folder; return its number of records.

    The folder appears once it is complete, so an export that failed or was killed is simply run again.

    Raises:
        IndexingError: The folder exists, or the index cannot be read.
    """
    if folder.exists():
        raise IndexingError(Text("{folder} exists: choose a new folder for the export.", folder=folder))
    generation, manifest = current_generation(indexes / check_name(name))
    check_files(generation, manifest)
    start_java()
    card = manifest.vectors if manifest.vectors and manifest.vectors.dimension else None  # 0 if there are no terms
    vectors = open_vectors(generation / VECTORS, card) if card else None
    with closing(LuceneSearcher(generation / FOLDER, manifest.bm25)) as searcher, disk_errors(folder.parent):
        part = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)  # of a killed export
        part.mkdir(parents=True)
        try:
            mapping = index_body(manifest.bm25, card)
            (part / INDEX_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(mapping)) + b"\n")
            with (part / BULK_FILE).open("wb") as stream:
                for number, analyzed in enumerate(searcher.documents(range(manifest.records))):
                    source = document_body(analyzed)
                    if vectors is not None and vectors[number].any():
                        source["vector"] = vectors[number].astype(np.float32).tolist()
                    for line in ({"index": {"_id": analyzed.record.docid}}, source):
                        stream.write(msgspec.json.encode(line) + b"\n")
                    if not (number + 1) % _REPORTED:
                        report("records written", number + 1)
                stream.flush()
                os.fsync(stream.fileno())
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    report("records written", manifest.records)
    return manifest.records


def index_body(bm25: Bm25, card: VectorCard | None) -> _Json:
    """Return the settings and the mapping of the index, with vectors if there is a ``card`` of them."""
    terms = {"type": "text", "analyzer": "whitespace", "similarity": "shrag", "index_options": "freqs"}
    properties: _Json = {
        "contents": terms,
        "title": terms,
        YEAR: {"type": "integer"},
        **{name: {"type": "keyword"} for name in VALUE_FIELDS},
        "stored": {"type": "object", "enabled": False},
    }
    settings: _Json = {"similarity": {"shrag": {"type": "BM25", "k1": bm25.k1, "b": bm25.b}}}
    if card:
        method = {"name": "hnsw", "engine": "faiss", "space_type": "innerproduct"}
        properties["vector"] = {"type": "knn_vector", "dimension": card.dimension, "method": method}
        settings["knn"] = True
    return {"settings": {"index": settings}, "mappings": {"dynamic": "strict", "properties": properties}}


def document_body(analyzed: AnalyzedRecord) -> _Json:
    """Return a record's body: its terms, its values for filters, and the stored record with its terms."""
    packed = pack_record(analyzed)
    body: _Json = {"contents": " ".join(analyzed.contents_terms), "title": " ".join(analyzed.title_terms)}
    for field, key, _ in record_parts(analyzed.record):
        if field == YEAR:
            body[YEAR] = int(key)
        else:
            body.setdefault(field, []).append(key)
    body["stored"] = {"record": msgspec.Raw(packed.raw.encode()), "terms": packed.contents}
    return body


def search_body(query: Query, k: int, title_boost: float, record_filter: RecordFilter = EVERY_RECORD) -> _Json:
    """Return the body of ``POST /NAME/_search?search_type=dfs_query_then_fetch``.

    With that parameter, the statistics are those of all shards. A score equals Lucene's if OpenSearch uses Lucene's
    own similarity. With the older similarity it is ``k1 + 1`` times as high, so the order is the same.
    """
    filters: list[_Json] = []
    if record_filter.years is not None:
        first, last = record_filter.years
        filters.append({"range": {YEAR: {"gte": first, "lte": last}}})
    filters += [{"terms": {name: list(keys)}} for name in VALUE_FIELDS if (keys := record_filter.keys(name))]
    body = query_body(query, title_boost)
    if filters:
        body = {"bool": {"must": [body], "filter": filters}}
    return {"size": k, "_source": ["stored"], "query": body}


def query_body(query: Query, title_boost: float) -> _Json:
    """Return a query tree in OpenSearch's query language. Terms are values and are never parsed."""
    match query:
        case Term(term):
            found: _Json = {"should": _leaves(term, title_boost)}
        case Or(()) | And(()) | DisjunctionMax(()):
            return {"match_none": {}}
        case DisjunctionMax(clauses):
            return {"dis_max": {"queries": [query_body(clause, title_boost) for clause in clauses]}}
        case Or(clauses):
            found = {"should": [query_body(clause, title_boost) for clause in clauses]}
        case And(clauses):
            found = {"must": [query_body(clause, title_boost) for clause in clauses]}
        case Not(wanted, unwanted):
            found = {"must": [query_body(wanted, title_boost)], "must_not": [query_body(unwanted, title_boost)]}
        case Boost(inner, weight):
            found = {"must": [query_body(inner, title_boost)], "boost": weight}
    return {"bool": found}


def _leaves(term: str, title_boost: float) -> list[Mapping[str, Any]]:
    contents = {"term": {"contents": {"value": term}}}
    return [contents, {"term": {"title": {"value": term, "boost": title_boost}}}] if title_boost else [contents]
