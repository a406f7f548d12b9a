"""What a memory plan needs to know of a language model, read from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shrag.models.attention_layers import (
    FullAttention,
    Layer,
    LinearAttention,
    attention_layers,
    longest_context,
    read_config,
)
from shrag.models.safetensors_header import read_folder


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
    thinks: bool = False
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
