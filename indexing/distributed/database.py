"""Open the vector database of an engine, and name its collections and aliases."""

from __future__ import annotations

import hashlib
from pathlib import Path

from shrag.indexing.distributed.collection import VectorDatabase
from shrag.indexing.errors import IndexingError
from shrag.indexing.search_engine import EngineChoice
from shrag.indexing.storage.manifest import IndexManifest, manifest_digest


def open_database(choice: EngineChoice) -> VectorDatabase:
    """Connect to the database of a distributed engine.

    Raises:
        IndexingError: The address is missing.
        DependencyMissing: The engine's client is not installed.
        EngineUnavailable: Nothing answers at the address.
    """
    if (problem := choice.lacks_address) is not None:
        raise IndexingError(problem)
    if choice.name == "qdrant":
        return _open_qdrant(choice)
    from shrag.indexing.distributed.milvus import MilvusDatabase

    return MilvusDatabase(choice.address, choice.key, choice.timeout)


def _open_qdrant(choice: EngineChoice) -> VectorDatabase:
    if "://" in choice.address:
        from shrag.indexing.distributed.qdrant import QdrantDatabase

        return QdrantDatabase(choice.address, choice.key, choice.timeout)
    from shrag.indexing.distributed.qdrant_edge import EdgeDatabase

    return EdgeDatabase(Path(choice.address))


def collection_name(index: str, manifest: IndexManifest) -> str:
    """Return the name of a generation's collection. No other generation of any index has the same name."""
    return f"{alias_name(index)}_{manifest.generation:06d}_{manifest_digest(manifest)[:12]}"


def alias_name(index: str) -> str:
    """Return the name of the alias that points to an index's published collection, with which their names begin.

    The hash tells ``a-b`` from ``a_b``: a name in Milvus has no ``-``.
    """
    return f"shrag_{index.replace('-', '_')}_{hashlib.sha256(index.encode()).hexdigest()[:8]}"


def is_of_index(collection: str, index: str) -> bool:
    """Return whether a collection is certainly of this index.

    Names from before the hash was added to them are the same for ``a-b`` and ``a_b``.
    """
    return collection.startswith(f"{alias_name(index)}_") or not {"-", "_"} & set(index)
