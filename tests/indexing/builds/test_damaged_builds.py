"""A half-built index whose files are damaged before it is resumed: no damage is published."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from click.testing import CliRunner

from shrag.cli.main import run, shrag
from shrag.indexing.build import builder
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.job import BuildJob, BuildOptions
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.storage.checksums import compute_checksums
from shrag.indexing.storage.generations import current_generation, generation_folder, publish, read_generation
from shrag.indexing.storage.manifest import IndexManifest
from tests.support.killed_build import half_built_homes

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_builds")]

NAME = "grown"
RECORDS = 700
POINTS = ("records:500", "mark:records", "mark:glossary", "seal", "current")


class Interrupted(NamedTuple):
    """Homes with a build interrupted at each of the points, and what an uninterrupted one makes of the same corpus."""

    homes: dict[str, Path]
    whole: dict[str, object]


@pytest.fixture(scope="module")
def interrupted(
    tmp_path_factory: pytest.TempPathFactory,
    grow_corpus: Callable[[Path, str, int], None],
    identity: Callable[[Path], dict[str, object]],
    short_builds: None,
) -> Interrupted:
    """Return the homes. Tests only read them."""
    first = tmp_path_factory.mktemp("damaged") / "home"
    grow_corpus(first, NAME, RECORDS)
    build_index(first / "corpora", first / "indexes", NAME, encoder="lsa")
    with pytest.MonkeyPatch.context() as patch:
        homes = half_built_homes(first, NAME, POINTS, patch)
    return Interrupted(homes, _content(first, identity))


def _content(home: Path, identity: Callable[[Path], dict[str, object]]) -> dict[str, object]:
    index = home / "indexes" / NAME
    vectors = current_generation(index)[0] / "vectors"
    return identity(index) | {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in vectors.rglob("*") if path.is_file()
    }


def _half_built(home: Path) -> list[Path]:
    """Return the files of the build that was killed, those of a folder that is renamed but not current yet too."""
    index = home / "indexes" / NAME
    folders = [*index.glob("build-*"), *index.glob("gen-000002")]
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def _flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _resume(home: Path, told: list[str]) -> None:
    build_index(
        home / "corpora", home / "indexes", NAME, force=True, options=BuildOptions(workers=1, notify=told.append)
    )


# One of each kind of file and each point; `make soak` flips bits of all files at all points.
CHOSEN = (
    ("seal", "index/lucene/*.fdt"),
    ("mark:records", "stage/notes.sqlite"),
    ("mark:glossary", "index/lucene/*.doc"),
    ("records:500", "index/lucene/*.fdt"),
    ("seal", "index/glossary.sqlite"),
    ("seal", "index/vectors/passages.f16"),
    ("current", "gen-000002/tokens.sqlite"),
)


@pytest.mark.parametrize("number", range(len(CHOSEN)), ids=[f"{point} {file}" for point, file in CHOSEN])
def test_a_bit_flipped_between_a_kill_and_the_next_build_is_not_published(
    number: int, interrupted: Interrupted, tmp_path: Path, identity: Callable[[Path], dict[str, object]]
) -> None:
    point, pattern = CHOSEN[number]
    home = tmp_path / "home"
    shutil.copytree(interrupted.homes[point], home)
    path = max((found for found in _half_built(home) if found.match(pattern)), key=lambda path: path.stat().st_size)
    _flip(path, random.Random(number))
    told: list[str] = []
    _resume(home, told)
    assert _content(home, identity) == interrupted.whole, told
    assert verify_index(home / "indexes", NAME).problems == ()
    assert not list((home / "indexes" / NAME).glob("build-*"))


@pytest.mark.soak
def test_two_hundred_bits_flipped_in_half_built_indexes_are_not_published(
    interrupted: Interrupted, tmp_path: Path, identity: Callable[[Path], dict[str, object]]
) -> None:
    seed = int(os.environ.get("SHRAG_SEED", random.randrange(10**6)))
    print(f"SHRAG_SEED={seed}")
    chance = random.Random(seed)
    home = tmp_path / "home"
    for _ in range(200):
        point = chance.choice(POINTS)
        shutil.copytree(interrupted.homes[point], home)
        path = chance.choice(_half_built(home))
        _flip(path, chance)
        told: list[str] = []
        _resume(home, told)
        assert _content(home, identity) == interrupted.whole, (seed, point, path, told)
        shutil.rmtree(home)


@pytest.mark.parametrize(
    ("file", "data"),
    [
        pytest.param("index/lucene/*.fdt", b"", marks=pytest.mark.soak),
        ("index/rejects.jsonl", b"[]\n"),
        ("stage/notes.sqlite", b"\0" * 5000),
        ("PLAN.json", b"1"),
    ],
)
def test_a_half_built_index_that_cannot_be_resumed_is_built_from_the_start(
    file: str, data: bytes, interrupted: Interrupted, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(interrupted.homes["seal"], home)
    (build,) = (home / "indexes" / NAME).glob("build-*")
    for path in build.glob(file):
        path.write_bytes(data)
    _resume(home, [])
    assert [path.name for path in sorted((home / "indexes" / NAME).iterdir())] == [
        ".lock",
        ".verified",
        "CURRENT",
        "gen-000001",
        "gen-000002",
    ]
    assert verify_index(home / "indexes", NAME).problems == ()


def test_the_advice_of_verify_for_damage_that_was_published_builds_the_index_again(
    interrupted: Interrupted, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(interrupted.homes["seal"], home)
    index = home / "indexes" / NAME
    # As a version published it that did not look.
    (interrupted_build,) = index.glob("build-*")
    shutil.rmtree(interrupted_build)
    build = index / "build-000002"
    shutil.copytree(generation_folder(index, 1), build)
    _flip(max(build.glob("lucene/*.fdt")), random.Random(1))
    manifest = read_generation(index, 1)
    publish(index, build, msgspec.structs.replace(manifest, generation=2, files=compute_checksums(build)))
    commands = CliRunner()
    found = commands.invoke(shrag, ["--home", str(home), "index", "verify", NAME])
    assert found.exit_code == 4
    advice = found.stderr.partition("`shrag ")[2].partition("`")[0].split()
    assert advice == ["index", NAME, "--force"]
    assert commands.invoke(shrag, ["--home", str(home), *advice]).exit_code == 0
    assert verify_index(home / "indexes", NAME).problems == ()


def test_a_build_whose_files_change_while_it_runs_is_not_published(
    interrupted: Interrupted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    shutil.copytree(interrupted.homes["mark:records"], home)
    make = builder.make_manifest

    def damaged(job: BuildJob) -> IndexManifest:
        path = job.workspace.index / "glossary.sqlite"
        path.write_bytes(path.read_bytes()[:-1] + b"!")
        return make(job)

    monkeypatch.setattr(builder, "make_manifest", damaged)
    assert run(["--home", str(home), "index", NAME, "--force"]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert "glossary.sqlite has changed since it was written" in said.err
    assert current_generation(home / "indexes" / NAME)[1].generation == 1
