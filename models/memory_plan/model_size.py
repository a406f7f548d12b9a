"""The memory need of a language model, from its folder or a built-in profile."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import msgspec

from shrag.messages.text import Text
from shrag.models.encoders.safetensors_header import read_folder
from shrag.models.errors import UnknownName
from shrag.models.memory_plan.attention_layers import (
    FullAttention,
    Layer,
    LinearAttention,
    attention_layers,
    longest_context,
    read_config,
)


@dataclass(frozen=True, slots=True)
class LanguageModelSize:
    """The memory need of a language model.

    ``path`` is the folder that vLLM loads. ``weights`` are bytes. ``longest`` is the model's context length in tokens,
    None if not known. ``weights_exact`` and ``layers_exact`` say whether ``weights`` and ``layers`` come from the
    model's own files. ``flags`` are vLLM options that the model needs. ``emits_reasoning`` is true if reasoning must be
    switched off.
    """

    name: str
    path: str
    weights: int
    layers: tuple[Layer, ...]
    longest: int | None
    weights_exact: bool
    layers_exact: bool
    quantization: str = ""
    flags: tuple[str, ...] = ()
    emits_reasoning: bool = False
    licence: str = ""

    @property
    def has_states(self) -> bool:
        """Whether layers have a recurrent state; prefix caching doubles the state and rarely helps."""
        return any(isinstance(layer, LinearAttention) for layer in self.layers)


def read_language_model(folder: Path, kv_bytes_per_token: int | None = None) -> LanguageModelSize:
    """Read a model's size from the safetensors headers and the configuration in its folder.

    ``kv_bytes_per_token`` is the cache of one token in bytes, with 16 bits per number. It is needed for an architecture
    that SHRAG does not know, which otherwise raises :class:`UnknownArchitecture`. Missing and damaged files raise other
    kinds of ``ModelError``.
    """
    config = read_config(folder)
    sizes = read_folder(folder)
    layers = attention_layers(config) if kv_bytes_per_token is None else given_layers(kv_bytes_per_token)
    wraps = isinstance(config.get("text_config"), dict)
    return LanguageModelSize(
        name=folder.resolve().name,
        path=str(folder),
        # vLLM loads 32-bit checkpoints as 16 bits.
        weights=sizes.in_half_precision() if _dtype(config) == "float32" else sizes.total,
        layers=layers,
        longest=longest_context(config),
        weights_exact=True,
        layers_exact=kv_bytes_per_token is None,
        quantization=_quantization(config),
        flags=("--language-model-only",) if wraps else (),
    )


def given_layers(kv_bytes_per_token: int) -> tuple[Layer, ...]:
    """Return one full-attention layer that stands for all layers of a model with this cache need in 16 bits."""
    return (FullAttention(-(-kv_bytes_per_token // 2)),)


def _dtype(config: dict[str, object]) -> object:
    return config.get("dtype") or config.get("torch_dtype")


def _quantization(config: dict[str, object]) -> str:
    settings = config.get("quantization_config")
    return str(settings.get("quant_method", "unknown")) if isinstance(settings, dict) else ""


DEFAULT_PROFILE = "qwen3.8-27b-fp8"


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of ``language_models.toml``; that file explains the fields."""

    repository: str
    purpose: str
    licence: str
    weights: int
    quantization: str
    longest: int
    config: dict[str, object]
    flags: tuple[str, ...] = ()
    emits_reasoning: bool = False
    estimates: tuple[str, ...] = ()


def load_profiles() -> dict[str, Profile]:
    """Return the profiles by name, in order of preference."""
    text = (files("shrag.models.memory_plan") / "language_models.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Profile])


def profile_size(name: str, weights: Path) -> LanguageModelSize:
    """Return the size of a profile's model with its path below ``weights``; raises :class:`UnknownName`."""
    profiles = load_profiles()
    if name not in profiles:
        raise UnknownName(
            Text(
                "There is no language model {name!r}: give a folder, or one of {profiles}.",
                name=name,
                profiles=", ".join(profiles),
            )
        )
    profile = profiles[name]
    return LanguageModelSize(
        name=name,
        path=str(weights / name),
        weights=profile.weights,
        layers=attention_layers(profile.config),
        longest=profile.longest,
        weights_exact="weights" not in profile.estimates,
        layers_exact=not set(profile.config) & set(profile.estimates),
        quantization=profile.quantization,
        flags=profile.flags,
        emits_reasoning=profile.emits_reasoning,
        licence=profile.licence,
    )


def find_language_model(name: str, weights: Path, kv_bytes_per_token: int | None = None) -> LanguageModelSize:
    """Return the size of ``weights/NAME``, of the folder NAME, or of the profile NAME; else raise ``UnknownName``.

    If there are weights under a profile's name, their size is read, and the profile only adds its flags and license.
    """
    profile = load_profiles().get(name)
    for folder in (weights / name, Path(name)):
        if name and folder.is_dir():
            size = read_language_model(folder, kv_bytes_per_token)
            if profile is None:
                return size
            flags = tuple(dict.fromkeys((*size.flags, *profile.flags)))
            return replace(size, flags=flags, emits_reasoning=profile.emits_reasoning, licence=profile.licence)
    size = profile_size(name, weights)
    if kv_bytes_per_token is None:
        return size
    return replace(size, layers=given_layers(kv_bytes_per_token), layers_exact=False)
