"""Run by vLLM's own Python: its arithmetic for made-up layers, without a model. Reads and prints JSON."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from importlib import import_module
from types import SimpleNamespace
from typing import Any


def block_for(state: int, values: int, width: int, block: int) -> int:
    """Return the tokens of a block that vLLM chooses for a state of so many bytes beside attention of ``values``."""
    interface = import_module("vllm.platforms.interface")
    attention = import_module("vllm.v1.attention.backend")
    specs = import_module("vllm.v1.kv_cache_interface")
    torch = import_module("torch")

    class Backend:
        @staticmethod
        def customize_spec(spec: object) -> object:
            return spec

        @staticmethod
        def get_supported_kernel_block_sizes() -> list[object]:
            return [attention.MultipleOf(16)]

    class Model:
        @staticmethod
        def get_mamba_specs_from_config(_: object) -> list[object]:
            return [specs.MambaSpec(block_size=-1, shapes=((state,),), dtypes=(torch.int8,))]

    registry = SimpleNamespace(resolve_model_cls=lambda *_, **__: (Model, None))
    vars(import_module("vllm.model_executor.models")).update(ModelRegistry=registry)
    vars(import_module("vllm.config.vllm")).update(set_current_vllm_config=lambda _: nullcontext())
    interface.Platform._find_non_ssm_backends = classmethod(lambda *_: [Backend])
    cache = SimpleNamespace(
        cache_dtype="auto" if width == 2 else "fp8", block_size=block, mamba_cache_mode="none", mamba_block_size=None,
        mamba_page_size_padded=None, kv_cache_dtype_skip_layers=[],
    )  # fmt: skip
    model = SimpleNamespace(
        dtype=torch.bfloat16, use_mla=False, architecture="made up", get_num_kv_heads=lambda _: 1,
        get_head_size=lambda: values // 2,
    )  # fmt: skip
    interface.Platform._align_hybrid_block_size(
        SimpleNamespace(cache_config=cache, model_config=model, parallel_config=None), Backend
    )
    chosen: int = cache.block_size
    return chosen


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
        state = max((values for kind, values, _ in case["layers"] if kind == "linear"), default=0)
        if state:
            widest = max(values for kind, values, _ in case["layers"] if kind != "linear")
            case["block"] = block_for(state, widest, case["width"], case["block"])
            case["page"] = case["block"] * widest * case["width"]
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
