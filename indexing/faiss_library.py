"""FAISS, if it is installed, and whether it sees a GPU; the only file that imports it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from shrag.indexing.errors import PartMissing

Faiss = Any
"""The library's module; it has no types to offer."""


def has_faiss() -> bool:
    """Return whether FAISS is installed, without importing it."""
    return find_spec("faiss") is not None


def load_faiss() -> Faiss:
    """Return the library; raises :class:`PartMissing` with how to install it."""
    try:
        import faiss
    except ImportError as error:
        raise PartMissing(
            f"FAISS is not installed ({error}): `pip install -c constraints.txt shrag[cpu]`, or shrag[gpu]."
        ) from error
    return faiss


def gpus() -> int:
    """Return how many GPUs FAISS sees; none in the build for processors."""
    faiss = load_faiss()
    return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0
