"""Disk, memory, GPU and clock."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from shrag.cli.doctor import machine
from shrag.cli.doctor.machine import available_memory, check_clock, check_disk, check_gpu, check_machine
from shrag.cli.settings import Home
from shrag.cli.versions import RELEASED
from shrag.corpora.errors import CorpusError
from shrag.corpora.store import manifest, open_corpus
from shrag.indexing.errors import IndexMissing
from shrag.indexing.storage import generations
from shrag.models.errors import GpuMissing

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_the_available_memory_is_read_in_kibibytes_where_the_system_reports_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "MemTotal:    9000 kB\nMemAvailable:    2048 kB\n")
    assert available_memory() == 2 << 20
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "MemTotal:    9000 kB\n")
    assert available_memory() is None


def test_little_free_space_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_disk(tmp_path / "not" / "yet").message.endswith(f" GiB free at {tmp_path}")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**30))
    finding = check_disk(tmp_path)
    assert (finding.status, finding.exit_status) == ("warning", 0)
    assert finding.message == f"1.0 GiB free at {tmp_path}"
    assert "--home" in finding.repair


def _no_gpu(options: Sequence[str]) -> str:
    raise GpuMissing("nvidia-smi failed (No devices were found).")


def _one_gpu(options: Sequence[str]) -> str:
    return "NVIDIA H100 80GB HBM3, 81559 MiB, 81004 MiB\n"


def test_no_gpu_is_ok_and_one_whose_driver_does_not_answer_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check_gpu(_no_gpu, tmp_path).message == "none: models run on the processor"
    (tmp_path / "nvidia0").touch()
    finding = check_gpu(_no_gpu, tmp_path)
    assert (finding.status, finding.exit_status) == ("warning", 0)
    assert finding.message == "nvidia-smi failed (No devices were found)."


def test_a_gpu_that_torch_cannot_use_is_a_warning(tmp_path: Path) -> None:
    assert check_gpu(_one_gpu, tmp_path, "2.13.0").status == "ok"
    finding = check_gpu(_one_gpu, tmp_path, "2.13.0+cpu")
    assert finding.status == "warning"
    assert "torch 2.13.0+cpu is for processors only" in finding.message


def test_a_clock_before_the_release_is_a_warning(tmp_path: Path) -> None:
    assert check_clock(Home(tmp_path), NOW).message == "2030-01-01T00:00:00+00:00"
    finding = check_clock(Home(tmp_path), datetime(2020, 1, 1, tzinfo=UTC))
    assert (finding.status, finding.exit_status) == ("warning", 0)
    assert finding.message.startswith("2020-01-01T00:00:00+00:00 is before SHRAG ")
    assert f"was made ({RELEASED}T00:00:00+00:00)" in finding.message


def test_a_clock_before_the_newest_index_is_a_warning_that_names_it(demo_home: Path) -> None:
    made = datetime.fromisoformat(RELEASED).replace(tzinfo=UTC)
    assert check_clock(Home(demo_home)).status == "ok"
    finding = check_clock(Home(demo_home), made)
    assert finding.status == "warning"
    assert "is before index demo was made" in finding.message


@pytest.mark.parametrize(("free", "status"), [(2 * 2**30 + 1, "ok"), (2 * 2**30, "warning")])
def test_two_gibibytes_of_disk_and_of_memory_are_too_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    monkeypatch.setattr(machine, "available_memory", lambda: free)
    monkeypatch.setattr(machine, "check_gpu", lambda: machine.check_disk(tmp_path))
    disk, memory, _, clock = check_machine(Home(tmp_path))
    assert (disk.check, disk.status, bool(disk.repair)) == ("Disk", status, status == "warning")
    assert (memory.check, memory.status, bool(memory.repair)) == ("Memory", status, status == "warning")
    assert memory.message == "2.0 GiB available; SHRAG needs about 1.5"
    assert (memory.exit_status, clock.check) == (0, "Clock")
    monkeypatch.setattr(machine, "available_memory", lambda: None)
    assert [each.check for each in check_machine(Home(tmp_path))][:2] == ["Disk", "Disk"]


def test_the_newest_corpus_or_index_is_named_and_one_that_cannot_be_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {
        **{"old": "2030-01-02T00:00:00", "new": "2030-01-04T09:00:00+09:00", "broken": "yesterday"},
        **{"indexed": "2030-01-03T00:00:00+00:00"},
    }

    def read(folder: Path) -> SimpleNamespace:
        if folder.name == "lost":
            raise CorpusError("There is no manifest.")
        return SimpleNamespace(created=made[folder.name])

    def current(folder: Path) -> tuple[int, SimpleNamespace]:
        if folder.name == "lost":
            raise IndexMissing("There is no index.")
        return 1, read(folder)

    monkeypatch.setattr(open_corpus, "list_corpora", lambda folder: ["broken", "lost", "new", "old"])
    monkeypatch.setattr(manifest, "read_manifest", read)
    monkeypatch.setattr(generations, "current_generation", current)
    home = Home(tmp_path)
    for name in ("indexed", "lost"):
        (home.indexes / name).mkdir(parents=True)
    found = check_clock(home, datetime(2030, 1, 3, 23, tzinfo=UTC))
    assert found.message == "2030-01-03T23:00:00+00:00 is before corpus new was made (2030-01-04T09:00:00+09:00)"
    assert check_clock(home, datetime(2030, 1, 4, tzinfo=UTC)).status == "ok"
    monkeypatch.setattr(open_corpus, "list_corpora", lambda folder: ["old"])
    found = check_clock(home, datetime(2030, 1, 1, 23, tzinfo=UTC))
    assert found.message == "2030-01-01T23:00:00+00:00 is before index indexed was made (2030-01-03T00:00:00+00:00)"
