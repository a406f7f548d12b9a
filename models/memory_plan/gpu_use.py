"""Read the GPU memory in use from ``nvidia-smi`` and compare it with a plan."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from shrag.messages.text import Text
from shrag.models.errors import GpuMissing
from shrag.models.memory_plan.byte_sizes import MIB, gib
from shrag.models.memory_plan.gpu_cards import GpuCard
from shrag.models.memory_plan.plan import MemoryPlan

NvidiaSmi = Callable[[Sequence[str]], str]
"""Runs ``nvidia-smi`` with options and returns its output; raises :class:`GpuMissing`."""

TOLERANCE = 0.05
"""The largest difference between use and plan without a warning, as a share of the plan."""

_CSV = "--format=csv,noheader,nounits"
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class GpuUse:
    """The memory of one GPU in bytes.

    ``by_process`` maps process ids to bytes. It lacks processes whose use the driver does not report, as in containers.
    """

    name: str
    total: int
    used: int
    free: int
    capability: float
    by_process: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class UseDifference:
    """Planned and actual use in bytes; ``used`` is the use of the whole GPU or of the chosen processes."""

    planned: int
    used: int

    @property
    def excess(self) -> float:
        """The excess over the plan, as a share of the plan; negative if less is in use."""
        return (self.used - self.planned) / self.planned

    @property
    def exceeds_tolerance(self) -> bool:
        """Whether the difference, in either direction, is more than :data:`TOLERANCE`."""
        return abs(self.excess) > TOLERANCE

    @property
    def text(self) -> Text:
        """Both figures, their difference, and what to do if it is more than :data:`TOLERANCE`.

        On an H100, vLLM used 5.0 % less than planned when it was ready, and 0.2 % more after full batches.
        """
        text = Text(
            "planned {planned}, in use {used}, {excess:+.1%}",
            planned=gib(self.planned),
            used=gib(self.used),
            excess=self.excess,
        )
        if not self.exceeds_tolerance:
            return text
        if self.excess < 0:
            return Text(
                "{text}: memory use is highest after full batches; compare again after some long prompts", text=text
            )
        return Text(
            "{text}: correct the plan with --slack or a smaller cache, or end other programs on the GPU", text=text
        )


def ask_nvidia_smi(options: Sequence[str]) -> str:
    """Run ``nvidia-smi``; raises :class:`GpuMissing` if it is not installed, fails, or times out."""
    try:
        command = ["nvidia-smi", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_SECONDS)  # noqa: S603  (numbers and names of its own)
    except FileNotFoundError:
        raise GpuMissing(
            Text(
                "There is no nvidia-smi here to read a GPU's memory: name a GPU with --card, or for shrag-serve with "
                "[llm] card."
            )
        ) from None
    except subprocess.TimeoutExpired:
        raise GpuMissing(
            Text(
                "nvidia-smi did not answer within {seconds} s: check the driver, or name a GPU with --card, or for "
                "shrag-serve with [llm] card.",
                seconds=_SECONDS,
            )
        ) from None
    except subprocess.CalledProcessError as error:
        output = (error.stderr or error.stdout or "").strip().rpartition("\n")[2] or Text("nothing")
        raise GpuMissing(
            Text(
                "nvidia-smi failed ({output}): check the driver, or name a GPU with --card, or for shrag-serve with "
                "[llm] card.",
                output=output,
            )
        ) from None
    return done.stdout


def read_gpu(query: NvidiaSmi = ask_nvidia_smi, gpu: int = 0) -> GpuUse:
    """Return the memory of the GPU with number ``gpu``; raises :class:`GpuMissing`."""
    which = f"--id={gpu}"
    line = query([which, "--query-gpu=name,memory.total,memory.used,memory.free,compute_cap", _CSV]).strip()
    fields = [field.strip() for field in line.rsplit(",", 4)]
    try:
        name, total, used, free = fields[0], *(int(field) * MIB for field in fields[1:4])
        capability = float(fields[4])
    except (ValueError, IndexError):
        raise GpuMissing(
            Text(
                "nvidia-smi does not report the memory of GPU {gpu} ({line!r}): name a GPU with --card, or for "
                "shrag-serve with [llm] card.",
                gpu=gpu,
                line=line,
            )
        ) from None
    by_process: dict[int, int] = {}
    for process in query([which, "--query-compute-apps=pid,used_memory", _CSV]).splitlines():
        pid, _, size = (part.strip() for part in process.partition(","))
        if pid.isdigit() and size.isdigit():
            by_process[int(pid)] = int(size) * MIB
    return GpuUse(name, total, used, free, capability, by_process)


def to_gpu_card(use: GpuUse) -> GpuCard:
    """Return the card to plan for, made from the figures that a GPU reports."""
    return GpuCard(use.name, use.name, use.total, use.capability, estimated=False)


def start_obstacle(plan: MemoryPlan, use: GpuUse) -> str | None:
    """Return why vLLM would not start now, or None; to start, it needs its share of the card to be free."""
    wanted = int(plan.gpu_memory_utilization * use.total)
    if wanted <= use.free:
        return None
    return Text(
        "vLLM would not start now: it needs {wanted} of free memory, and {free} is free; end other programs on the GPU",
        wanted=gib(wanted),
        free=gib(use.free),
    )


def compare_use(plan: MemoryPlan, use: GpuUse, processes: Collection[int] = ()) -> UseDifference:
    """Compare a plan with the actual use of ``processes``, or of the whole GPU if there are none.

    Everything that is planned must be loaded. Raises :class:`GpuMissing` if the driver does not report the use of one
    of the processes.
    """
    hidden = sorted(set(processes) - use.by_process.keys())
    if hidden:
        raise GpuMissing(
            Text(
                "nvidia-smi does not report the memory of process {hidden}: leave --pid out to compare the whole GPU.",
                hidden=hidden[0],
            )
        )
    used = sum(use.by_process[pid] for pid in set(processes)) if processes else use.used
    return UseDifference(plan.in_use, used)
