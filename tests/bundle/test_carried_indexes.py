"""The indexes in a bundle, for who compares what came back with what was carried."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.bundle.carried_indexes import extract_indexes
from shrag.bundle.difference import write_difference
from shrag.bundle.errors import BundleError
from tests.support.small_bundle import write_small_bundle


def test_the_archives_of_all_indexes_are_extracted_and_nothing_else(tmp_path: Path) -> None:
    bundle, folder = tmp_path / "a.tar", tmp_path / "out"
    folder.mkdir()
    write_small_bundle(bundle, more={"indexes/a.tar": b"1", "indexes/b.tar": b"2", "corpora/a.tar": b"3"})
    assert extract_indexes(bundle, folder) == [folder / "a.tar", folder / "b.tar"]
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == [b"1", b"2"]


def test_a_bundle_without_indexes_and_an_update_that_leaves_one_out_are_refused(tmp_path: Path) -> None:
    none, old, new, update = (tmp_path / f"{name}.tar" for name in ("none", "old", "new", "update"))
    write_small_bundle(none)
    write_small_bundle(old, more={"indexes/a.tar": b"1"})
    write_small_bundle(new, more={"indexes/a.tar": b"1", "indexes/b.tar": b"2"})
    write_difference(old, new, update)
    for bundle in (none, update):
        with pytest.raises(BundleError, match="does not contain every index"):
            extract_indexes(bundle, tmp_path)
