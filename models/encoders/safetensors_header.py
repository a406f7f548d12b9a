"""Read and check safetensors headers, which hold the types, shapes and sizes of tensors, without weights and torch.

The format (https://github.com/huggingface/safetensors, "Format") begins with eight bytes, a little-endian N. Then come
N bytes of JSON with the ``dtype``, ``shape`` and ``data_offsets`` ``[begin, end)`` of each tensor by its name. The rest
is data, which the tensors fill without gap or overlap. So the header gives the length of the file, and a truncated file
is detected.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shrag.messages.text import Text
from shrag.models.errors import WeightsMissing, WeightsRejected

MAX_HEADER_BYTES = 100_000_000
"""The largest header in bytes, which is the safetensors library's own limit."""

INDEX_FILE = "model.safetensors.index.json"
"""The index of weights in several files, which maps each tensor's name to its file."""

SINGLE_FILE = "model.safetensors"
"""The name of the file if all weights are in one file."""

BITS = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64,
    "F32": 32, "I32": 32, "U32": 32,
    "F16": 16, "BF16": 16, "I16": 16, "U16": 16,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I8": 8, "U8": 8, "BOOL": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
"""The bits of one element by ``dtype``."""

FLOATS = ("F64", "F32", "F16", "BF16")
"""The floating-point types that encoders convert to half precision when they are loaded."""

# More than any real tensor has.
_MAX_DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """The bytes and elements of weights as stored, by ``dtype``."""

    bytes_by_dtype: Mapping[str, int]
    elements_by_dtype: Mapping[str, int]

    @property
    def total(self) -> int:
        """The bytes of all tensors, without headers."""
        return sum(self.bytes_by_dtype.values())

    def in_half_precision(self) -> int:
        """Return the bytes with floating-point tensors at two bytes per element and the other tensors as stored."""
        return sum(
            2 * self.elements_by_dtype[dtype] if dtype in FLOATS else stored
            for dtype, stored in self.bytes_by_dtype.items()
        )


class _Tensor(msgspec.Struct, frozen=True):
    """One entry of a header; its other keys are ignored."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class _Index(msgspec.Struct, frozen=True):
    """The part of an index file that SHRAG uses."""

    weight_map: dict[str, str]


def read_folder(folder: Path) -> WeightSizes:
    """Sum up the weights in a folder: the files that its index names, or its single file.

    Raises :class:`WeightsMissing` if the folder, the weights or a file of the index does not exist. Raises
    :class:`WeightsRejected` if a file is not a complete safetensors file or contradicts the index.
    """
    if not folder.is_dir():
        raise WeightsMissing(
            Text("There is no folder {folder}: put the model's weights and config.json there.", folder=folder)
        )
    index = folder / INDEX_FILE
    if not index.is_file():
        if not (folder / SINGLE_FILE).is_file():
            raise WeightsMissing(
                Text(
                    "{folder} has neither {single_file} nor {index_file}: copy the whole model there.",
                    folder=folder,
                    single_file=SINGLE_FILE,
                    index_file=INDEX_FILE,
                )
            )
        return _sum(read_header(folder / SINGLE_FILE).values())
    found: dict[str, _Tensor] = {}
    placed = _read_index(index)
    for name in sorted(set(placed.values())):
        if "/" in name or "\\" in name or "\0" in name or not name.endswith(".safetensors"):
            raise WeightsRejected(
                Text(
                    "{index} names the file {name!r}: only .safetensors files beside it are read.",
                    index=index,
                    name=name,
                )
            )
        if not (folder / name).is_file():
            raise WeightsMissing(
                Text(
                    "{index} names {name}, which is missing: copy the whole model into {folder}.",
                    index=index,
                    name=name,
                    folder=folder,
                )
            )
        tensors = read_header(folder / name)
        wanted = {tensor for tensor, file in placed.items() if file == name}
        if wanted != tensors.keys():
            odd = min(wanted ^ tensors.keys())
            raise WeightsRejected(
                Text(
                    "{index} and {name} disagree on the tensor {odd!r}: copy the model again.",
                    index=index,
                    name=name,
                    odd=odd,
                )
            )
        found |= tensors
    return _sum(found.values())


def read_header(path: Path) -> dict[str, _Tensor]:
    """Return a file's tensors by name, after a check for gaps, overlaps and the length of the file.

    Raises :class:`WeightsMissing` if there is no file, and :class:`WeightsRejected` if it is truncated or damaged.
    """
    try:
        length = path.stat().st_size
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > length - 8:
                raise WeightsRejected(
                    Text(
                        "{path} is truncated inside its header ({length} bytes): copy it again.",
                        path=path,
                        length=length,
                    )
                )
            if size > MAX_HEADER_BYTES:
                raise WeightsRejected(
                    Text(
                        "{path} has a header of {size} bytes, at most {max_header_bytes} are allowed: copy it again.",
                        path=path,
                        size=size,
                        max_header_bytes=MAX_HEADER_BYTES,
                    )
                )
            header = file.read(size)
    except FileNotFoundError:
        raise WeightsMissing(Text("There is no file {path}: put the model's weights there.", path=path)) from None
    except OSError as error:
        raise WeightsRejected(
            Text("{path} cannot be read ({strerror}): check its permissions.", path=path, strerror=error.strerror)
        ) from None
    tensors = _parse(path, header)
    _check_layout(path, tensors, length - 8 - size)
    return tensors


def _parse(path: Path, header: bytes) -> dict[str, _Tensor]:
    try:
        entries = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        entries.pop("__metadata__", None)
        return {name: msgspec.json.decode(entry, type=_Tensor) for name, entry in entries.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsRejected(
            Text("{path} does not begin with a safetensors header ({error}): copy it again.", path=path, error=error)
        ) from None


def _check_layout(path: Path, tensors: Mapping[str, _Tensor], data: int) -> None:
    """Raise :class:`WeightsRejected` unless the tensors fill ``data`` bytes exactly and each fits its shape."""
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        begin, stop = tensor.data_offsets
        bits = BITS.get(tensor.dtype)
        if bits is None:
            known = ", ".join(sorted(BITS))
            raise WeightsRejected(
                Text(
                    "{path} stores {name!r} as {dtype!r}, the known types are {known}: use another model.",
                    path=path,
                    name=name,
                    dtype=tensor.dtype,
                    known=known,
                )
            )
        if len(tensor.shape) > _MAX_DIMENSIONS or min(tensor.shape, default=0) < 0 or begin < 0 or stop < begin:
            raise WeightsRejected(
                Text(
                    "{path} gives {name!r} the shape {shape} from byte {begin} to {stop}, which is impossible: "
                    "copy it again.",
                    path=path,
                    name=name,
                    shape=str(tensor.shape)[:80],
                    begin=begin,
                    stop=stop,
                )
            )
        if begin != end:
            what = Text("overlaps the tensor before it") if begin < end else Text("leaves a gap before it")
            raise WeightsRejected(
                Text(
                    "{path} has {name!r} at byte {begin}, which {problem} (ending at {end}): copy it again.",
                    path=path,
                    name=name,
                    begin=begin,
                    problem=what,
                    end=end,
                )
            )
        if (stop - begin) * 8 != math.prod(tensor.shape) * bits:
            raise WeightsRejected(
                Text(
                    "{path} gives {name!r} {stop} bytes for {dtype} of shape {shape}: copy it again.",
                    path=path,
                    name=name,
                    stop=stop - begin,
                    dtype=tensor.dtype,
                    shape=tensor.shape,
                )
            )
        end = stop
    if end != data:
        what = Text("truncated") if data < end else Text("longer than its tensors")
        raise WeightsRejected(
            Text(
                "{path} is {problem}: {found} bytes of data, {expected} by its header: copy it again.",
                path=path,
                problem=what,
                found=data,
                expected=end,
            )
        )


def _read_index(path: Path) -> dict[str, str]:
    try:
        if path.stat().st_size > MAX_HEADER_BYTES:
            raise WeightsRejected(
                Text(
                    "{path} has more than {max_header_bytes} bytes, too many for an index: copy it again.",
                    path=path,
                    max_header_bytes=MAX_HEADER_BYTES,
                )
            )
        return msgspec.json.decode(path.read_bytes(), type=_Index).weight_map
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsRejected(
            Text("{path} is not an index of weights ({error}): copy the model again.", path=path, error=error)
        ) from None


def _sum(tensors: Iterable[_Tensor]) -> WeightSizes:
    stored: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    for tensor in tensors:
        begin, end = tensor.data_offsets
        stored[tensor.dtype] += end - begin
        elements[tensor.dtype] += math.prod(tensor.shape)
    return WeightSizes(stored, elements)
