"""Run by vLLM's own Python: its arithmetic for made-up layers, without a model. Reads and prints JSON."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any


def main() -> None:
    torch = import_module("torch")
    planner = import_module("vllm.v1.core.kv_cache_utils")
    specs = import_module("vllm.v1.kv_cache_interface")
    layouts = import_module("vllm.v1.kv_cache_layout")
    dtypes = {1: torch.float8_e4m3fn, 2: torch.bfloat16}

    def spec(case: dict[str, Any], kind: str, values: int, window: int) -> Any:  # noqa: ANN401
        if kind == "linear":
            return specs.MambaSpec(
                block_size=case["block"], shapes=((values,),), dtypes=(torch.int8,), page_size_padded=case["page"],
                mamba_cache_mode=case["mamba"],
            )  # fmt: skip
        size = {
            "block_size": case["block"],
            "num_kv_heads": 1,
            "head_size": values // 2,
            "dtype": dtypes[case["width"]],
        }
        return (
            specs.FullAttentionSpec(**size)
            if kind == "full"
            else specs.SlidingWindowSpec(**size, sliding_window=window)
        )

    answers = []
    for case in json.load(sys.stdin):
        config: Any = SimpleNamespace(
            scheduler_config=SimpleNamespace(disable_hybrid_kv_cache_manager=False),
            attention_config=SimpleNamespace(hisparse_config=None),
            parallel_config=SimpleNamespace(decode_context_parallel_size=1, prefill_context_parallel_size=1),
            model_config=SimpleNamespace(max_model_len=case["longest"]),
            speculative_config=None,
            max_in_flight_tokens=case["in_flight"],
            cache_config=SimpleNamespace(
                mamba_cache_mode=case["mamba"],
                num_gpu_blocks_override=None,
                prefix_cache_retention_interval=None,
                get_resolved_kv_cache_layout=lambda: layouts.KVCacheLayout.LBNHC,
            ),
        )
        layers = {f"layer.{place}": spec(case, *layer) for place, layer in enumerate(case["layers"])}
        groups = planner.get_kv_cache_groups(config, layers)
        planned = planner.get_kv_cache_config_from_groups(config, groups, case["pool"])
        answers.append(planner.get_kv_cache_capacity(config, planned))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
