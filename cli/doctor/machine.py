"""Checks of the machine: disk, memory, GPU, clock."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from shrag.cli.doctor.finding import DoctorFinding
from shrag.cli.settings import Home
from shrag.cli.versions import RELEASED, package_version
from shrag.corpora.errors import CorpusError
from shrag.indexing.errors import IndexingError
from shrag.messages.text import Text, message_of
from shrag.models.errors import GpuMissing
from shrag.models.memory_plan.gpu_use import NvidiaSmi, ask_nvidia_smi

_DISK_LOW = 2 * 2**30
_MEMORY_LOW = 2 * 2**30


def check_machine(home: Home) -> Iterator[DoctorFinding]:
    """Check free disk space and memory, the GPU and the clock."""
    yield check_disk(home.path)
    memory = available_memory()
    if memory is not None:
        says = Text("{memory:.1f} GiB available; SHRAG needs about 1.5", memory=memory / 2**30)
        yield (
            DoctorFinding(Text("Memory"), "ok", says)
            if memory > _MEMORY_LOW
            else DoctorFinding(
                Text("Memory"),
                "warning",
                says,
                repair=Text("end other programs, or give the machine or container more memory"),
            )
        )
    yield check_gpu()
    yield check_clock(home)


def check_disk(folder: Path) -> DoctorFinding:
    """Check the free space of the file system that ``folder`` is, or will be, on."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    says = Text("{free:.1f} GiB free at {folder}", free=free / 2**30, folder=there)
    if free > _DISK_LOW:
        return DoctorFinding(Text("Disk"), "ok", says)
    return DoctorFinding(
        Text("Disk"),
        "warning",
        says,
        repair=Text("make room there (`shrag index remove` deletes an index), or choose another folder with --home"),
    )


def available_memory() -> int | None:
    """Return the bytes available without swapping, None where the system does not report them."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def check_gpu(query: NvidiaSmi = ask_nvidia_smi, devices: Path = Path("/dev"), torch: str = "") -> DoctorFinding:
    """Check that NVIDIA's driver answers, and that torch, if it is installed, can use the GPUs.

    Args:
        query: Asks ``nvidia-smi``.
        devices: The folder of device files. It shows whether there is a GPU whose driver does not work.
        torch: The version of torch, empty for the installed one.
    """
    torch = torch or package_version("torch")
    try:
        lines = query(["--query-gpu=name,memory.total,memory.free", "--format=csv,noheader"]).splitlines()
    except GpuMissing as error:
        if any(devices.glob("nvidia[0-9]*")) or shutil.which("nvidia-smi"):
            return DoctorFinding(
                "GPU",
                "warning",
                message_of(error),
                repair=Text("install the driver's own packages, or start the container with its GPU"),
            )
        return DoctorFinding("GPU", "ok", Text("none: models run on the processor"))
    gpus = "; ".join(line.strip() for line in lines)
    if torch.endswith("+cpu"):
        return DoctorFinding(
            "GPU",
            "warning",
            Text("{gpus}; not used by encoders, because torch {torch} is for processors only", gpus=gpus, torch=torch),
            repair=Text("install the GPU profile of the bundle, or torch's wheel for CUDA from the folder of wheels"),
        )
    return DoctorFinding("GPU", "ok", Text("{gpus} (memory in all, free)", gpus=gpus))


def check_clock(home: Home, now: datetime | None = None) -> DoctorFinding:
    """Check that the clock is not before the release of SHRAG or the creation of the newest corpus or index."""
    now = now or datetime.now(UTC)
    times = {f"SHRAG {package_version('shrag')}": datetime.fromisoformat(RELEASED).replace(tzinfo=UTC)}
    times |= dict(_creation_times(home))
    newest = max(times, key=lambda name: times[name])
    says = now.isoformat(timespec="seconds")
    if now >= times[newest]:
        return DoctorFinding(Text("Clock"), "ok", says)
    return DoctorFinding(
        Text("Clock"),
        "warning",
        Text(
            "{now} is before {newest} was made ({made})",
            now=says,
            newest=newest,
            made=times[newest].isoformat(timespec="seconds"),
        ),
        repair=Text(
            "set the clock (`timedatectl set-time`, or `date --set`, as root): dates of runs and logs are wrong"
        ),
    )


def _creation_times(home: Home) -> Iterator[tuple[str, datetime]]:
    """Yield the name and the creation time of each corpus and index.

    Those that cannot be read are skipped: other checks report them.
    """
    from shrag.corpora.store.manifest import read_manifest
    from shrag.corpora.store.open_corpus import list_corpora
    from shrag.indexing.storage.generations import current_generation

    with suppress(OSError):
        for name in list_corpora(home.corpora):
            with suppress(CorpusError, OSError, ValueError):
                yield Text("corpus {name}", name=name), _utc(read_manifest(home.corpora / name).created)
        for folder in sorted(home.indexes.iterdir()) if home.indexes.exists() else ():
            with suppress(CorpusError, IndexingError, OSError, ValueError):
                yield Text("index {name}", name=folder.name), _utc(current_generation(folder)[1].created)


def _utc(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
