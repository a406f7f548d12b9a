from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from shrag.models.errors import WeightsRejected
from shrag.models.safetensors_file import Tensor, read_header, tensor_bytes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file that the format's own library wrote."""
    path = tmp_path / "model.safetensors"
    tensors: dict[str, NDArray[Any]] = {
        "a": np.zeros((3, 4), np.float16),
        "b": np.zeros(5, np.float32),
        "none": np.zeros((0, 2), np.int64),
    }
    save_file(tensors, path, metadata={"format": "pt"})
    return path


def _write(path: Path, header: object, data: bytes = b"") -> Path:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
    return path


def test_names_types_shapes_and_bytes_are_those_written(file: Path) -> None:
    assert read_header(file) == {
        "a": Tensor("F16", (3, 4), 24),
        "b": Tensor("F32", (5,), 20),
        "none": Tensor("I64", (0, 2), 0),
    }
    assert tensor_bytes([file, file]) == 88


@pytest.mark.parametrize("kept", [0, 7, 8, 40, -1])
def test_a_cut_file_is_refused_wherever_it_was_cut(file: Path, kept: int) -> None:
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(WeightsRejected, match=r"is not a whole safetensors file: .*; copy it again\.$"):
        read_header(file)


def test_bytes_behind_the_last_tensor_are_refused(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(WeightsRejected, match="its header speaks of 44 bytes of data and it has 45"):
        read_header(file)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b"\x80\x04K\x01.", "header cannot be read"),  # a pickle
        (b"[" * 100_000, "header cannot be read"),
        ([1], "header cannot be read"),
        ({"a": {"dtype": "F16", "shape": [1]}}, "header cannot be read"),
        ({"a": {"dtype": "F16", "shape": [1], "data_offsets": [1, 2]}}, "gap or an overlap at byte 0"),
        ({"a": {"dtype": "F16", "shape": [1], "data_offsets": [0, -2]}}, "gap or an overlap"),
    ],
)
def test_a_header_that_is_none_is_refused_and_nothing_of_it_is_run(tmp_path: Path, header: object, says: str) -> None:
    with pytest.raises(WeightsRejected, match=says):
        read_header(_write(tmp_path / "x.safetensors", header))


def test_tensors_that_share_bytes_are_refused(tmp_path: Path) -> None:
    one = {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}
    with pytest.raises(WeightsRejected, match="overlap at byte 2"):
        read_header(_write(tmp_path / "x", {"a": one, "b": one | {"data_offsets": [2, 6]}}, b"123456"))


def test_a_length_beyond_the_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(WeightsRejected, match="its 10 bytes do not begin with a header"):
        read_header(path)
