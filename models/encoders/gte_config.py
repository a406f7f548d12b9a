"""Rewrite mGTE's published configuration for the native class of transformers.

The published ``config.json`` asks for code of its own (``auto_map``), which SHRAG never runs and which is broken under
transformers 5. Weights and arithmetic are the same in the native class once the rotary embedding is: the authors'
``NTKScalingRotaryEmbedding`` has

    inv_freq[i] = 1 / (theta · f) ** (2i / d) / f ** (2 / d)          d: length of a head, f: the scaling's factor

which natively is the ``linear`` type with base ``theta · f`` and factor ``f ** (2 / d)``. With base ``theta · f``
alone it also loads, without a word, and gives other vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shrag.models.errors import WeightsRejected

ORIGINAL = "new"
"""The ``model_type`` of the published configuration."""

NATIVE = "gte"

# What the native class knows under other names or always does. Dropped whatever it says...
_DROPPED = (
    "auto_map", "rope_scaling", "rope_theta", "pack_qkv", "unpad_inputs", "use_memory_efficient_attention",
    "torch_dtype", "logn_attention_clip1",
)  # fmt: skip
# ...or only where it says what the native class does.
_MUST_BE: Mapping[str, object] = {
    "layer_norm_type": "layer_norm",
    "position_embedding_type": "rope",
    "logn_attention_scale": False,
}


def native_config(config: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    """Return the native configuration of a published one, for one of the native classes.

    Raises :class:`WeightsRejected` for what the native class does not compute.
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
            raise _rejected(f"the rotary embedding {dict(scaling)!r} with base {theta:g}", "type 'ntk' without mixed_b")
        return {"rope_type": "linear", "rope_theta": theta * factor, "factor": factor ** (2 / head)}
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise WeightsRejected(
            "The config.json of an mGTE model does not describe its rotary embedding "
            f"({type(error).__name__}: {error}): carry over the published one."
        ) from None


def _rejected(found: str, known: str) -> WeightsRejected:
    return WeightsRejected(f"This mGTE model has {found}, and only {known} is known to compute the same: use another.")
