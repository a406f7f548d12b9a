from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.models.encoders import safetensors_header
from shrag.models.encoders.safetensors_header import BITS, WeightSizes, read_folder, read_header
from shrag.models.errors import WeightsMissing, WeightsRejected

# Written out, so that a change of the module's own is noticed.
MAX_HEADER_BYTES = 100_000_000

Entry = tuple[str, list[int], tuple[int, int]]


def _sizes(path: Path) -> WeightSizes:
    return safetensors_header._sum(read_header(path).values())


def encode(entries: Mapping[str, object], data: int) -> bytes:
    """Return a file with this header and so many bytes of data."""
    header = json.dumps(entries).encode()
    return len(header).to_bytes(8, "little") + header + bytes(data)


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


TWO = {"a": entry("F32", [3, 2], 0, 24), "b": entry("F8_E4M3", [5], 24, 29), "__metadata__": {"format": "pt"}}


def test_bytes_and_elements_are_added_up_by_type(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(encode(TWO, 29))
    sizes = read_folder(tmp_path)
    assert (sizes.total, sizes.bytes_by_dtype, sizes.elements_by_dtype) == (
        29, {"F32": 24, "F8_E4M3": 5}, {"F32": 6, "F8_E4M3": 5},
    )  # fmt: skip
    assert sizes.in_half_precision() == 12 + 5


def test_what_the_safetensors_library_writes_is_read(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    import numpy as np

    tensors = {"w": np.zeros((7, 3), np.float16), "empty": np.zeros((0, 4), np.float32), "one": np.ones(1, np.float64)}
    numpy.save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    assert _sizes(tmp_path / "x.safetensors").bytes_by_dtype == {"F16": 42, "F32": 0, "F64": 8}


def test_four_bit_weights_take_half_a_byte(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(encode({"a": entry("F4", [3, 2], 0, 3)}, 3))
    assert _sizes(tmp_path / "x.safetensors").total == 3


def test_a_file_without_tensors_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(encode({}, 0))
    assert _sizes(tmp_path / "x.safetensors").total == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is truncated inside its header (0 bytes)"),
        (b"\x02\0\0\0\0\0\0\0{", "is truncated inside its header (9 bytes)"),
        ((2**63).to_bytes(8, "little") + b"{}", "is truncated inside its header"),
        (b"\x02\0\0\0\0\0\0\0[]", "does not begin with a safetensors header"),
        (b"\x02\0\0\0\0\0\0\0\xff\xff", "does not begin with a safetensors header"),
        (encode({"a": 3}, 0), "does not begin with a safetensors header"),
        (encode({"a": entry("F32", [1], 0, 4)}, 3), "is truncated: 3 bytes of data, 4 by its header"),
        (encode({"a": entry("F32", [1], 0, 4)}, 5), "is longer than its tensors: 5 bytes of data"),
        (encode({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 2, 6)}, 6), "'b' at byte 2, which overlaps"),
        (
            encode({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 8, 12)}, 12),
            "'b' at byte 8, which leaves a gap",
        ),
        (encode({"a": entry("F32", [1], -4, 0)}, 0), "from byte -4 to 0, which is impossible"),
        (encode({"a": entry("F32", [-1, -1], 0, 4)}, 4), "the shape [-1, -1] from byte 0 to 4, which is impossible"),
        (encode({"a": entry("F32", [1], 4, 0)}, 4), "from byte 4 to 0, which is impossible"),
        (encode({"a": entry("F32", [2], 0, 4)}, 4), "4 bytes for F32 of shape [2]"),
        (encode({"a": entry("Q4_K", [2], 0, 4)}, 4), "stores 'a' as 'Q4_K', the known types are BF16"),
        (encode({"a": entry("F32", [2**62] * 1_000, 0, 4)}, 4), "which is impossible"),
        (encode({"a": entry("F32", [1], 0, 2**70)}, 4), "bytes for F32"),
    ],
)
def test_a_hostile_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(WeightsRejected) as caught:
        read_header(tmp_path / "x.safetensors")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


def test_a_header_longer_than_the_library_allows_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with path.open("wb") as file:
        file.write((MAX_HEADER_BYTES + 1).to_bytes(8, "little"))
        file.truncate(MAX_HEADER_BYTES + 100)  # a sparse file: no bytes are written
    with pytest.raises(WeightsRejected, match="has a header of 100000001 bytes, at most 100000000 are allowed"):
        read_header(path)


def test_deeply_nested_json_is_refused_and_not_followed(tmp_path: Path) -> None:
    header = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(WeightsRejected, match="does not begin with a safetensors header"):
        read_header(tmp_path / "x.safetensors")


def test_weights_in_several_files_are_added_up_by_their_index(tmp_path: Path) -> None:
    shards(tmp_path, {"a": "1.safetensors", "b": "2.safetensors"})
    (tmp_path / "consolidated.safetensors").write_bytes(b"another copy, which the index does not name")
    assert read_folder(tmp_path).total == 12


@pytest.mark.parametrize(
    ("placed", "error", "says"),
    [
        ({"a": "1.safetensors", "b": "3.safetensors"}, WeightsMissing, "names 3.safetensors, which is missing"),
        ({"a": "1.safetensors"}, None, ""),
        ({"a": "2.safetensors"}, WeightsRejected, "disagree on the tensor 'a'"),
        ({"a": "1.safetensors", "c": "1.safetensors"}, WeightsRejected, "disagree on the tensor 'c'"),
        ({"a": "../1.safetensors"}, WeightsRejected, "names the file '../1.safetensors'"),
        ({"a": "1.bin"}, WeightsRejected, "names the file '1.bin': only .safetensors"),
    ],
)
def test_an_index_and_its_files_must_agree(
    tmp_path: Path, placed: dict[str, str], error: type[Exception] | None, says: str
) -> None:
    shards(tmp_path, placed)
    if error is None:
        assert read_folder(tmp_path).total == 4
    else:
        with pytest.raises(error) as caught:
            read_folder(tmp_path)
        assert says in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", '{"weight_map": 3}', '{"weight_map": {"a": 1}}'])
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(WeightsRejected, match="is not an index of weights"):
        read_folder(tmp_path)


def test_a_folder_without_weights_says_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"has neither model\.safetensors nor model\.safetensors\.index\.json"):
        read_folder(tmp_path)
    with pytest.raises(WeightsMissing, match="There is no folder"):
        read_folder(tmp_path / "nothing")
    with pytest.raises(WeightsMissing, match="There is no file"):
        read_header(tmp_path / "nothing")


@given(data=st.data())
def test_any_change_of_length_is_detected(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    types = sorted(set(BITS) - {"F4", "F6_E2M3", "F6_E3M2"})
    entries: dict[str, object] = {}
    end = 0
    for place, (dtype, shape) in enumerate(
        data.draw(st.lists(st.tuples(st.sampled_from(types), st.lists(st.integers(1, 3), max_size=3)), min_size=1))
    ):
        size = BITS[dtype] // 8
        for length in shape:
            size *= length
        entries[str(place)] = entry(dtype, shape, end, end + size)
        end += size
    whole = encode(entries, end)
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(whole)
    assert _sizes(path).total == end
    assert read_header(path).keys() == entries.keys()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(WeightsRejected):
        read_header(path)


def shards(folder: Path, placed: dict[str, str]) -> None:
    """Write two files of weights, ``a`` in the first and ``b`` in the second, and an index that says ``placed``."""
    (folder / "1.safetensors").write_bytes(encode({"a": entry("F32", [1], 0, 4)}, 4))
    (folder / "2.safetensors").write_bytes(encode({"b": entry("F16", [4], 0, 8)}, 8))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))


# The bytes of eight numbers, by the format's specification.
EIGHT_NUMBERS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I8", "U8", "BOOL"), 8),
    **{"F6_E2M3": 6, "F6_E3M2": 6, "F4": 4},
}


def test_each_type_has_its_own_width(tmp_path: Path) -> None:
    assert set(EIGHT_NUMBERS) == set(BITS)
    for dtype, size in EIGHT_NUMBERS.items():
        path = tmp_path / f"{dtype}.safetensors"
        path.write_bytes(encode({"a": entry(dtype, [2, 4], 0, size)}, size))
        assert _sizes(path).elements_by_dtype == {dtype: 8}
        for other in (size - 1, size + 1):
            path.write_bytes(encode({"a": entry(dtype, [2, 4], 0, other)}, other))
            with pytest.raises(WeightsRejected, match=rf"gives 'a' {other} bytes for {dtype} of shape \[2, 4\]"):
                read_header(path)


def test_a_tensor_has_up_to_sixteen_dimensions_and_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    for shape, size in (([1] * 16, 4), ([], 4), ([0, 7], 0)):
        path.write_bytes(encode({"a": entry("F32", shape, 0, size)}, size))
        assert _sizes(path).total == size
    for shape in ([1] * 17, [-1, -1]):
        path.write_bytes(encode({"a": entry("F32", shape, 0, 4)}, 4))
        with pytest.raises(WeightsRejected, match="which is impossible"):
            read_header(path)
