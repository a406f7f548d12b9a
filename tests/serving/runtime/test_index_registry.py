from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.indexing.errors import IndexDamaged, IndexMissing
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import CURRENT_FILE, generation_folder
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import ShuttingDown, UnknownIndex
from shrag.serving.runtime.index_registry import ServedIndexes
from tests.support.published import open_files, publish_copy, wait_for


class _Opener:
    """Opens engines and remembers which."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened: list[str] = []

    def __call__(self, name: str, verify: Verify, _: int | None) -> Engine:
        self.opened.append(name)
        return open_engine(self.folder, name, verify=verify)


@pytest.fixture
def opener(demo_home: Path, tmp_path: Path) -> _Opener:
    """Return an opener over two indexes, ``demo`` and ``other``, that a test may change."""
    # An engine of another test may just be writing what it verified.
    unfinished = shutil.ignore_patterns("*.new")
    for name in ("demo", "other"):
        shutil.copytree(demo_home / "indexes" / "demo", tmp_path / "indexes" / name, ignore=unfinished)
    return _Opener(tmp_path / "indexes")


@pytest.fixture
def served(opener: _Opener) -> Iterator[ServedIndexes]:
    """Return both, ``demo`` first."""
    served = ServedIndexes(opener.folder, ["demo", "other"], opener)
    yield served
    served.close()


def test_an_index_is_opened_once_and_not_before_it_is_asked_for(opener: _Opener, served: ServedIndexes) -> None:
    assert [(each.name, each.generation, each.records, each.encoder, each.problem) for each in served.describe()] == [
        ("demo", 1, 235, "lsa", ""),
        ("other", 1, 235, "lsa", ""),
    ]
    assert opener.opened == []
    for name in ("", "demo", "other", "demo"):
        with served.use(name) as engine:
            assert engine.name == (name or "demo")
    assert opener.opened == ["demo", "other"]


def test_the_strategies_are_those_of_the_first_index_and_of_others_that_are_open(
    opener: _Opener, served: ServedIndexes, demo: Engine
) -> None:
    assert served.strategies() == demo.strategies
    assert opener.opened == ["demo"]
    with served.use("other"):
        assert served.strategies() == demo.strategies


@pytest.mark.parametrize("name", ["nope", "../demo", "demo/../other", "CURRENT", "데모", "demo "])
def test_only_the_names_given_are_indexes(served: ServedIndexes, name: str) -> None:
    with pytest.raises(UnknownIndex, match="use one of demo, other"):
        served.use(name)


def test_what_is_missing_or_no_name_is_said_before_anything_is_served(opener: _Opener) -> None:
    with pytest.raises(IndexMissing, match="`shrag index nope`"):
        ServedIndexes(opener.folder, ["demo", "nope"], opener)
    with pytest.raises(CorpusError, match="cannot be a name"):
        ServedIndexes(opener.folder, ["../demo"], opener)
    with pytest.raises(ValueError, match="names is empty"):
        ServedIndexes(opener.folder, [], opener)
    assert opener.opened == []


def test_a_damaged_index_is_told_to_who_asks_and_in_the_list_and_the_other_answers(
    opener: _Opener, served: ServedIndexes
) -> None:
    pointer = opener.folder / "other" / CURRENT_FILE
    right = pointer.read_text()
    pointer.write_text("gen-1\n")
    with pytest.raises(IndexDamaged, match="does not name a generation"):
        served.use("other")
    other = served.describe()[1]
    assert (other.name, other.generation, other.records) == ("other", 0, 0)
    assert "does not name a generation" in other.problem
    with served.use() as engine:
        assert engine.search("그래핀", k=1).ranking.records
    pointer.write_text(right)
    with served.use("other") as engine:
        assert engine.name == "other"


def test_an_index_whose_opening_ends_after_the_others_were_closed_is_closed_too(opener: _Opener) -> None:
    opening, release = threading.Event(), threading.Event()

    def open_named(name: str, verify: Verify, generation: int | None) -> Engine:
        if name == "other":
            opening.set()
            assert release.wait(60)
        return opener(name, verify, generation)

    served = ServedIndexes(opener.folder, ["demo", "other"], open_named)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(served.use, "other")
        assert opening.wait(30)
        served.close()
        with pytest.raises(ShuttingDown):
            served.use("demo")
        release.set()
        with pytest.raises(ShuttingDown):
            asked.result(60)
    assert opener.opened == ["other"]
    assert wait_for(lambda: open_files(opener.folder / "other") == set())


@pytest.mark.slow
def test_a_new_generation_is_taken_up_and_closing_lets_go_of_all_files(opener: _Opener, served: ServedIndexes) -> None:
    with served.use("other"):
        pass
    index = opener.folder / "other"
    publish_copy(index, generation_folder(index, 1))
    assert wait_for(lambda: served.describe()[1].generation == 2)
    served.close()
    assert open_files(index) == set()
