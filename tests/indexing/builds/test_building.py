"""Building an index: one build at a time, a check of the disk space, and workspaces of other plans removed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shrag.corpora.files import DiskFull
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build import builder
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.checkpoints import BuildPlan, BuildStep, find_workspace, run_steps, start_workspace
from shrag.indexing.build.job import BuildOptions, StageUtilization
from shrag.indexing.build.records_step import shard_size
from shrag.indexing.errors import IndexingError, IndexMissing
from shrag.indexing.maintenance.verify import verify_index
from shrag.indexing.storage.generations import current_generation

pytestmark = pytest.mark.usefixtures("short_builds")

Grow = Callable[[Path, str, int], None]
PLAN = BuildPlan(2, "corpus", 10, "analyser", Bm25(), "", "", {"kiwi": "1"})


@pytest.mark.process
def test_r7_a_second_build_is_refused_at_once_and_names_the_first(tmp_path: Path, grow_corpus: Grow) -> None:
    grow_corpus(tmp_path, "grown", 10)
    index = tmp_path / "indexes" / "grown"
    index.mkdir(parents=True)
    code = (
        "import sys; from pathlib import Path; from shrag.corpora.files import lock_folder\n"
        "with lock_folder(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(index)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        started = time.monotonic()
        with pytest.raises(IndexingError, match=rf"is being written by process {holder.pid}: wait"):
            build_index(tmp_path / "corpora", tmp_path / "indexes", "grown")
        assert time.monotonic() - started < 10
        holder.kill()
    # The number of a process that is gone stays in the file; the lock itself went with the process.
    assert (index / ".lock").read_text() == str(holder.pid)
    assert build_index(tmp_path / "corpora", tmp_path / "indexes", "grown")[0].records == 10


def test_a_half_built_index_of_another_plan_is_dropped_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    start_workspace(tmp_path, PLAN, 3)
    found = find_workspace(tmp_path, PLAN, told.append)
    assert found is not None
    assert (found.generation, told) == (3, [])
    assert found.index.name == "index"
    changed = BuildPlan(2, "another", 11, "analyser", Bm25(), "", "", {"kiwi": "1"})
    assert find_workspace(tmp_path, changed, told.append) is None
    assert told == ["An interrupted build was removed, since its plan differs in: corpus, records."]
    assert list(tmp_path.iterdir()) == []


def test_a_build_without_a_readable_plan_is_no_build(tmp_path: Path) -> None:
    for data in (b"", b"{", b"{}", b"\xff", b"[1]"):
        (tmp_path / "build-000001").mkdir()
        (tmp_path / "build-000001" / "PLAN.json").write_bytes(data)
        assert find_workspace(tmp_path, PLAN, lambda sentence: None) is None
        assert list(tmp_path.iterdir()) == []


def test_a_plan_that_this_process_may_not_read_now_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))

    start_workspace(tmp_path, PLAN, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        with pytest.raises(OSError, match="Too many open files"):
            find_workspace(tmp_path, PLAN, lambda sentence: None)
    assert find_workspace(tmp_path, PLAN, lambda sentence: None) is not None


@pytest.mark.slow
def test_what_a_build_left_of_a_write_that_failed_is_not_part_of_the_index(tmp_path: Path, grow_corpus: Grow) -> None:
    grow_corpus(tmp_path, "grown", 10)
    corpora, indexes = tmp_path / "corpora", tmp_path / "indexes"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "make_manifest", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_index(corpora, indexes, "grown")
    (work,) = (indexes / "grown").glob("build-*/index")
    (work / ".MANIFEST.json.new").write_bytes(b"{")
    (indexes / "grown" / "old-gen-000009").mkdir()
    manifest, _ = build_index(corpora, indexes, "grown")
    assert ".MANIFEST.json.new" not in manifest.files
    assert verify_index(indexes, "grown").problems == ()
    assert sorted(path.name for path in (indexes / "grown").iterdir()) == [
        ".lock", ".verified", "CURRENT", "gen-000001",
    ]  # fmt: skip
    (indexes / "grown" / "old-gen-000009").mkdir()
    assert not build_index(corpora, indexes, "grown")[1]
    assert not (indexes / "grown" / "old-gen-000009").exists()


def test_a_finished_step_is_not_run_again_until_its_input_or_its_files_change(tmp_path: Path) -> None:
    build = start_workspace(tmp_path, PLAN, 1)
    ran: list[str] = []

    def step(name: str, text: str) -> BuildStep:
        def run() -> None:
            ran.append(name)
            (build.index / name).write_text(text)

        return BuildStep(name, (f"index/{name}",), run)

    run_steps(build, [step("a", "1"), step("b", "2")])
    run_steps(build, [step("a", "1"), step("b", "2")])
    assert ran == ["a", "b"]
    (build.index / "b").write_text("3")  # of the same size
    run_steps(build, [step("a", "1"), step("b", "2")])
    assert ran == ["a", "b", "b"]
    (build.index / "a").unlink()
    run_steps(build, [step("a", "longer"), step("b", "2"), step("c", "3")])
    assert ran == ["a", "b", "b", "a", "b", "c"]


@pytest.mark.slow
def test_a_half_built_index_that_is_damaged_is_built_from_the_start(tmp_path: Path, grow_corpus: Grow) -> None:
    grow_corpus(tmp_path, "grown", 10)
    corpora, indexes = tmp_path / "corpora", tmp_path / "indexes"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "make_manifest", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_index(corpora, indexes, "grown")
    (work,) = (indexes / "grown").glob("build-*/index/lucene")
    for segments in work.glob("segments_*"):
        segments.write_bytes(b"x" * segments.stat().st_size + b"y")
    told: list[str] = []
    manifest, new = build_index(corpora, indexes, "grown", options=BuildOptions(notify=told.append))
    assert (manifest.records, new) == (10, True)
    assert len(told) == 1
    assert "so it is built from the start" in told[0]


@pytest.mark.process
def test_how_many_workers_there_are_changes_nothing(
    tmp_path: Path, grow_corpus: Grow, identity: Callable[[Path], dict[str, object]]
) -> None:
    grow_corpus(tmp_path, "grown", 700)
    found = []
    for workers in (1, 5):
        build_index(tmp_path / "corpora", tmp_path / str(workers), "grown", options=BuildOptions(workers=workers))
        found.append(identity(tmp_path / str(workers) / "grown"))
    assert found[0] == found[1]


def test_shards_are_a_sixteenth_within_bounds() -> None:
    assert [shard_size(records) for records in (0, 170, 20_000, 1_000_000, 10**8)] == [2048, 2048, 2048, 62_500, 65_536]


def test_utilization_is_of_the_time_passed_and_of_all_workers() -> None:
    utilization = StageUtilization()
    time.sleep(0.05)
    utilization.add("analysis", 0.05, workers=2)
    with utilization.measure("Lucene"):
        time.sleep(0.05)
    shares = utilization.shares()
    assert shares["analysis"] == pytest.approx(0.25, abs=0.15)
    assert 0.2 < shares["Lucene"] < 0.7


def test_r3_a_disk_without_room_is_refused_before_anything_is_written(
    tmp_path: Path, grow_corpus: Grow, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow_corpus(tmp_path, "grown", 10)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        "shrag.indexing.build.checkpoints.shutil.disk_usage", lambda path: usage._replace(free=1_300_000)
    )
    with pytest.raises(DiskFull, match=r"index grown takes about 1,\d{3},\d{3} bytes and 1,300,000 are free under"):
        build_index(tmp_path / "corpora", tmp_path / "indexes", "grown")
    with pytest.raises(IndexMissing):
        current_generation(tmp_path / "indexes" / "grown")
    assert [path.name for path in (tmp_path / "indexes" / "grown").iterdir()] == [".lock"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Return a function that makes a file system of so many bytes."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def make(size: int) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={max(size, 4096)}", "shrag-test", str(folder)]
        if os.getuid() or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("file systems cannot be mounted here (needs root)")
        return folder

    yield make
    subprocess.run(["umount", str(folder)], check=False, capture_output=True)


@pytest.mark.process
@pytest.mark.soak
@pytest.mark.parametrize("percent", [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110])
def test_r3_a_disk_that_fills_up_is_one_sentence_and_the_old_generation_answers(
    tmp_path: Path, small_disk: Callable[[int], Path], grow_corpus: Grow, percent: int
) -> None:
    grow_corpus(tmp_path, "grown", 3_000)
    build_index(tmp_path / "corpora", tmp_path / "indexes", "grown")
    old = tmp_path / "indexes" / "grown"
    size = sum(path.stat().st_size for path in old.rglob("*"))
    disk = small_disk(size + 65_536 + size * 2 * percent // 100)
    shutil.copytree(old, disk / "indexes" / "grown")
    (disk / "corpora").symlink_to(tmp_path / "corpora")
    margin = "from shrag.indexing.build import checkpoints; checkpoints._MARGIN = 0.0"
    code = f"{margin}\nfrom shrag.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "index", "grown", "--force"],
        env={**os.environ, "SHRAG_HOME": str(disk)},
        capture_output=True,
        text=True,
        check=False,
    )
    generation = current_generation(disk / "indexes" / "grown")[1].generation
    if done.returncode == 0:
        assert (generation, percent >= 50) == (2, True)
        return
    assert (done.returncode, done.stdout, generation) == (5, "", 1), done.stderr
    assert "The disk is full" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not list((disk / "indexes" / "grown").glob("build-*"))


@pytest.mark.process
@pytest.mark.soak
def test_r4_200_000_records_are_indexed_within_four_gibibytes(tmp_path: Path, grow_corpus: Grow) -> None:
    grow_corpus(tmp_path, "grown", 200_000)
    code = "from shrag.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "index", "grown"],
        env={**os.environ, "SHRAG_HOME": str(tmp_path)},
        start_new_session=True,
    )
    most = 0
    while process.poll() is None:
        most = max(most, _session_memory(process.pid))
        time.sleep(0.5)
    assert process.returncode == 0
    assert 200 << 20 < most < 3 << 30  # the heap is 1 GiB of it


def _session_memory(session: int) -> int:
    """Return the bytes that the processes of a session hold, shared ones in equal parts."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                lines = (folder / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
        except OSError:
            continue
    return total


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt
