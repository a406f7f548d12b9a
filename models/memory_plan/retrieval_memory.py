"""GPU memory of encoder, re-ranker and vector search."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from shrag.models.encoders.catalog import find_encoder_card, find_reranker_card, read_catalog
from shrag.models.encoders.safetensors_header import read_folder
from shrag.models.errors import UnknownName
from shrag.models.memory_plan.byte_sizes import MIB
from shrag.models.memory_plan.plan import MemoryPart

NO_MODEL = "none"
"""The name of no encoder and of no re-ranker."""

CPU_ENCODERS = (NO_MODEL, "lsa")
"""Encoders that take nothing of a card."""

DEFAULT_ENCODER = "gte-multilingual-base"
DEFAULT_RERANKER = "gte-multilingual-reranker-base"

FAISS = "FAISS"
"""How the parts begin that leave the card when exact search runs on the processor."""

RERANKER = "re-ranker"
"""How the part begins that a re-ranker takes."""

# An estimate: what the CUDA driver and torch keep for a process before it holds anything.
_CONTEXT = 512 * MIB

# An estimate for 12 layers of width 768 in half precision: the widest moment of a packed batch, for each of its tokens.
_ACTIVATION_BYTES = 28 * 1024
_BATCH_TOKENS = 32_768

# What the GPU search is told to keep as scratch (`setTempMemory`); FAISS' own default is 1.5 GiB.
_FAISS_SCRATCH = 256 * MIB


class VectorTable(NamedTuple):
    """The vectors of an index: how many, and how long."""

    rows: int
    dimension: int


def retrieval_parts(encoder: str, reranker: str, vectors: VectorTable | None, weights: Path) -> tuple[MemoryPart, ...]:
    """Return what the retrieval process holds, nothing where it has no use for a GPU.

    ``encoder`` and ``reranker`` are names, folders, or one of :data:`CPU_ENCODERS`; ``weights`` is where named weights
    lie. Raises :class:`UnknownName` for a name without weights and without a known size, and what reading headers does.
    """
    parts = [
        MemoryPart(f"{role} {Path(name).name}", *encoder_weights(name, weights))
        for role, name in (("encoder", encoder), (RERANKER, reranker))
        if name not in CPU_ENCODERS
    ]
    if parts:
        says = f"{_ACTIVATION_BYTES // 1024} KiB for each of {_BATCH_TOKENS:,} tokens in a batch"
        parts.append(MemoryPart("encoder activations", _BATCH_TOKENS * _ACTIVATION_BYTES, False, says))
    if vectors is not None and vectors.rows:
        size = vectors.rows * vectors.dimension * 2
        parts.append(MemoryPart(f"{FAISS} vectors", size, True, f"{vectors.rows:,} × {vectors.dimension} × 2 bytes"))
        parts.append(MemoryPart(f"{FAISS} scratch", _FAISS_SCRATCH, True, "set when the index is opened"))
    if parts:
        parts.append(MemoryPart("retrieval's CUDA context", _CONTEXT, False, "one process for all of retrieval"))
    return tuple(parts)


def encoder_weights(name: str, weights: Path) -> tuple[int, bool, str]:
    """Return bytes in half precision, whether they are exact, and where they come from.

    A folder's headers come before what the catalogue says of a name.
    """
    card = find_encoder_card(name) or find_reranker_card(name)
    for folder in (weights / (card.name if card else name), Path(name)):
        if name and folder.is_dir():
            return read_folder(folder).in_half_precision(), True, f"headers in {folder}, in half precision"
    if card is None or card.weight_bytes is None:
        catalog = read_catalog()
        known = ", ".join(each.name for each in (*catalog.encoders, *catalog.rerankers))
        raise UnknownName(
            f"There are no weights of {name!r} under {weights}, and its size is not known here: give a folder, "
            f"{NO_MODEL}, or one of {known}."
        )
    return card.weight_bytes, True, f"{card.parameters:,} parameters, in half precision"
