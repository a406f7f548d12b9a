"""Keys that stand twice are found in any notation, and nothing else is taken for one."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.corpora.readers.duplicate_keys import duplicate_key

_VALUES = st.recursive(
    st.text() | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(['a": "b', "c", "", ":"]), inner),
    max_leaves=8,
)


def _duplicate(data: bytes) -> str | None:
    return duplicate_key(data, msgspec.json.decode(data))


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"a" : 1, "b": "a", "a"\n\t\r:2}',
        b'{"x": [{"a": 1, "a": 2}]}',
        b'{"\\u0061": 1, "a": 2}',
        b'{"a": {"a": 1}, "b": "\\":", "a": 3}',
    ],
)
def test_a_key_twice_is_named(data: bytes) -> None:
    assert _duplicate(data) == "a"


@pytest.mark.parametrize("data", [b"[]", b"1", b'{"a": {"a": 1}}', b'{"a": "\\": b\\" :"}', b'{"A": 1, "a": 2}'])
def test_one_key_in_two_objects_or_in_a_text_is_none(data: bytes) -> None:
    assert _duplicate(data) is None


@given(_VALUES, st.booleans())
def test_nothing_that_python_writes_has_a_key_twice(value: object, ascii_only: bool) -> None:
    assert _duplicate(json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")) is None
