from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.models.errors import UnknownArchitecture, WeightsMissing, WeightsRejected
from shrag.models.memory_plan.attention_layers import (
    FullAttention,
    LinearAttention,
    SlidingAttention,
    attention_layers,
    longest_context,
    read_config,
)

QWEN3 = {
    "model_type": "qwen3",
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
}
DELTA = {
    "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
    "linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "mamba_ssm_dtype": "float32",
}  # fmt: skip


def test_grouped_query_attention_keeps_keys_and_values_of_its_few_heads() -> None:
    assert attention_layers(QWEN3) == (FullAttention(2 * 2 * 64),) * 4


def test_without_head_dim_a_head_has_its_share_of_the_hidden_size() -> None:
    config = {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 8, "hidden_size": 1024}
    assert attention_layers(config) == (FullAttention(2 * 8 * 128),)
    assert attention_layers({**config, "head_dim": None, "num_key_value_heads": None}) == (FullAttention(2 * 8 * 128),)


@pytest.mark.parametrize("missing", ["head_dim", "num_key_value_heads"])
def test_a_missing_number_with_an_unknown_default_is_rejected(missing: str) -> None:
    config = {key: value for key, value in QWEN3.items() if key != missing}
    with pytest.raises(UnknownArchitecture, match=f"{missing} is None"):
        attention_layers(config)


def test_latent_attention_keeps_one_vector_for_keys_and_values() -> None:
    config = {"model_type": "deepseek_v3", "num_hidden_layers": 2, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    assert attention_layers(config) == (FullAttention(576),) * 2


def test_exaone_3_has_its_own_name_for_the_number_of_layers() -> None:
    config = {
        "model_type": "exaone", "num_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "hidden_size": 4096,
    }  # fmt: skip
    assert attention_layers(config) == (FullAttention(2 * 8 * 128),) * 32


def test_layer_types_tell_which_layers_have_windows() -> None:
    config = {
        **QWEN3,
        "model_type": "exaone4",
        "sliding_window": 256,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
    }
    assert attention_layers(config) == (SlidingAttention(256, 256), FullAttention(256)) * 2


def test_global_layers_may_have_heads_of_their_own() -> None:
    config = {
        "model_type": "gemma4",
        "text_config": {
            "num_hidden_layers": 2, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256,
            "num_global_key_value_heads": 4, "global_head_dim": 512, "sliding_window": 1024,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    }  # fmt: skip
    assert attention_layers(config) == (SlidingAttention(8192, 1024), FullAttention(4096))


def test_the_last_shared_layers_keep_nothing() -> None:
    types = ["full_attention", "sliding_attention", "full_attention", "sliding_attention"]
    config = {**QWEN3, "model_type": "gemma3n_text", "sliding_window": 8, "layer_types": types}
    assert len(attention_layers({**config, "num_kv_shared_layers": 0})) == 4
    assert attention_layers({**config, "num_kv_shared_layers": 3}) == (FullAttention(256),)
    with pytest.raises(UnknownArchitecture, match="num_kv_shared_layers is 4 of 4 layers"):
        attention_layers({**config, "num_kv_shared_layers": 4})


def test_delta_net_layers_keep_a_state_and_a_convolution_and_every_fourth_attends() -> None:
    full, state = FullAttention(2 * 4 * 256), LinearAttention(48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2)
    assert attention_layers({"model_type": "qwen3_5", "text_config": DELTA}) == (state, state, state, full) * 2
    assert attention_layers({"model_type": "qwen3_next", **DELTA, "full_attention_interval": 2}) == (state, full) * 4
    types = ["linear_attention"] * 7 + ["full_attention"]
    assert attention_layers({"model_type": "qwen3_next", **DELTA, "layer_types": types}) == (*(state,) * 7, full)


@pytest.mark.parametrize(("dtype", "width"), [("float32", 4), ("bfloat16", 2), ("float16", 2), (None, 2)])
def test_a_state_is_as_wide_as_the_configuration_says_else_as_the_model(dtype: str | None, width: int) -> None:
    config = {"model_type": "qwen3_5_text", **DELTA, "mamba_ssm_dtype": dtype}
    assert attention_layers(config)[0] == LinearAttention(48 * 128 * 128 * width + 61_440)


def test_an_unknown_width_of_a_state_is_refused_with_the_known_ones() -> None:
    config = {"model_type": "qwen3_5_text", **DELTA, "mamba_ssm_dtype": "float8"}
    with pytest.raises(UnknownArchitecture, match="is 'float8', known are float32, bfloat16, float16: give the bytes"):
        attention_layers(config)


def test_a_state_and_an_attention_of_equal_numbers_are_not_the_same_kind() -> None:
    assert len({FullAttention(8), LinearAttention(8)}) == 2


@pytest.mark.parametrize(
    ("changes", "window"),
    [
        ({"sliding_window": 4096, "use_sliding_window": False}, None),
        ({"sliding_window": 4096}, None),
        ({"sliding_window": None}, None),
        ({"model_type": "mistral", "sliding_window": None}, None),
        ({"model_type": "mistral", "sliding_window": 4096}, 4096),
        ({"model_type": "llama", "sliding_window": 0}, None),
    ],
)
def test_a_window_without_layer_types_is_everywhere_or_nowhere(changes: dict[str, object], window: int | None) -> None:
    layer = FullAttention(256) if window is None else SlidingAttention(256, window)
    assert attention_layers({**QWEN3, **changes}) == (layer,) * 4


@pytest.mark.parametrize(
    "changes",
    [
        {"sliding_window": 512, "use_sliding_window": True},
        {"model_type": "llama", "sliding_window": 512},
        {"model_type": "mistral"},
        {"model_type": "exaone4", "sliding_window": 256},
        {"model_type": "gemma3_text"},
    ],
)
def test_a_window_without_known_layers_is_rejected(changes: dict[str, object]) -> None:
    with pytest.raises(
        UnknownArchitecture,
        match=r"has no layer_types that say which layers have a sliding window: "
        r".*--kv-bytes-per-token",
    ):
        attention_layers({**QWEN3, **changes})


def test_global_heads_of_gemma_4_count_only_where_keys_are_values() -> None:
    config = {
        **QWEN3, "model_type": "gemma4_text", "global_head_dim": 128, "num_global_key_value_heads": 1,
        "layer_types": ["full_attention"] * 4,
    }  # fmt: skip
    assert attention_layers(config)[0] == FullAttention(2 * 1 * 128)
    assert attention_layers({**config, "attention_k_eq_v": False})[0] == FullAttention(2 * 2 * 128)
    assert attention_layers({**config, "num_global_key_value_heads": None})[0] == FullAttention(2 * 2 * 128)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "model type 'None'"),
        ({"model_type": "mamba2", "num_hidden_layers": 4}, "The KV cache of model type 'mamba2' is not known"),
        ({**QWEN3, "num_hidden_layers": None}, "num_hidden_layers is None, a positive whole number is needed"),
        ({**QWEN3, "num_hidden_layers": True}, "num_hidden_layers is True"),
        ({**QWEN3, "num_hidden_layers": -4}, "num_hidden_layers is -4"),
        ({**QWEN3, "num_hidden_layers": 10**30}, "num_hidden_layers is 1000"),
        ({**QWEN3, "head_dim": "64"}, "head_dim is '64', a positive"),
        ({**QWEN3, "head_dim": -1}, "head_dim is -1, a positive"),
        ({**QWEN3, "layer_types": ["full_attention"]}, "layer_types has 1 entries for 4 layers"),
        ({**QWEN3, "layer_types": ["full_attention"] * 3 + ["mamba"]}, "layer_types has 'mamba', known are"),
        ({**QWEN3, "layer_types": ["sliding_attention"] * 4}, "sliding_window is None"),
        (
            {**QWEN3, "model_type": "gemma3n_text", "layer_types": ["full_attention"] * 4},
            "num_kv_shared_layers is None",
        ),
        ({"model_type": "qwen3_5", "text_config": {**DELTA, "mamba_ssm_dtype": "fp8"}}, "mamba_ssm_dtype is 'fp8'"),
        ({"model_type": "qwen3_5", "text_config": {**DELTA, "mamba_ssm_dtype": []}}, "mamba_ssm_dtype is []"),
        ({**QWEN3, "per_layer_config": {}}, "has a per_layer_config, which is not supported"),
        ({**QWEN3, "model_type": "qwen3_next"}, "linear_num_key_heads is None"),
        ({**QWEN3, "num_hidden_layers": 2**30}, "num_hidden_layers is 1073741824, at most 10000 are accepted"),
    ],
)
def test_unknown_configurations_are_rejected_with_the_option_to_give(config: dict[str, object], says: str) -> None:
    with pytest.raises(UnknownArchitecture) as caught:
        attention_layers(config)
    assert says in str(caught.value)
    assert "--kv-bytes-per-token" in str(caught.value)


def test_the_context_length_is_that_of_the_text_model() -> None:
    assert longest_context({"max_position_embeddings": 4096}) == 4096
    assert longest_context({"text_config": {"max_position_embeddings": 8192}, "max_position_embeddings": 1}) == 8192
    assert longest_context({}) is None
    assert longest_context({"max_position_embeddings": "long"}) is None


def test_an_invalid_configuration_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"There is no .*config\.json"):
        read_config(tmp_path)
    for text in ("", "[1]", '{"a":', "[" * 100_000):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(WeightsRejected, match=r"config\.json is not a"):
            read_config(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(QWEN3))
    assert read_config(tmp_path) == QWEN3
