"""Rewrite mGTE's published configuration for the native class of transformers.

The published ``config.json`` names Python code of its own (``auto_map``), which SHRAG never runs and which fails under
transformers 5. The native class computes the same from the same weights once the rotary embedding is converted. The
authors' ``NTKScalingRotaryEmbedding`` has

    inv_freq[i] = 1 / (theta · f) ** (2i / d) / f ** (2 / d)          d: length of a head, f: the scaling's factor

This is the native type ``linear`` with base ``theta · f`` and factor ``f ** (2 / d)``. Without the factor the model
loads too, but gives other vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shrag.messages.text import Text
from shrag.models.errors import WeightsRejected

ORIGINAL = "new"
"""The ``model_type`` of the published configuration."""

NATIVE = "gte"

# Keys that the native class has under other names or does not need. These are dropped with any value...
_DROPPED = (
    "auto_map", "rope_scaling", "rope_theta", "pack_qkv", "unpad_inputs", "use_memory_efficient_attention",
    "torch_dtype", "logn_attention_clip1",
)  # fmt: skip
# ...and these only with the value that the native class implements.
_MUST_BE: Mapping[str, object] = {
    "layer_norm_type": "layer_norm",
    "position_embedding_type": "rope",
    "logn_attention_scale": False,
}


def native_config(config: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    """Convert a published configuration to the configuration of the native class ``architecture``.

    Raises :class:`WeightsRejected` for an option that the native class does not implement.
    """
    for key, value in _MUST_BE.items():
        if config.get(key, value) != value:
            raise _rejected(f"{key} {config[key]!r}", repr(value))
    rest = {key: value for key, value in config.items() if key not in {*_DROPPED, *_MUST_BE}}
    return {**rest, "model_type": NATIVE, "architectures": [architecture], "rope_parameters": _rope(config)}


def _rope(config: Mapping[str, Any]) -> dict[str, object]:
    try:
        head = int(config["hidden_size"]) // int(config["num_attention_heads"])
        theta = float(config["rope_theta"])
        scaling = config.get("rope_scaling") or {"type": "ntk", "factor": 1.0}
        kind, mixed, factor = scaling.get("type"), scaling.get("mixed_b"), float(scaling["factor"])
        if kind != "ntk" or mixed is not None or not (factor >= 1 and theta > 0 and head > 0):
            raise _rejected(
                Text("the rotary embedding {scaling!r} with base {theta:g}", scaling=dict(scaling), theta=theta),
                Text("type 'ntk' without mixed_b"),
            )
        return {"rope_type": "linear", "rope_theta": theta * factor, "factor": factor ** (2 / head)}
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise WeightsRejected(
            Text(
                "The config.json of an mGTE model does not describe its rotary embedding ({name}: {error}): "
                "copy the published one.",
                name=type(error).__name__,
                error=error,
            )
        ) from None


def _rejected(found: str, known: str) -> WeightsRejected:
    return WeightsRejected(
        Text("This mGTE model has {found}, only {known} is supported: use another model.", found=found, known=known)
    )
