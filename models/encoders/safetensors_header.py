"""Read and check safetensors headers: tensor types, shapes and sizes, without reading weights and without torch.

Format (https://github.com/huggingface/safetensors, "Format"): eight bytes N, little-endian; N bytes of JSON, each
tensor's name → ``dtype``, ``shape`` and ``data_offsets`` ``[begin, end)``; then the data, which the tensors fill
without gap or overlap. The header thus gives the file's length, and a truncated file is detected.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shrag.models.errors import WeightsMissing, WeightsRejected

MAX_HEADER_BYTES = 100_000_000
"""Largest header in bytes: the safetensors library's own limit."""

INDEX_FILE = "model.safetensors.index.json"
"""Index of weights in several files: each tensor's name → its file."""

SINGLE_FILE = "model.safetensors"
"""Weights in one file."""

BITS = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64,
    "F32": 32, "I32": 32, "U32": 32,
    "F16": 16, "BF16": 16, "I16": 16, "U16": 16,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I8": 8, "U8": 8, "BOOL": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
"""Bits of one element."""

FLOATS = ("F64", "F32", "F16", "BF16")
"""Floating-point types that encoders convert to half precision when loaded."""

# More than any real tensor has.
_MAX_DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """Bytes and elements of weights as stored, by ``dtype``."""

    bytes_by_dtype: Mapping[str, int]
    elements_by_dtype: Mapping[str, int]

    @property
    def total(self) -> int:
        """Bytes of all tensors, without headers."""
        return sum(self.bytes_by_dtype.values())

    def in_half_precision(self) -> int:
        """Return the bytes with two per element of floating-point tensors, and the others as stored."""
        return sum(
            2 * self.elements_by_dtype[dtype] if dtype in FLOATS else stored
            for dtype, stored in self.bytes_by_dtype.items()
        )


class _Tensor(msgspec.Struct, frozen=True):
    """One entry of a header; further keys are ignored."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class _Index(msgspec.Struct, frozen=True):
    """The part of an index file in use."""

    weight_map: dict[str, str]


def read_folder(folder: Path) -> WeightSizes:
    """Sum up a folder's weights: the files that its index names, or its single file.

    Raises :class:`WeightsMissing` where folder, weights or a file of the index do not exist, :class:`WeightsRejected`
    where a file is no complete safetensors file or contradicts the index.
    """
    if not folder.is_dir():
        raise WeightsMissing(f"There is no folder {folder}: put the model's weights and config.json there.")
    index = folder / INDEX_FILE
    if not index.is_file():
        if not (folder / SINGLE_FILE).is_file():
            raise WeightsMissing(f"{folder} has neither {SINGLE_FILE} nor {INDEX_FILE}: copy the whole model there.")
        return _sum(read_header(folder / SINGLE_FILE).values())
    found: dict[str, _Tensor] = {}
    placed = _read_index(index)
    for name in sorted(set(placed.values())):
        if "/" in name or "\\" in name or "\0" in name or not name.endswith(".safetensors"):
            raise WeightsRejected(f"{index} names the file {name!r}: only .safetensors files beside it are read.")
        if not (folder / name).is_file():
            raise WeightsMissing(f"{index} names {name}, which is not there: copy the whole model into {folder}.")
        tensors = read_header(folder / name)
        wanted = {tensor for tensor, file in placed.items() if file == name}
        if wanted != tensors.keys():
            odd = min(wanted ^ tensors.keys())
            raise WeightsRejected(f"{index} and {name} disagree on the tensor {odd!r}: copy the model again.")
        found |= tensors
    return _sum(found.values())


def read_header(path: Path) -> dict[str, _Tensor]:
    """Return a file's tensors by name, checked for gaps and overlaps and against the file's length.

    Raises :class:`WeightsMissing` where there is no file, :class:`WeightsRejected` where it is truncated or damaged.
    """
    try:
        length = path.stat().st_size
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if length < 8 or size > length - 8:
                raise WeightsRejected(f"{path} is truncated inside its header ({length} bytes): copy it again.")
            if size > MAX_HEADER_BYTES:
                raise WeightsRejected(
                    f"{path} has a header of {size} bytes, at most {MAX_HEADER_BYTES} are allowed: copy it again."
                )
            header = file.read(size)
    except FileNotFoundError:
        raise WeightsMissing(f"There is no file {path}: put the model's weights there.") from None
    except OSError as error:
        raise WeightsRejected(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    tensors = _parse(path, header)
    _check_layout(path, tensors, length - 8 - size)
    return tensors


def _parse(path: Path, header: bytes) -> dict[str, _Tensor]:
    try:
        entries = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        entries.pop("__metadata__", None)
        return {name: msgspec.json.decode(entry, type=_Tensor) for name, entry in entries.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsRejected(f"{path} does not begin with a safetensors header ({error}): copy it again.") from None


def _check_layout(path: Path, tensors: Mapping[str, _Tensor], data: int) -> None:
    """Raise where the tensors do not fill ``data`` bytes exactly, or one has not the bytes of its shape."""
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        begin, stop = tensor.data_offsets
        bits = BITS.get(tensor.dtype)
        if bits is None:
            known = ", ".join(sorted(BITS))
            raise WeightsRejected(f"{path} stores {name!r} as {tensor.dtype!r}, the known types are {known}.")
        if len(tensor.shape) > _MAX_DIMENSIONS or min(tensor.shape, default=0) < 0 or begin < 0 or stop < begin:
            raise WeightsRejected(
                f"{path} gives {name!r} the shape {str(tensor.shape)[:80]} from byte {begin} to {stop}, which is "
                "impossible: copy it again."
            )
        if begin != end:
            what = "overlaps the tensor before it" if begin < end else "leaves a gap before it"
            raise WeightsRejected(
                f"{path} has {name!r} at byte {begin}, which {what} (ending at {end}): copy it again."
            )
        if (stop - begin) * 8 != math.prod(tensor.shape) * bits:
            raise WeightsRejected(
                f"{path} gives {name!r} {stop - begin} bytes for {tensor.dtype} of shape {tensor.shape}: copy it again."
            )
        end = stop
    if end != data:
        what = "truncated" if data < end else "longer than its tensors"
        raise WeightsRejected(f"{path} is {what}: {data} bytes of data, {end} by its header: copy it again.")


def _read_index(path: Path) -> dict[str, str]:
    try:
        if path.stat().st_size > MAX_HEADER_BYTES:
            raise WeightsRejected(
                f"{path} has more than {MAX_HEADER_BYTES} bytes, too many for an index: copy it again."
            )
        return msgspec.json.decode(path.read_bytes(), type=_Index).weight_map
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsRejected(f"{path} is not an index of weights ({error}): copy the model again.") from None


def _sum(tensors: Iterable[_Tensor]) -> WeightSizes:
    stored: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    for tensor in tensors:
        begin, end = tensor.data_offsets
        stored[tensor.dtype] += end - begin
        elements[tensor.dtype] += math.prod(tensor.shape)
    return WeightSizes(stored, elements)
