"""Compute the KV cache need of each layer of a language model from its ``config.json``.

The keys are those of Hugging Face configurations. They are interpreted as in the model files of vLLM 0.32, which
allocates the cache. Unknown layer types, and model types that were not checked there, are rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec

from shrag.messages.text import Text
from shrag.models.errors import UnknownArchitecture, WeightsMissing, WeightsRejected

CONFIG_FILE = "config.json"

HEAD_GROUPS = frozenset(
    "exaone exaone4 gemma3_text gemma3n_text gemma4_text llama mistral qwen2 qwen2_moe qwen3 qwen3_moe "
    "qwen3_5_text qwen3_5_moe_text qwen3_next".split()
)
"""Model types with grouped-query attention: plain, with sliding windows, or mixed with Gated DeltaNet."""

LATENT = frozenset(("deepseek_v2", "deepseek_v3"))
"""Model types with multi-head latent attention."""

# In these types the width of a head without head_dim is hidden_size / heads; others have a default of their own.
_EQUAL_SHARES = frozenset(("exaone", "llama", "mistral", "qwen2", "qwen2_moe"))
_DELTA = frozenset(("qwen3_5_text", "qwen3_5_moe_text", "qwen3_next"))
# Types with full and sliding layers in a pattern that only `layer_types` gives.
_PATTERNED = frozenset(("exaone4", "gemma3_text", "gemma3n_text", "gemma4_text"))

_WRAPPED = {"gemma3": "gemma3_text", "gemma3n": "gemma3n_text", "gemma4": "gemma4_text"} | {
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "exaone4_5": "exaone4",
    "mistral3": "mistral",
}
"""Multimodal model types → the type of their text model, whose configuration is in ``text_config``."""

# The bytes of one number of a recurrent state, by `mamba_ssm_dtype`.
_STATE_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}

# Far more than any model has; this limits the length of the result for a hostile configuration.
_MAX_LAYERS = 10_000

_WAY_OUT = Text("give the bytes its cache takes for one token yourself, with --kv-bytes-per-token")


@dataclass(frozen=True, slots=True)
class FullAttention:
    """A layer that stores ``values`` numbers for every token, counting keys and values together."""

    values: int


@dataclass(frozen=True, slots=True)
class SlidingAttention:
    """A layer that stores ``values`` numbers for each of the last ``window`` tokens."""

    values: int
    window: int


@dataclass(frozen=True, slots=True)
class LinearAttention:
    """A layer that stores a state of ``state_bytes`` bytes for a sequence of any length."""

    state_bytes: int


Layer = FullAttention | SlidingAttention | LinearAttention


def read_config(folder: Path) -> dict[str, object]:
    """Return ``config.json`` of a weights folder; raises :class:`WeightsMissing` and :class:`WeightsRejected`."""
    path = folder / CONFIG_FILE
    try:
        config = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise WeightsMissing(
            Text("There is no {path}: copy the whole model into {folder}.", path=path, folder=folder)
        ) from None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsRejected(
            Text("{path} is not a model's configuration ({error}): copy it again.", path=path, error=error)
        ) from None
    if not isinstance(config, dict):
        raise WeightsRejected(Text("{path} is not a JSON object: copy it again.", path=path))
    return config


def longest_context(config: Mapping[str, object]) -> int | None:
    """Return the model's context length in tokens, or None if its configuration does not give it."""
    longest = _text_config(config).get("max_position_embeddings")
    return longest if type(longest) is int and longest > 0 else None


def attention_layers(config: Mapping[str, object]) -> tuple[Layer, ...]:
    """Return the cache need of each layer in order; raise :class:`UnknownArchitecture` if it is not known.

    - Grouped-query attention stores ``2 × kv heads × head dimension`` values per token. Full attention of Gemma 4 has
      its own heads (``num_global_key_value_heads``, ``global_head_dim``).
    - Latent attention stores ``kv_lora_rank + qk_rope_head_dim`` values per token, which serve as keys and values
      (arXiv 2405.04434).
    - Gated DeltaNet (arXiv 2412.06464) stores ``Hv × Dv × Dk`` numbers of state, and ``(2 × Hk × Dk + Hv × Dv) ×
      (kernel - 1)`` numbers of 16 bits for its convolution.
    - The last ``num_kv_shared_layers`` layers use the cache of earlier layers and are left out.
    """
    text = _text_config(config)
    kind = str(text.get("model_type"))
    if kind not in HEAD_GROUPS | LATENT:
        known = ", ".join(sorted(HEAD_GROUPS | LATENT))
        raise UnknownArchitecture(
            Text(
                "The KV cache of model type {kind!r} is not known (known: {known}): {way_out}.",
                kind=kind,
                known=known,
                way_out=_WAY_OUT,
            )
        )
    # EXAONE 3 and 3.5 have a name of their own for the number of layers.
    count = _number(text, "num_layers" if kind == "exaone" and "num_layers" in text else "num_hidden_layers")
    if count > _MAX_LAYERS:
        raise UnknownArchitecture(
            Text(
                "num_hidden_layers is {count}, at most {max_layers} are accepted: {way_out}.",
                count=count,
                max_layers=_MAX_LAYERS,
                way_out=_WAY_OUT,
            )
        )
    if kind in LATENT:
        return (FullAttention(_number(text, "kv_lora_rank") + _number(text, "qk_rope_head_dim")),) * count
    if "per_layer_config" in text:
        raise UnknownArchitecture(
            Text("The configuration has a per_layer_config, which is not supported: {way_out}.", way_out=_WAY_OUT)
        )
    types = _layer_types(text, count)
    shared = _number(text, "num_kv_shared_layers", None if kind == "gemma3n_text" else 0)
    if shared >= count:
        raise UnknownArchitecture(
            Text(
                "num_kv_shared_layers is {shared} of {count} layers, which leaves none: {way_out}.",
                shared=shared,
                count=count,
                way_out=_WAY_OUT,
            )
        )
    makers: dict[str, Callable[[Mapping[str, object]], Layer]] = {
        "full_attention": _full,
        "sliding_attention": _sliding,
        "linear_attention": _linear,
    }
    unknown = [name for name in types if name not in makers]
    if unknown:
        raise UnknownArchitecture(
            Text(
                "layer_types has {unknown!r}, known are {makers}: {way_out}.",
                unknown=unknown[0],
                makers=", ".join(makers),
                way_out=_WAY_OUT,
            )
        )
    layer_of = {name: makers[name](text) for name in dict.fromkeys(types)}
    return tuple(layer_of[name] for name in types[: count - shared])


def _text_config(config: Mapping[str, object]) -> Mapping[str, object]:
    """Return the configuration of the text model, with its model type."""
    inner = config.get("text_config")
    if not isinstance(inner, dict):
        return config
    outer = str(config.get("model_type"))
    return {"model_type": _WRAPPED.get(outer, outer), **cast("dict[str, object]", inner)}


def _layer_types(text: Mapping[str, object], count: int) -> list[str]:
    types = text.get("layer_types")
    if isinstance(types, list):
        if len(types) != count:
            raise UnknownArchitecture(
                Text(
                    "layer_types has {types_count} entries for {count} layers: {way_out}.",
                    types_count=len(types),
                    count=count,
                    way_out=_WAY_OUT,
                )
            )
        return [str(name) for name in types]
    kind, window = str(text["model_type"]), text.get("sliding_window")
    if kind in _DELTA:
        interval = _number(text, "full_attention_interval", 4)
        return ["linear_attention" if (number + 1) % interval else "full_attention" for number in range(count)]
    if kind == "mistral" and window:
        return ["sliding_attention"] * count
    if kind == "mistral":
        slides_nowhere = "sliding_window" in text  # without the key, the default of transformers applies, 4,096
    elif kind.startswith("qwen"):
        slides_nowhere = text.get("use_sliding_window", False) is False
    else:
        slides_nowhere = not window and kind not in _PATTERNED
    if not slides_nowhere:
        raise UnknownArchitecture(
            Text(
                "The {kind} configuration has no layer_types that say which layers have a sliding window: {way_out}.",
                kind=kind,
                way_out=_WAY_OUT,
            )
        )
    return ["full_attention"] * count


def _full(text: Mapping[str, object]) -> FullAttention:
    heads, width = _heads(text)
    if text["model_type"] == "gemma4_text":
        width = _number(text, "global_head_dim")
        if text.get("attention_k_eq_v", True):
            heads = _number(text, "num_global_key_value_heads", heads)
    return FullAttention(2 * heads * width)


def _sliding(text: Mapping[str, object]) -> SlidingAttention:
    heads, width = _heads(text)
    return SlidingAttention(2 * heads * width, _number(text, "sliding_window"))


def _linear(text: Mapping[str, object]) -> LinearAttention:
    keys, values = _number(text, "linear_num_key_heads"), _number(text, "linear_num_value_heads")
    key_width, value_width = _number(text, "linear_key_head_dim"), _number(text, "linear_value_head_dim")
    channels = 2 * keys * key_width + values * value_width
    convolution = channels * (_number(text, "linear_conv_kernel_dim", 4) - 1) * 2
    # Without the key, vLLM stores the state in the model's own 16-bit type.
    dtype = _text_or_none(text, "mamba_ssm_dtype")
    width = 2 if dtype is None else _STATE_WIDTHS.get(dtype)
    if width is None:
        raise UnknownArchitecture(
            Text(
                "mamba_ssm_dtype is {found!r}, known are {known}: {way_out}.",
                found=text["mamba_ssm_dtype"],
                known=", ".join(_STATE_WIDTHS),
                way_out=_WAY_OUT,
            )
        )
    return LinearAttention(values * value_width * key_width * width + convolution)


def _text_or_none(text: Mapping[str, object], key: str) -> str | None:
    value = text.get(key)
    return None if value is None else str(value)


def _heads(text: Mapping[str, object]) -> tuple[int, int]:
    """Return the number of key-value heads and the width of one head."""
    heads = _number(text, "num_attention_heads")
    kind = text["model_type"]
    if text.get("head_dim") is None and kind in _EQUAL_SHARES:
        width = _number(text, "hidden_size") // heads
    else:
        width = _number(text, "head_dim")
    # Without the key, most types have a default that differs from num_attention_heads.
    return _number(
        text, "num_key_value_heads", heads if "num_key_value_heads" in text or kind == "llama" else None
    ), width


def _number(text: Mapping[str, object], key: str, default: int | None = None) -> int:
    """Return the positive whole number at ``key``; a ``default`` that is not None replaces a missing or null value."""
    value = text.get(key)
    if value is None and default is not None:
        return default
    least = 0 if key == "num_kv_shared_layers" else 1
    if type(value) is not int or not least <= value < 2**31:
        raise UnknownArchitecture(
            Text(
                "The configuration's {key} is {value!r}, a positive whole number is needed: {way_out}.",
                key=key,
                value=value,
                way_out=_WAY_OUT,
            )
        )
    return value
