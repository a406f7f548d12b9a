"""Reading the header of a safetensors file: what it says it holds, and whether the file is that long.

Eight bytes give the length of a JSON object (little-endian), which gives each tensor's type, shape and place in the
rest of the file. Source: the format's description at https://github.com/huggingface/safetensors. Nothing is unpacked
or executed, and no tensor is read.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.models.errors import WeightsRejected

_LENGTH = struct.Struct("<Q")
# As the format's own library has it.
_LARGEST_HEADER = 100_000_000


class Tensor(NamedTuple):
    """One tensor as a header has it; ``bytes`` is what it takes in the file."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int


def read_header(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name.

    Raises :class:`WeightsRejected` where the file is no such file, is cut, or has bytes that its header knows nothing
    of.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(_LENGTH.size)
        length = _LENGTH.unpack(start)[0] if len(start) == _LENGTH.size else _LARGEST_HEADER + 1
        if length > min(_LARGEST_HEADER, size - _LENGTH.size):
            raise _rejected(path, f"its {size} bytes do not begin with a header")
        header = stream.read(length)
    try:
        entries = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        entries.pop("__metadata__", None)
        tensors = {name: msgspec.json.decode(entry, type=_Entry) for name, entry in entries.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _rejected(path, f"its header cannot be read ({error})") from None
    _check_places(path, list(tensors.values()), size - _LENGTH.size - length)
    return {
        name: Tensor(entry.dtype, entry.shape, entry.data_offsets[1] - entry.data_offsets[0])
        for name, entry in tensors.items()
    }


def tensor_bytes(paths: list[Path]) -> int:
    """Return how many bytes all tensors of these files take together; raises as :func:`read_header` does."""
    return sum(tensor.bytes for path in paths for tensor in read_header(path).values())


class _Entry(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def _check_places(path: Path, entries: list[_Entry], size: int) -> None:
    end = 0
    for start, stop in sorted(entry.data_offsets for entry in entries):
        if start != end or stop < start:
            raise _rejected(path, f"its header leaves a gap or an overlap at byte {min(start, end)} of its data")
        end = stop
    if end != size:
        raise _rejected(path, f"its header speaks of {end} bytes of data and it has {size}")


def _rejected(path: Path, why: str) -> WeightsRejected:
    name = os.fspath(path)
    return WeightsRejected(f"{name} is not a whole safetensors file: {why}; copy it again.")
