from __future__ import annotations

from pathlib import Path

import pytest

from shrag.models.encoders.gte_config import native_config
from shrag.models.encoders.weights import check_weights, stage_weights
from shrag.models.errors import WeightsRejected
from tests.support.checkpoints import original_config


def test_the_rotary_base_and_factor_are_computed_from_the_configuration_itself() -> None:
    config = original_config(hidden_size=768, num_attention_heads=12)  # as mGTE has it: heads of 64
    assert native_config(config, "GteModel")["rope_parameters"] == {
        "rope_type": "linear",
        "rope_theta": 160_000.0,
        "factor": 1.0671404006768237,
    }
    other = original_config(rope_theta=10_000, rope_scaling={"type": "ntk", "factor": 4.0})
    assert native_config(other, "GteModel")["rope_parameters"] == {
        "rope_type": "linear",
        "rope_theta": 40_000.0,
        "factor": pytest.approx(4 ** (2 / 32)),
    }
    small = original_config(hidden_size=1, num_attention_heads=1, rope_theta=0.5)  # heads of one number
    assert native_config(small, "GteModel")["rope_parameters"] == {
        "rope_type": "linear",
        "rope_theta": 4.0,
        "factor": 64,
    }
    plain = native_config(original_config(rope_scaling=None), "GteModel")["rope_parameters"]
    assert plain == {"rope_type": "linear", "rope_theta": 20_000.0, "factor": 1.0}


def test_code_references_are_removed_and_the_classs_keys_kept() -> None:
    native = native_config(original_config(), "GteForSequenceClassification")
    assert native["model_type"] == "gte"
    assert native["architectures"] == ["GteForSequenceClassification"]
    assert not {"auto_map", "rope_scaling", "rope_theta", "position_embedding_type", "torch_dtype"} & set(native)
    assert (native["hidden_size"], native["vocab_size"], native["layer_norm_eps"]) == (64, 400, 1e-12)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layer_norm_type": "rms_norm"}, "layer_norm_type 'rms_norm', only 'layer_norm'"),
        ({"position_embedding_type": "absolute"}, "position_embedding_type 'absolute'"),
        ({"logn_attention_scale": True}, "logn_attention_scale True, only False"),
        ({"rope_scaling": {"type": "dynamic", "factor": 8.0}}, "rotary embedding .*dynamic"),
        ({"rope_scaling": {"type": "ntk", "factor": 8.0, "mixed_b": 0.9}}, "without mixed_b"),
        ({"rope_scaling": {"type": "ntk", "factor": 0.5}}, "'factor': 0.5"),
        ({"rope_theta": 0.0}, "with base 0"),
        ({"hidden_size": 1, "num_attention_heads": 2}, "the rotary embedding"),
        ({"rope_scaling": {"type": "ntk"}}, "does not describe its rotary embedding .KeyError: 'factor'"),
        ({"rope_scaling": [8]}, "does not describe its rotary embedding"),
        ({"rope_theta": "many"}, "does not describe its rotary embedding"),
        ({"num_attention_heads": 0}, "does not describe its rotary embedding .ZeroDivisionError"),
    ],
)
def test_options_that_the_native_class_lacks_are_rejected(changes: dict[str, object], says: str) -> None:
    with pytest.raises(WeightsRejected, match=says):
        native_config(original_config(**changes), "GteModel")


def test_the_users_folder_is_linked_to_and_left_as_it_was(encoder_folder: Path) -> None:
    before = {path: path.read_bytes() for path in sorted(encoder_folder.rglob("*")) if path.is_file()}
    with stage_weights(check_weights("tiny", encoder_folder), "GteModel") as staged:
        assert (staged / "model.safetensors").resolve() == encoder_folder / "model.safetensors"
        assert b'"model_type":"gte"' in (staged / "config.json").read_bytes()
        assert not [path for path in staged.iterdir() if path.suffix == ".py"]
    assert not staged.exists()
    assert {path: path.read_bytes() for path in sorted(encoder_folder.rglob("*")) if path.is_file()} == before
