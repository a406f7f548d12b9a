from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shrag.models.errors import GpuMissing
from shrag.models.memory_plan import gpu_use
from shrag.models.memory_plan.byte_sizes import MIB
from shrag.models.memory_plan.gpu_cards import find_card
from shrag.models.memory_plan.gpu_use import (
    GpuUse,
    UseDifference,
    ask_nvidia_smi,
    compare_use,
    read_gpu,
    start_obstacle,
    to_gpu_card,
)
from shrag.models.memory_plan.model_size import profile_size
from shrag.models.memory_plan.plan import MemoryPlan, PlanRequest, try_plan

H200 = "NVIDIA H200, the big one, 143771, 47000, 96771, 9.0\n"


class Smi:
    """Answers as nvidia-smi does, and keeps what it was asked."""

    def __init__(self, card: str, processes: str = "") -> None:
        self.answers = {"--query-gpu": card, "--query-compute-apps": processes}
        self.asked: list[Sequence[str]] = []

    def __call__(self, options: Sequence[str]) -> str:
        self.asked.append(options)
        return self.answers[options[1].partition("=")[0]]


@pytest.fixture
def plan() -> MemoryPlan:
    laid = try_plan(PlanRequest(find_card("H200"), 50 * 10**9, profile_size("qwen3.8-27b-fp8", Path("w"))))
    assert isinstance(laid, MemoryPlan)
    return laid


def test_one_gpu_is_read_with_its_processes() -> None:
    smi = Smi(H200, "4711, 40000\n4712, 6000\n")
    use = read_gpu(smi, gpu=3)
    assert (use.name, use.capability) == ("NVIDIA H200, the big one", 9.0)
    assert (use.total, use.used, use.free) == (143_771 * MIB, 47_000 * MIB, 96_771 * MIB)
    assert use.by_process == {4711: 40_000 * MIB, 4712: 6_000 * MIB}
    assert {options[0] for options in smi.asked} == {"--id=3"}
    card = to_gpu_card(use)
    assert (card.usable, card.estimated) == (143_771 * MIB, False)


def test_processes_without_reported_memory_are_left_out() -> None:
    assert read_gpu(Smi(H200, "4711, [N/A]\n\n4712, 5\n")).by_process == {4712: 5 * MIB}
    assert read_gpu(Smi(H200, "No running processes found\n")).by_process == {}


@pytest.mark.parametrize("answer", ["", "No devices were found\n", "Tesla, [N/A], [N/A], [N/A], 9.0", "X, 1, 2, 3, ?"])
def test_a_card_without_reported_memory_is_an_error(answer: str) -> None:
    with pytest.raises(GpuMissing, match=r"does not report the memory of GPU 0 .*or for shrag-serve with .llm. card"):
        read_gpu(Smi(answer))


def test_differences_above_five_percent_are_warnings(plan: MemoryPlan) -> None:
    use = read_gpu(Smi(H200))
    for share, exceeds_tolerance in ((-0.051, True), (-0.049, False), (0.0, False), (0.049, False), (0.051, True)):
        difference = compare_use(plan, replace(use, used=round(plan.in_use * (1 + share))))
        assert difference.excess == pytest.approx(share, abs=1e-9)
        assert difference.exceeds_tolerance == exceeds_tolerance
    assert UseDifference(100 * MIB, 104 * MIB).text == "planned 0.10 GiB, in use 0.10 GiB, +4.0%"
    assert "correct the plan with --slack" in UseDifference(100 * MIB, 106 * MIB).text
    assert UseDifference(100 * MIB, 94 * MIB).text.endswith(
        "-6.0%: memory use is highest after full batches; compare again after some long prompts"
    )


def test_only_the_given_processes_are_counted(plan: MemoryPlan) -> None:
    use = read_gpu(Smi(H200, "4711, 40000\n4712, 6000\n4713, 999\n"))
    assert compare_use(plan, use, [4711, 4712, 4712]).used == 46_000 * MIB
    assert compare_use(plan, use).used == 47_000 * MIB
    with pytest.raises(GpuMissing, match="does not report the memory of process 4714"):
        compare_use(plan, use, [4711, 4714])


def test_the_obstacle_is_named_where_vllms_share_is_not_free(plan: MemoryPlan) -> None:
    use = read_gpu(Smi(H200))
    share = int(plan.gpu_memory_utilization * use.total)
    assert start_obstacle(plan, replace(use, free=share)) is None
    said = start_obstacle(plan, replace(use, free=share - 1))
    assert said is not None
    assert said.startswith("vLLM would not start now: it needs 45.21 GiB of free memory, and 45.21 GiB is free")


def test_the_plan_counts_no_slack_as_used(plan: MemoryPlan) -> None:
    assert compare_use(plan, GpuUse("x", 1, plan.in_use, 1, 9.0, {})).excess == 0.0


def nvidia_smi(folder: Path, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_nvidia_smi_is_run_and_its_failures_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GpuMissing, match="There is no nvidia-smi here"):
        ask_nvidia_smi([])
    nvidia_smi(tmp_path, 'echo "$@"')
    assert ask_nvidia_smi(["--id=0", "--x"]) == "--id=0 --x\n"
    nvidia_smi(tmp_path, 'echo "first"; echo "driver and library do not match" >&2; exit 18')
    with pytest.raises(GpuMissing, match=r"nvidia-smi failed \(driver and library do not match\)"):
        ask_nvidia_smi([])
    nvidia_smi(tmp_path, "exit 1")
    with pytest.raises(GpuMissing, match=r"nvidia-smi failed \(nothing\)"):
        ask_nvidia_smi([])


def test_a_driver_that_does_not_answer_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvidia_smi(tmp_path, "exec /bin/sleep 30")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpu_use, "_SECONDS", 0.1)
    with pytest.raises(GpuMissing, match=r"nvidia-smi did not answer within 0\.1 s: check the driver"):
        ask_nvidia_smi([])


def test_a_difference_of_exactly_five_percent_is_no_warning() -> None:
    assert UseDifference(100, 105).text.endswith("+5.0%")
    assert UseDifference(100, 95).text.endswith("-5.0%")
