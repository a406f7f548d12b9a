"""Dense search on a Milvus without sparse vectors: ``python -m bench.engines.milvus_dense NAME --address URL``.

Milvus 2.3.5 has no sparse vectors, but is the last version with its server in a wheel (``pip install milvus==2.3.5`` in
an environment of its own, then ``milvus-server``). The vectors of an index are stored there with the index parameters
of the engine ``milvus``, and searched as the engine does. The hundred nearest are compared with an exact search. Then
an alias is moved.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pymilvus
from numpy.typing import NDArray

from bench.data import home
from bench.engines.parity import prepare
from shrag.indexing.distributed.collection import Between
from shrag.indexing.distributed.milvus import DENSE_INDEX, MilvusCollection, MilvusDatabase
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.vector_card import FOLDER
from shrag.indexing.vectors.store import open_vectors
from shrag.serving.engine import open_engine

K = 100
_BATCH = 2_000
_COLLECTIONS = ("shrag_bench_dense", "shrag_bench_dense_2")
_ALIAS = "shrag_bench"


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="a set of bench.engines.parity")
    parser.add_argument("--address", default="http://127.0.0.1:19530")
    parser.add_argument("--questions", type=int, default=500)
    chosen = parser.parse_args()
    questions = prepare(chosen.name)[: chosen.questions]
    folder, manifest = current_generation(home() / "indexes" / chosen.name)
    if manifest.vectors is None:
        raise SystemExit(f"Index {chosen.name} has no vectors.")
    rows = np.asarray(open_vectors(folder / FOLDER, manifest.vectors), dtype=np.float32)
    database = MilvusDatabase(chosen.address, timeout=60.0)
    print(f"Milvus {database.client.get_server_version()}, {len(rows):,} vectors of {rows.shape[1]}")
    started = time.perf_counter()
    for name in _COLLECTIONS:
        _load(database, name, rows if name == _COLLECTIONS[0] else rows[:10])
    print(f"  loaded in {time.perf_counter() - started:.0f} s")
    collection = MilvusCollection(database, _COLLECTIONS[0])
    first_half = collection.count(Between("number", 0, len(rows) // 2 - 1))
    print(f"  counted {collection.count():,}, in the first half {first_half:,}")
    with open_engine(home() / "indexes", chosen.name) as engine:
        dense = engine.open_index.dense
        vectors = [] if dense is None else [dense.encode(question) for question in questions]
    recalls, half, times = [], [], []
    for vector in (vector for vector in vectors if vector.any()):
        products = rows @ vector[0]
        begun = time.perf_counter()
        (found,) = collection.search_dense(vector, K)
        times.append(time.perf_counter() - begun)
        recalls.append(_recall(products, found, len(rows)))
        (found,) = collection.search_dense(vector, K, Between("number", 0, len(rows) // 2 - 1))
        half.append(_recall(products, found, len(rows) // 2))
    print(
        f"  recall@{K} {np.mean(recalls):.5f}, least {min(recalls):.2f}; with a filter {np.mean(half):.5f}; "
        f"p50 {1e3 * float(np.median(times)):.1f} ms over {len(recalls)} questions"
    )
    for name in _COLLECTIONS:
        database.point(_ALIAS, name)
        print(f"  alias → {database.target(_ALIAS)}, {MilvusCollection(database, _ALIAS).count():,} vectors")
    database.client.drop_alias(_ALIAS)
    for name in _COLLECTIONS:
        database.drop(name)


def _load(database: MilvusDatabase, name: str, rows: NDArray[np.float32]) -> None:
    client = database.client
    database.drop(name)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    kind = pymilvus.DataType
    schema.add_field("number", kind.INT64, is_primary=True)
    schema.add_field("dense", kind.FLOAT_VECTOR, dim=rows.shape[1])
    client.create_collection(name, schema=schema)
    for start in range(0, len(rows), _BATCH):
        part = enumerate(rows[start : start + _BATCH], start)
        client.upsert(name, [{"number": number, "dense": row} for number, row in part])
    client.flush(name)
    indexes = client.prepare_index_params()
    indexes.add_index("dense", **DENSE_INDEX)
    client.create_index(name, indexes)
    client.load_collection(name)


def _recall(products: NDArray[np.float32], found: list[tuple[int, float]], most: int) -> float:
    """Return the share of the nearest of the first ``most`` rows that were found. A row that ties counts as found."""
    least = np.sort(products[:most])[-K] - 1e-6
    return float(np.mean([products[number] >= least for number, _ in found])) * len(found) / K


if __name__ == "__main__":
    main()
