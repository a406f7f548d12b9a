from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

from shrag.models.memory_plan.gpu_cards import find_card
from shrag.models.memory_plan.model_size import profile_size
from shrag.models.memory_plan.plan import MemoryPlan, PlanRequest, try_plan
from shrag.models.model_server.command import OFFLINE, memory_flags, shell_line, vllm_command


def plan(model: str = "qwen3.8-27b-fp8", **changes: object) -> MemoryPlan:
    wanted = PlanRequest(find_card("H200"), 50 * 10**9, profile_size(model, Path("my weights")))
    laid = try_plan(replace(wanted, **changes))  # type: ignore[arg-type]
    assert isinstance(laid, MemoryPlan)
    return laid


def test_the_share_and_the_cache_bytes_are_both_given_and_agree() -> None:
    flags = memory_flags(plan())
    assert flags == (
        "--gpu-memory-utilization", "0.322", "--kv-cache-memory-bytes", "14444M", "--max-model-len", "16384",
        "--max-num-seqs", "12", "--max-num-batched-tokens", "8192", "--no-enable-prefix-caching",
        "--language-model-only",
    )  # fmt: skip


def test_options_that_are_not_set_are_left_to_vllm() -> None:
    flags = memory_flags(plan("qwen3-30b-a3b-2507-fp8"))
    assert not {"--kv-cache-dtype", "--no-enable-prefix-caching", "--enforce-eager"} & set(flags)
    asked = memory_flags(plan("qwen3-30b-a3b-2507-fp8", kv_dtype="fp8", prefix_caching=False, eager=True))
    assert asked[-4:] == ("--kv-cache-dtype", "fp8", "--no-enable-prefix-caching", "--enforce-eager")


def test_the_command_listens_on_a_socket_and_switches_reasoning_off_where_needed() -> None:
    thinks = vllm_command(plan(), Path("run/llm.sock"), python="/opt/vllm/bin/python")
    assert thinks[:3] == ("/opt/vllm/bin/python", "-m", "vllm.entrypoints.openai.api_server")
    assert thinks[3:9] == (
        "--model", "my weights/qwen3.8-27b-fp8", "--served-model-name", "llm", "--uds", "run/llm.sock",
    )  # fmt: skip
    assert not {"--host", "--port"} & set(thinks)
    assert json.loads(thinks[thinks.index("--default-chat-template-kwargs") + 1]) == {"enable_thinking": False}
    assert "--default-chat-template-kwargs" not in vllm_command(plan("qwen3-30b-a3b-2507-fp8"), Path("s"))


def test_the_shell_line_is_quoted_and_keeps_vllm_offline() -> None:
    command = vllm_command(plan(), Path("run dir/llm.sock"))
    words = shlex.split(shell_line(command))
    assert tuple(words) == (*(f"{name}={value}" for name, value in OFFLINE.items()), *command)
    assert {"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_NO_USAGE_STATS=1"} <= set(words)
