from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.models.attention_layers import FullAttention
from shrag.models.errors import UnknownArchitecture, WeightsMissing
from shrag.models.language_model_profiles import find_language_model
from shrag.models.language_model_size import given_layers, read_language_model

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


def test_a_folder_says_everything_exactly(tmp_path: Path) -> None:
    model = read_language_model(write_model(tmp_path / "tiny", CONFIG))
    assert (model.name, model.weights, model.layers, model.longest) == ("tiny", 8, (FullAttention(256),) * 2, 4096)
    assert (model.weights_exact, model.layers_exact, model.quantization, model.flags) == (True, True, "", ())


def test_a_checkpoint_of_32_bits_is_loaded_with_16(tmp_path: Path) -> None:
    model = read_language_model(write_model(tmp_path / "m", {**CONFIG, "dtype": "float32"}, "F32", 16))
    assert model.weights == 8
    assert read_language_model(write_model(tmp_path / "n", CONFIG, "F32", 16)).weights == 16


def test_quantised_weights_count_as_stored_and_a_picture_model_is_kept_to_text(tmp_path: Path) -> None:
    text = {**CONFIG, "model_type": "gemma3_text", "layer_types": ["full_attention"] * 2}
    config: dict[str, object] = {
        "model_type": "gemma3",
        "text_config": text,
        "quantization_config": {"quant_method": "fp8"},
    }
    model = read_language_model(write_model(tmp_path / "m", config, "F8_E4M3", 4))
    assert (model.weights, model.quantization, model.flags) == (4, "fp8", ("--language-model-only",))


def test_a_cache_that_is_not_known_is_refused_or_given(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", {**CONFIG, "model_type": "new_thing"})
    with pytest.raises(UnknownArchitecture, match="'new_thing'"):
        read_language_model(folder)
    model = read_language_model(folder, kv_bytes_per_token=2_049)
    assert (model.layers, model.layers_exact) == ((FullAttention(1_025),), False)
    assert given_layers(2_048) == (FullAttention(1_024),)


def test_weights_of_a_profiles_name_replace_its_estimates_and_keep_what_it_knows(tmp_path: Path) -> None:
    write_model(tmp_path / "weights" / "qwen3.5-4b", CONFIG)
    model = find_language_model("qwen3.5-4b", tmp_path / "weights")
    assert (model.weights, model.weights_exact, model.thinks, model.licence) == (8, True, True, "Apache-2.0")
    write_model(tmp_path / "weights" / "own", CONFIG)
    assert find_language_model("own", tmp_path / "weights").licence == ""
    assert find_language_model(str(tmp_path / "weights" / "own"), tmp_path / "none").weights == 8


def test_a_folder_without_a_model_says_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"There is no .*config\.json: copy the whole model into"):
        read_language_model(tmp_path)
