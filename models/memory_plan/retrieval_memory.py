"""The GPU memory of the encoder, the re-ranker and vector search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from shrag.messages.text import Text, joined
from shrag.models.encoders.catalog import find_encoder_card, find_reranker_card, read_catalog
from shrag.models.encoders.choice import split_choice
from shrag.models.encoders.safetensors_header import read_folder
from shrag.models.errors import UnknownName
from shrag.models.memory_plan.byte_sizes import MIB
from shrag.models.memory_plan.plan import MemoryPart

NO_MODEL = "none"
"""The name that stands for no encoder or no re-ranker."""

CPU_ENCODERS = (NO_MODEL, "lsa")
"""The encoders that use no GPU."""

DEFAULT_ENCODER = "gte-multilingual-base"
DEFAULT_RERANKER = "gte-multilingual-reranker-base"

FAISS = "FAISS"
"""The beginning of the names of the parts that need no GPU memory if exact search runs on the CPU."""

_CONTEXT_NAME = Text("retrieval's CUDA context")

RERANKER = Text("re-ranker")
"""The beginning of the name of a re-ranker's part."""

# The memory of the CUDA driver, its libraries and the reserve of torch's allocator, beside the tensors. On an H100
# (`make bench-llm`) it was 0.95 GiB, while activations took 0.80 of the planned 0.88 GiB.
_CONTEXT = 900 * MIB
_ALLOCATOR_RESERVE = 256 * MIB  # the part of it that torch's allocator may keep

# An estimate of the peak per token of a batch, for 12 layers of width 768 in half precision.
_ACTIVATION_BYTES = 28 * 1024
_BATCH_TOKENS = 32_768

# The scratch memory that GPU search sets (`setTempMemory`); the default of FAISS is 1.5 GiB.
_FAISS_SCRATCH = 256 * MIB


class VectorTable(NamedTuple):
    """The number and dimension of an index's vectors."""

    rows: int
    dimension: int


def retrieval_parts(
    encoders: Iterable[str], reranker: str, vectors: Sequence[VectorTable], weights: Path
) -> tuple[MemoryPart, ...]:
    """Return the memory parts of the retrieval process, or none if it needs no GPU.

    Args:
        encoders: The encoders of the indexes: names in the catalog, with weights below ``weights``, or folders, or one
            of :data:`CPU_ENCODERS`. A model that is named twice is in memory once.
        reranker: The model that re-ranks, likewise.
        vectors: The vectors of each index that are searched on the GPU.
        weights: The folder of the weights of named models.

    Raises:
        UnknownName: A name has neither weights nor a known size.
        ModelError: As :func:`~shrag.models.encoders.safetensors_header.read_folder`.
    """
    roles = {_model_name(encoder): Text("encoder") for encoder in encoders}
    roles.setdefault(_model_name(reranker), RERANKER)
    parts = [
        MemoryPart(joined((role, Path(name).name), " "), *encoder_weights(name, weights))
        for name, role in roles.items()
        if name not in CPU_ENCODERS
    ]
    if parts:
        source = Text(
            "{size} KiB for each of {tokens:,} tokens in a batch",
            size=_ACTIVATION_BYTES // 1024,
            tokens=_BATCH_TOKENS,
        )
        parts.append(MemoryPart(Text("encoder activations"), _BATCH_TOKENS * _ACTIVATION_BYTES, False, source))
    for table in vectors:
        if not table.rows:
            continue
        size = table.rows * table.dimension * 2
        source = Text("{rows:,} × {dimension} × 2 bytes", rows=table.rows, dimension=table.dimension)
        parts.append(MemoryPart(Text("FAISS vectors"), size, True, source))
        parts.append(MemoryPart(Text("FAISS scratch"), _FAISS_SCRATCH, True, Text("set when the index is opened")))
    if parts:
        parts.append(MemoryPart(_CONTEXT_NAME, _CONTEXT, False, Text("one process for all of retrieval")))
    return tuple(parts)


def network_memory(parts: Sequence[MemoryPart]) -> int:
    """Return the bytes that torch may have for the networks among :func:`retrieval_parts`; 0 without a network."""
    sizes = [part.size for part in parts if not part.name.startswith((FAISS, _CONTEXT_NAME))]
    return sum(sizes) + _ALLOCATOR_RESERVE if sizes else 0


def _model_name(choice: str) -> str:
    """Return a model's full name or its folder, without the dimension that vectors are cut to."""
    name, _ = split_choice(choice)
    card = find_encoder_card(name) or find_reranker_card(name)
    return card.name if card else name


def encoder_weights(name: str, weights: Path) -> tuple[int, bool, str]:
    """Return a model's bytes in half precision, whether they are exact, and their source.

    The headers in a weights folder take precedence over the catalog.
    """
    card = find_encoder_card(name) or find_reranker_card(name)
    for folder in (weights / (card.name if card else name), Path(name)):
        if name and folder.is_dir():
            return (
                read_folder(folder).in_half_precision(),
                True,
                Text("headers in {folder}, in half precision", folder=folder),
            )
    if card is None or card.weight_bytes is None:
        catalog = read_catalog()
        known = ", ".join(each.name for each in (*catalog.encoders, *catalog.rerankers))
        raise UnknownName(
            Text(
                "There are no weights of {name!r} under {weights}, and its size is not in the catalogue: give "
                "a folder, {none}, or one of {known}.",
                name=name,
                weights=weights,
                none=NO_MODEL,
                known=known,
            )
        )
    source = Text("{parameters:,} parameters, in half precision", parameters=card.parameters)
    return card.weight_bytes, True, source
