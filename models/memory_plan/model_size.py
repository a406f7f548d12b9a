"""Memory a language model needs: from its folder, or from a profile."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import msgspec

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
    """A language model as memory.

    ``path`` is what vLLM is told to load; ``weights`` are bytes; ``longest`` is the context it was made for, None where
    that is not known. ``weights_exact`` and ``layers_exact`` say whether they were read from the model's own files.
    ``flags`` are vLLM options that the model needs; ``thinks`` that it must be told not to.
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
        """Whether layers keep a recurrent state: what prefix caching doubles and seldom helps."""
        return any(isinstance(layer, LinearAttention) for layer in self.layers)


def read_language_model(folder: Path, kv_bytes_per_token: int | None = None) -> LanguageModelSize:
    """Read a folder's headers and configuration.

    ``kv_bytes_per_token`` (in 16 bits) stands in for a configuration whose cache is not known. Raises
    ``WeightsMissing``, ``WeightsRejected`` and ``UnknownArchitecture``.
    """
    config = read_config(folder)
    sizes = read_folder(folder)
    layers = attention_layers(config) if kv_bytes_per_token is None else given_layers(kv_bytes_per_token)
    wraps = isinstance(config.get("text_config"), dict)
    return LanguageModelSize(
        name=folder.resolve().name,
        path=str(folder),
        # vLLM loads a checkpoint of 32 bits with 16.
        weights=sizes.in_half_precision() if _dtype(config) == "float32" else sizes.total,
        layers=layers,
        longest=longest_context(config),
        weights_exact=True,
        layers_exact=kv_bytes_per_token is None,
        quantization=_quantization(config),
        flags=("--language-model-only",) if wraps else (),
    )


def given_layers(kv_bytes_per_token: int) -> tuple[Layer, ...]:
    """Return a stand-in for a model's layers that keeps so many bytes a token in 16 bits."""
    return (FullAttention(-(-kv_bytes_per_token // 2)),)


def _dtype(config: dict[str, object]) -> object:
    return config.get("dtype") or config.get("torch_dtype")


def _quantization(config: dict[str, object]) -> str:
    settings = config.get("quantization_config")
    return str(settings.get("quant_method", "unknown")) if isinstance(settings, dict) else ""


DEFAULT_PROFILE = "qwen3.8-27b-fp8"


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of ``language_models.toml``, where the fields are explained."""

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
    """Return what a profile takes, its path where ``weights`` would hold it; raises :class:`UnknownName`."""
    profiles = load_profiles()
    if name not in profiles:
        raise UnknownName(f"There is no language model {name!r}: give a folder, or one of {', '.join(profiles)}.")
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
    """Return the size of a folder, of ``weights/NAME``, or of a profile, whichever is there first.

    Weights under a profile's name are read, and keep what the profile knows besides. Raises what
    :func:`~shrag.models.memory_plan.model_size.read_language_model` does, and :class:`UnknownName`.
    """
    profile = load_profiles().get(name)
    for folder in (weights / name, Path(name)):
        if name and folder.is_dir():
            size = read_language_model(folder, kv_bytes_per_token)
            if profile is None:
                return size
            return replace(size, flags=profile.flags, emits_reasoning=profile.emits_reasoning, licence=profile.licence)
    size = profile_size(name, weights)
    if kv_bytes_per_token is None:
        return size
    return replace(size, layers=given_layers(kv_bytes_per_token), layers_exact=False)
