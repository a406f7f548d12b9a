from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shrag.bundle.installer.file_store import FileStore
from shrag.corpora.store.file_checksum import compute_checksum


def test_of_a_file_that_breaks_off_nothing_is_left(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise OSError("no space left")

    store, file = FileStore(tmp_path), compute_checksum(b"half of it")
    with pytest.raises(OSError, match="no space left"):
        store.add(file, chunks())
    assert not list(tmp_path.iterdir())
    store.add(file, iter([b"half", b" of it"]))
    assert store.has(file)
    assert list(tmp_path.iterdir()) == [store.path(file)]
