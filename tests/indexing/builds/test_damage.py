"""R9 and R10: whatever happens to a file of a published index, nothing is answered from it and the file is named."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shrag.indexing.errors import IndexDamaged, IndexMismatch
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.open_index import check_index, open_index
from shrag.indexing.query import Term
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE
from shrag.indexing.storage.generations import CURRENT_FILE, current_generation

pytestmark = pytest.mark.slow

Damage = Callable[[Path, random.Random], None]

NOT_DATA = {".lock", ".verified"}
"""Files of an index that hold nothing of it: what stands in ``.verified`` is compared with the files themselves."""


@pytest.fixture(scope="module")
def home(three_generations: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home whose index has three generations, to be damaged and mended again."""
    home = tmp_path_factory.mktemp("damage") / "home"
    shutil.copytree(three_generations, home)
    return home


def _flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(data))


def _cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _zero(path: Path, chance: random.Random) -> None:
    size = path.stat().st_size
    start = 0 if size <= 4096 else chance.randrange(0, size - 4095)
    data = bytearray(path.read_bytes())
    data[start : start + 4096] = bytes(min(4096, size))
    path.write_bytes(bytes(data))


def _append(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(1 + chance.randrange(64)))


def _delete(path: Path, _: random.Random) -> None:
    path.unlink()


def _other_generation(path: Path, _: random.Random) -> None:
    shutil.copyfile(str(path).replace("gen-000003", "gen-000001"), path)


def _swap(path: Path, chance: random.Random) -> None:
    folders = (path.parent, path.parent.parent)  # vectors lie alone in their folder
    near = next(found for folder in folders if (found := [f for f in folder.iterdir() if f.is_file() and f != path]))
    other = chance.choice(sorted(near))
    path.replace(path.with_name("aside"))
    other.replace(path)
    path.with_name("aside").replace(other)


DAMAGES: dict[str, Damage] = {
    "deleted": _delete,
    "zeroed": _zero,
    "cut": _cut,
    "one bit flipped": _flip,
    "appended to": _append,
    "from another generation": _other_generation,
    "swapped with its neighbour": _swap,
}


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _restore(folder: Path, state: dict[str, bytes]) -> None:
    for name in _state(folder).keys() - state.keys():
        (folder / name).unlink()
    for name, data in state.items():
        (folder / name).write_bytes(data)


@contextmanager
def _damaged(index: Path) -> Iterator[Callable[[], set[str]]]:
    """Mend at the end what is damaged meanwhile; give a function that tells which files are."""
    whole = _state(index)

    def changed() -> set[str]:
        now = _state(index)
        return {name for name in whole.keys() | now.keys() if whole.get(name) != now.get(name)} - NOT_DATA

    try:
        yield changed
    finally:
        _restore(index, whole)


def _cases(index: Path) -> list[tuple[str, str]]:
    """Return every file of the index with every damage that can be done to it."""
    folder, manifest = current_generation(index)
    inside = [*manifest.files, MANIFEST_FILE, MANIFEST_CHECKSUM_FILE]
    names = [CURRENT_FILE, *(f"{folder.name}/{name}" for name in inside)]
    no_harm_to_empty = ("zeroed", "cut", "one bit flipped")
    return [
        (name, kind)
        for name in names
        for kind in DAMAGES
        if not ((index / name).stat().st_size == 0 and kind in no_harm_to_empty)
        and not (name == CURRENT_FILE and kind == "from another generation")
    ]


def _damage_and_look(home: Path, name: str, kind: str, chance: random.Random) -> None:
    index = home / "indexes" / "demo"
    with _damaged(index) as changed:
        DAMAGES[kind](index / name, chance)
        names = changed()
        if not names:  # two files that are alike, swapped
            return
        # Opening goes by the digest in CURRENT; the manifest's seal beside it is for all other generations.
        if names != {f"gen-000003/{MANIFEST_CHECKSUM_FILE}"}:
            with pytest.raises(IndexDamaged) as refusal:
                open_index(home / "indexes", "demo")
            assert any(Path(name).name in str(refusal.value) for name in names), (names, refusal.value)
            with pytest.raises(IndexDamaged):
                check_index(home / "indexes", "demo")
        found = {problem.file for problem in verify_index(home / "indexes", "demo").problems}
        # Without a manifest nothing is known of the other files' seals: two swapped files are then one problem.
        manifest = f"gen-000003/{MANIFEST_FILE}"
        assert names <= found or (manifest in names and manifest in found), (kind, names, found)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_every_damage_to_every_file_is_refused_and_found_by_name(home: Path, every: int) -> None:
    cases = _cases(home / "indexes" / "demo")
    assert len(cases) >= 55
    chosen = cases[::every]
    assert {name for name, _ in chosen} == {name for name, _ in cases}
    assert {kind for _, kind in chosen} == set(DAMAGES)
    for number, (name, kind) in enumerate(chosen):
        _damage_and_look(home, name, kind, random.Random(number))
    assert verify_index(home / "indexes", "demo").problems == ()


@pytest.mark.soak
def test_two_hundred_random_damages_are_refused_and_found(home: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    cases = _cases(home / "indexes" / "demo")
    for _ in range(200):
        _damage_and_look(home, *chance.choice(cases), chance)
    assert verify_index(home / "indexes", "demo").problems == ()


def test_a_file_that_was_not_sealed_is_damage_too(home: Path) -> None:
    index = home / "indexes" / "demo"
    with _damaged(index) as changed:
        stray = index / "gen-000003" / "lucene" / "segments_9"
        shutil.copyfile(index / "gen-000001" / "lucene" / "segments_1", stray)
        with pytest.raises(IndexDamaged, match="segments_9 is not part of the index"):
            open_index(home / "indexes", "demo")
        assert changed() <= {problem.file for problem in verify_index(home / "indexes", "demo").problems}
    linked = index / "gen-000003" / "tokens.sqlite"
    with _damaged(index):
        linked.replace(index / "elsewhere")
        linked.symlink_to(index / "elsewhere")
        with pytest.raises(IndexDamaged, match=r"tokens\.sqlite is missing"):
            open_index(home / "indexes", "demo")
        linked.unlink()


def test_every_problem_is_found_not_only_the_first(home: Path) -> None:
    index = home / "indexes" / "demo"
    folder = index / "gen-000003"
    with _damaged(index) as changed:
        _flip(folder / "tokens.sqlite", random.Random(1))
        _delete(folder / "golden.json", random.Random(1))
        _cut(max(folder.glob("lucene/*"), key=lambda path: path.stat().st_size), random.Random(1))
        _append(index / CURRENT_FILE, random.Random(1))
        found = verify_index(home / "indexes", "demo")
        assert len(changed()) == 4
        assert changed() | {"gen-000003/lucene"} <= {problem.file for problem in found.problems}
        assert found.skipped == ("opening", "FAISS", "records", "golden queries", "analysis")


def test_verifying_looks_at_every_side_of_a_whole_index(home: Path) -> None:
    found = verify_index(home / "indexes", "demo")
    files = len(current_generation(home / "indexes" / "demo")[1].files)
    assert {check.name: check.examined for check in found.checks} == {
        "manifest": 3,
        "checksums": files,
        "CheckIndex": 1,
        "databases": 2,
        "opening": 1,
        "FAISS": 20,
        "records": 235,
        "golden queries": 20,
        "analysis": 20,
    }
    assert (found.generation, found.problems, found.skipped) == (3, (), ())
    assert verify_index(home / "indexes", "demo", generation=1).problems == ()


def test_verifying_writes_nothing(home: Path) -> None:
    before = _state(home / "indexes")
    verify_index(home / "indexes", "demo")
    assert _state(home / "indexes") == before


def test_an_index_opened_quickly_is_read_through_while_it_answers(home: Path) -> None:
    index = home / "indexes" / "demo"
    opened = open_index(home / "indexes", "demo", verify="quick")
    assert opened.searcher.search([Term("그래핀")], 1)[0]
    assert opened.checksums.wait(30) == "verified"
    opened.close()
    path = index / "gen-000003" / "golden.json"
    with _damaged(index):
        _flip(path, random.Random(1))
        opened = open_index(home / "indexes", "demo", verify="quick")
        assert opened.checksums.wait(30) == "damaged"
        with pytest.raises(IndexDamaged, match=r"golden\.json has changed since it was published"):
            opened.checksums.raise_if_damaged()
        opened.close()
        _cut(path, random.Random(1))
        with pytest.raises(IndexDamaged, match=r"golden\.json has \d+ bytes instead of"):
            open_index(home / "indexes", "demo", verify="quick")


def test_an_index_of_another_format_is_not_verified_but_named(home: Path) -> None:
    index = home / "indexes" / "demo"
    path = index / "gen-000001" / MANIFEST_FILE
    with _damaged(index):
        path.write_text(path.read_text().replace('"format_version": 6', '"format_version": 1', 1))
        path.with_name(MANIFEST_CHECKSUM_FILE).unlink()
        with pytest.raises(IndexMismatch, match="in format 1, this is SHRAG"):
            verify_index(home / "indexes", "demo", generation=1)
