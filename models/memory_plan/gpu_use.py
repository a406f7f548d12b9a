"""GPU memory in use by ``nvidia-smi``, compared with a plan."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from shrag.models.errors import GpuMissing
from shrag.models.memory_plan.byte_sizes import MIB, gib
from shrag.models.memory_plan.gpu_cards import GpuCard
from shrag.models.memory_plan.plan import MemoryPlan

NvidiaSmi = Callable[[Sequence[str]], str]
"""Options of ``nvidia-smi`` → what it prints; raises :class:`GpuMissing`."""

TOLERANCE = 0.05
"""The share of the plan by which real use may differ before that is a warning."""

_CSV = "--format=csv,noheader,nounits"
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One GPU, sizes in bytes. ``by_process`` has no process whose use the driver does not tell, as in containers."""

    name: str
    total: int
    used: int
    free: int
    capability: float
    by_process: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class UseDifference:
    """Real use against the plan, in bytes; ``real`` counts the whole GPU or the processes asked for."""

    planned: int
    real: int

    @property
    def share(self) -> float:
        """How much more than planned is held, as a share of the plan; negative where it is less."""
        return (self.real - self.planned) / self.planned

    @property
    def exceeds_tolerance(self) -> bool:
        """Whether the difference, either way, is more than :data:`TOLERANCE`."""
        return abs(self.share) > TOLERANCE

    def __str__(self) -> str:
        advice = ": correct the plan with --slack or a smaller cache, or find who else is on the card"
        says = f"planned {gib(self.planned)}, held {gib(self.real)}, {self.share:+.1%}"
        return says + (advice if self.exceeds_tolerance else "")


def ask_nvidia_smi(options: Sequence[str]) -> str:
    """Run ``nvidia-smi``; raises :class:`GpuMissing` where it is not there, fails, or does not answer."""
    try:
        command = ["nvidia-smi", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_SECONDS)  # noqa: S603  (numbers and names of its own)
    except FileNotFoundError:
        raise GpuMissing("There is no nvidia-smi here to ask for a GPU: name a card with --card.") from None
    except subprocess.TimeoutExpired:
        raise GpuMissing(f"nvidia-smi did not answer within {_SECONDS} s: check the driver, or use --card.") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or "nothing").strip().splitlines()[-1:]
        raise GpuMissing(f"nvidia-smi failed ({' '.join(said)}): check the driver, or use --card.") from None
    return done.stdout


def read_gpu(query: NvidiaSmi = ask_nvidia_smi, gpu: int = 0) -> GpuUse:
    """Ask for one GPU, the first unless told otherwise; raises :class:`GpuMissing`."""
    which = f"--id={gpu}"
    line = query([which, "--query-gpu=name,memory.total,memory.used,memory.free,compute_cap", _CSV]).strip()
    fields = [field.strip() for field in line.rsplit(",", 4)]
    try:
        name, total, used, free = fields[0], *(int(field) * MIB for field in fields[1:4])
        capability = float(fields[4])
    except (ValueError, IndexError):
        raise GpuMissing(f"nvidia-smi does not tell the memory of GPU {gpu} ({line!r}): use --card.") from None
    by_process: dict[int, int] = {}
    for process in query([which, "--query-compute-apps=pid,used_memory", _CSV]).splitlines():
        pid, _, held = (part.strip() for part in process.partition(","))
        if pid.isdigit() and held.isdigit():
            by_process[int(pid)] = int(held) * MIB
    return GpuUse(name, total, used, free, capability, by_process)


def to_gpu_card(use: GpuUse) -> GpuCard:
    """Return the card a plan is made for where the GPU itself was asked."""
    return GpuCard(use.name, use.name, use.total, use.capability, estimated=False)


def start_obstacle(plan: MemoryPlan, use: GpuUse) -> str | None:
    """Say why vLLM would refuse to start now, None where it would not: it wants its share of the card free."""
    wanted = int(plan.gpu_memory_utilization * use.total)
    if wanted <= use.free:
        return None
    return f"vLLM would not start now: it wants {gib(wanted)} free and {gib(use.free)} are; see who holds the rest"


def compare_use(plan: MemoryPlan, use: GpuUse, processes: Collection[int] = ()) -> UseDifference:
    """Compare a plan, once all it holds is loaded, with the whole GPU or with the sum of some ``processes``.

    Raises :class:`GpuMissing` where the driver does not tell what one of them holds.
    """
    hidden = sorted(set(processes) - use.by_process.keys())
    if hidden:
        raise GpuMissing(
            f"nvidia-smi does not tell what process {hidden[0]} holds: compare the whole card, with no --pid."
        )
    real = sum(use.by_process[pid] for pid in set(processes)) if processes else use.used
    return UseDifference(plan.in_use, real)
