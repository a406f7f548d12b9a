"""Plan an index before it is built: disk, memory, time, and the size beyond which a distributed engine serves better.

Sizes are linear in the number of tokens (words between spaces) of all records. The figures were measured on corpora of
up to three million records (docs/en/explanation/benchmarks.md). The build's speed is that of this machine if a large
enough index was built here, else that of the benchmark's machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shrag.indexing.build.checkpoints import required_bytes
from shrag.indexing.distributed.collection import HNSW_LINKS
from shrag.indexing.errors import IndexingError
from shrag.indexing.maintenance.history import list_names
from shrag.indexing.storage.generations import current_generation

GIB = 2**30

_TEXT_BYTES = 8.3  # per token, in the decompressed corpus
_CORPUS_BYTES = 4.8  # per token, in the stored corpus
_STORED_BYTES = 12.0  # per token, in Lucene's stored records
_POSTINGS_BYTES = 1.7  # per token, in Lucene's terms, postings, norms and doc values
_WORD_BYTES = 160  # per record, in the token store and the glossary, whose sizes are limited
_MOST_WORD_BYTES = 400 << 20
_SERVER_BYTES = 2 * GIB  # Java's heap, Python, caches
_BUILD_BYTES = 5 * GIB // 2  # Java, Python, and the cached words of all workers
_WORKER_BYTES = 150 << 20
_VECTOR_BYTES = 2  # per dimension, in half precision
_FAISS_BYTES = 1  # per dimension
_SEARCH_MS = 26.2  # p95 with a million records
_SEARCH_GROWTH = (0.5, 1.12)  # exponents below a million records, and from one to three million
_LUCENE_RECORDS = 2**31 - 129
"""Most documents of one Lucene index."""

SLOWEST_SEARCH_MS = 1_000
LONGEST_BUILD_HOURS = 24
LEAST_BUILT = 50_000
"""Fewest records of an index whose build time gives the machine's speed."""

_REFERENCE_RATE = 1_111.0  # records per second, for a million records of 110 tokens on two cores

_ROWS_PER_SHARD = 100_000_000
_MOST_SHARDS = 16  # Milvus' limit unless proxy.maxShardNum is raised
_DISTINCT_TERMS = 0.68  # distinct terms of a record per token
_POSTING_BYTES = 8  # term number or row, and weight
_HNSW_RECORDS = 100_000_000
_LINK_BYTES = 2 * HNSW_LINKS * 4  # two lists of neighbors on the lowest level
_DISKANN_DEGREE = 56
_DISKANN_MEMORY = 0.25  # share of the vectors' size: an eighth each for PQ codes and search cache
_HEADROOM = 1.3
_REPLICAS = 2
NODE_BYTES = 64 * GIB
"""Memory of one query node."""

LimitName = Literal["memory", "disk", "build", "search", "lucene"]


@dataclass(frozen=True, slots=True)
class BuildRate:
    """The speed of a build. ``name`` is the index that was built on this machine, empty for the benchmark's machine."""

    records_per_second: float
    name: str = ""
    records: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """The cores of one machine, and its memory and free disk space in bytes."""

    cores: int
    memory: int
    disk: int


@dataclass(frozen=True, slots=True)
class EmbeddedPlan:
    """An index in one process on one machine; sizes in bytes.

    Attributes:
        index: The index's files.
        building: The most disk space that corpus, build and result take together.
        build_memory: Memory of a build's processes.
        serving_memory: Memory of a server, including the part of the index that should stay in the page cache.
        build_hours: Hours of a complete build.
        search_ms: 95th percentile of the time of a search in milliseconds, extrapolated.
    """

    index: int
    building: int
    build_memory: int
    serving_memory: int
    build_hours: float
    search_ms: float


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """The same records on Milvus. Sizes are in bytes, of all ``replicas`` together."""

    shards: int
    replicas: int
    dense_index: Literal["none", "HNSW", "DISKANN"]
    memory: int
    node_disk: int
    object_storage: int
    query_nodes: int


@dataclass(frozen=True, slots=True)
class SizePlan:
    """A plan for a number of records.

    Attributes:
        limits: The most records that this machine takes, by the limiting resource.
        gpu_records: The number of records whose vectors fit into a GPU's budget; 0 without vectors.
    """

    records: int
    tokens: int
    dimension: int
    machine: Machine
    rate: BuildRate
    embedded: EmbeddedPlan
    cluster: ClusterPlan
    limits: dict[LimitName, int]
    gpu_records: int

    @property
    def most_records(self) -> int:
        """The most records that the embedded engine takes on this machine."""
        return min(self.limits.values())

    @property
    def engine(self) -> Literal["lucene", "milvus"]:
        """The engine to choose."""
        return "lucene" if self.records <= self.most_records else "milvus"


def plan_size(
    records: int, tokens: int, dimension: int, machine: Machine, rate: BuildRate, gpu_budget: int
) -> SizePlan:
    """Return the plan for ``records`` records of ``tokens`` tokens each, with vectors of ``dimension`` (0: none)."""

    def plan(count: int) -> EmbeddedPlan:
        return _embedded(count, tokens, dimension, machine.cores, rate)

    limits: dict[LimitName, int] = {
        "memory": _most(lambda count: max(plan(count).serving_memory, plan(count).build_memory) <= machine.memory),
        "disk": _most(lambda count: plan(count).building <= machine.disk),
        "build": _most(lambda count: plan(count).build_hours <= LONGEST_BUILD_HOURS),
        "search": _most(lambda count: plan(count).search_ms <= SLOWEST_SEARCH_MS),
        "lucene": _LUCENE_RECORDS,
    }
    gpu_records = gpu_budget // (dimension * _VECTOR_BYTES) if dimension else 0
    cluster = cluster_plan(records, tokens, dimension)
    return SizePlan(records, tokens, dimension, machine, rate, plan(records), cluster, limits, gpu_records)


def cluster_plan(records: int, tokens: int, dimension: int) -> ClusterPlan:
    """Return the size of ``records`` records on Milvus (deploy/milvus/README.md has the formula and its sources)."""
    sparse = records * tokens * _DISTINCT_TERMS * _POSTING_BYTES
    stored = records * tokens * (_TEXT_BYTES + _STORED_BYTES)
    raw = records * dimension * 4
    on_disk = records > _HNSW_RECORDS
    dense = raw * _DISKANN_MEMORY if on_disk else raw + records * _LINK_BYTES * bool(dimension)
    graph = raw + records * _DISKANN_DEGREE * 4 * bool(dimension) if on_disk else 0
    memory = math.ceil(_HEADROOM * (sparse + dense)) * _REPLICAS
    return ClusterPlan(
        shards=min(max(math.ceil(records / _ROWS_PER_SHARD), 1), _MOST_SHARDS),
        replicas=_REPLICAS,
        dense_index="none" if not dimension else "DISKANN" if on_disk else "HNSW",
        memory=memory,
        node_disk=math.ceil(stored + graph) * _REPLICAS,
        object_storage=math.ceil(2 * sparse + stored + raw + (graph or dense)),
        query_nodes=max(math.ceil(memory / NODE_BYTES), _REPLICAS),
    )


def find_rate(indexes: Path) -> BuildRate:
    """Return the speed of the largest complete build under ``indexes``, or else the benchmark's."""
    found = [rate for name in list_names(indexes) if (rate := _rate(indexes, name)) is not None]
    return max(found, key=lambda rate: (rate.records, rate.name), default=BuildRate(_REFERENCE_RATE))


def _rate(indexes: Path, name: str) -> BuildRate | None:
    try:
        _, manifest = current_generation(indexes / name)
    except IndexingError:
        return None
    if manifest.records < LEAST_BUILT or not manifest.build_seconds:
        return None
    return BuildRate(manifest.records / manifest.build_seconds, name, manifest.records)


def _embedded(records: int, tokens: int, dimension: int, cores: int, rate: BuildRate) -> EmbeddedPlan:
    words = min(records * _WORD_BYTES, _MOST_WORD_BYTES)
    postings = records * tokens * _POSTINGS_BYTES
    vectors = records * dimension * _VECTOR_BYTES
    faiss = records * dimension * _FAISS_BYTES
    index = math.ceil(records * tokens * _STORED_BYTES + postings + words + vectors + faiss)
    corpus = math.ceil(records * tokens * _CORPUS_BYTES)
    return EmbeddedPlan(
        index=index,
        building=corpus + required_bytes(math.ceil(records * tokens * _TEXT_BYTES)) + vectors + faiss,
        build_memory=_BUILD_BYTES + cores * _WORKER_BYTES,
        serving_memory=math.ceil(_SERVER_BYTES + postings + vectors),
        build_hours=records / rate.records_per_second / 3600,
        search_ms=_SEARCH_MS * (records / 1_000_000) ** _SEARCH_GROWTH[records > 1_000_000],
    )


def _most(fits: Callable[[int], bool]) -> int:
    """Return the largest number of records that fits, found by bisection; 0 if none does."""
    low, high = 0, 2**40
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
