"""Memory need of a language model, from a folder or a profile."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from shrag.models.errors import UnknownArchitecture, UnknownName, WeightsMissing
from shrag.models.memory_plan.attention_layers import FullAttention, attention_layers
from shrag.models.memory_plan.kv_cache import KvCache, KvOptions
from shrag.models.memory_plan.model_size import (
    DEFAULT_PROFILE,
    find_language_model,
    given_layers,
    load_profiles,
    profile_size,
    read_language_model,
)

HERE = Path("weights")


def test_every_profile_can_be_planned_and_marks_what_it_estimates() -> None:
    profiles = load_profiles()
    assert next(iter(profiles)) == DEFAULT_PROFILE
    for name, profile in profiles.items():
        model = profile_size(name, HERE)
        assert KvCache(model.layers).bytes_per_token > 0
        known = {*profile.config, "weights", "longest"}
        assert set(profile.estimates) <= known, name
        assert not model.weights_exact, "no profile was read from weights yet"


def test_the_profiles_whose_model_would_reason_unless_told_otherwise() -> None:
    assert {name for name in load_profiles() if profile_size(name, HERE).emits_reasoning} == {
        *("qwen3.8-27b-fp8", "qwen3.8-27b-4bit", "qwen3.6-35b-a3b-fp8"),
        *("qwen3.5-4b", "qwen3-1.7b", "qwen3-0.6b"),
    }


@pytest.mark.parametrize(
    ("name", "kib_per_token", "fixed_mib"),
    [
        ("qwen3.8-27b-fp8", 64, 146.8125),
        ("qwen3.8-27b-4bit", 64, 146.8125),
        ("qwen3-30b-a3b-2507-fp8", 96, 0),
        ("qwen3.6-35b-a3b-fp8", 20, 61.40625),
        ("kanana-2-30b-a3b-awq", 54, 0),
        ("qwen3.5-4b", 32, 49.125),
        ("qwen3-4b-2507", 144, 0),
        ("qwen3-1.7b", 112, 0),
        ("qwen3-0.6b", 112, 0),
    ],
)
def test_the_cache_of_every_profile_is_pinned(name: str, kib_per_token: int, fixed_mib: float) -> None:
    cache = KvCache(profile_size(name, HERE).layers, KvOptions(batch=2048))
    assert (cache.bytes_per_token, cache.fixed_bytes(16_384)) == (kib_per_token * 1024, fixed_mib * 2**20)


def test_all_profiles_are_pinned_above() -> None:
    assert len(load_profiles()) == 9


def test_given_cache_bytes_replace_a_profiles_layers_as_an_estimate() -> None:
    model = find_language_model("qwen3-4b-2507", HERE, kv_bytes_per_token=1_000)
    assert KvCache(model.layers).bytes_per_token == 1_000
    assert not model.layers_exact


@pytest.mark.parametrize("name", ["gpt-7", ""])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownName, match=rf"no language model '{name}': give a folder, or one of {DEFAULT_PROFILE}, "):
        find_language_model(name, HERE)


CONFIG = {
    "model_type": "qwen3", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "max_position_embeddings": 4096, "dtype": "bfloat16",
}  # fmt: skip


def write_model(folder: Path, config: dict[str, object], dtype: str = "BF16", size: int = 8) -> Path:
    """Write four weights of this type, and a configuration."""
    folder.mkdir(parents=True)
    header = json.dumps({"w": {"dtype": dtype, "shape": [4], "data_offsets": [0, size]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_folder_gives_exact_sizes(tmp_path: Path) -> None:
    model = read_language_model(write_model(tmp_path / "tiny", CONFIG))
    assert (model.name, model.weights, model.layers, model.longest) == ("tiny", 8, (FullAttention(256),) * 2, 4096)
    assert (model.weights_exact, model.layers_exact, model.quantization, model.flags) == (True, True, "", ())
    assert (model.emits_reasoning, model.has_states) == (False, False)


def test_the_profiles_with_layers_that_keep_a_state() -> None:
    assert {name for name in load_profiles() if profile_size(name, HERE).has_states} == {
        *("qwen3.8-27b-fp8", "qwen3.8-27b-4bit", "qwen3.6-35b-a3b-fp8", "qwen3.5-4b"),
    }


def test_a_checkpoint_of_32_bits_is_loaded_with_16(tmp_path: Path) -> None:
    model = read_language_model(write_model(tmp_path / "m", {**CONFIG, "dtype": "float32"}, "F32", 16))
    assert model.weights == 8
    assert read_language_model(write_model(tmp_path / "n", CONFIG, "F32", 16)).weights == 16


def test_quantised_weights_count_as_stored_and_a_multimodal_model_is_served_for_text(tmp_path: Path) -> None:
    text = {**CONFIG, "model_type": "gemma3_text", "layer_types": ["full_attention"] * 2}
    config: dict[str, object] = {
        "model_type": "gemma3",
        "text_config": text,
        "quantization_config": {"quant_method": "fp8"},
    }
    model = read_language_model(write_model(tmp_path / "m", config, "F8_E4M3", 4))
    assert (model.weights, model.quantization, model.flags) == (4, "fp8", ("--language-model-only",))


def test_an_unknown_cache_is_rejected_unless_its_bytes_are_given(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", {**CONFIG, "model_type": "new_thing"})
    with pytest.raises(UnknownArchitecture, match="'new_thing'"):
        read_language_model(folder)
    model = read_language_model(folder, kv_bytes_per_token=2_049)
    assert (model.layers, model.layers_exact) == ((FullAttention(1_025),), False)
    assert given_layers(2_048) == (FullAttention(1_024),)


def test_weights_of_a_profiles_name_replace_its_estimates_and_keep_its_flags(tmp_path: Path) -> None:
    write_model(tmp_path / "weights" / "qwen3.5-4b", CONFIG)
    model = find_language_model("qwen3.5-4b", tmp_path / "weights")
    assert (model.weights, model.weights_exact, model.emits_reasoning, model.licence) == (8, True, True, "Apache-2.0")
    write_model(tmp_path / "weights" / "own", CONFIG)
    assert find_language_model("own", tmp_path / "weights").licence == ""
    assert find_language_model(str(tmp_path / "weights" / "own"), tmp_path / "none").weights == 8


def test_a_multimodal_model_under_a_profiles_name_is_served_for_text(tmp_path: Path) -> None:
    assert not load_profiles()["qwen3-4b-2507"].flags
    write_model(
        tmp_path / "qwen3-4b-2507", {"model_type": "mistral3", "text_config": {**CONFIG, "model_type": "llama"}}
    )
    assert find_language_model("qwen3-4b-2507", tmp_path).flags == ("--language-model-only",)
    write_model(tmp_path / "qwen3.5-4b", {"model_type": "mistral3", "text_config": {**CONFIG, "model_type": "llama"}})
    assert find_language_model("qwen3.5-4b", tmp_path).flags == ("--language-model-only",)


def test_a_folder_without_a_model_is_an_error_that_lists_the_files(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"There is no .*config\.json: copy the whole model into"):
        read_language_model(tmp_path)


def test_the_models_of_the_gpu_benchmark_have_the_cache_of_their_profiles() -> None:
    shapes = Path(__file__).resolve().parents[3] / "bench" / "quality" / "random_models.toml"
    models = tomllib.loads(shapes.read_text())
    assert list(models) == ["qwen3-30b-a3b-2507-fp8", "qwen3.8-27b-fp8"]
    for name, model in models.items():
        assert attention_layers(model["config"]) == profile_size(name, HERE).layers


def test_a_profile_is_exact_where_its_values_were_read_from_the_models_files() -> None:
    exact = {name: profile_size(name, HERE).layers_exact for name in load_profiles()}
    assert (exact["qwen3-1.7b"], exact["qwen3-30b-a3b-2507-fp8"]) == (True, True)
    assert (exact["qwen3.5-4b"], exact["kanana-2-30b-a3b-awq"]) == (False, False)
    assert find_language_model("qwen3-1.7b", HERE) == profile_size("qwen3-1.7b", HERE)
    given = find_language_model("qwen3-1.7b", HERE, 2_048)
    assert (given.layers, given.layers_exact) == ((FullAttention(1_024),), False)
