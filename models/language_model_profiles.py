"""Language models by profile, for planning before their weights are here."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import msgspec

from shrag.models.attention_layers import attention_layers
from shrag.models.errors import UnknownName
from shrag.models.language_model_size import LanguageModelSize, given_layers, read_language_model

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
    thinks: bool = False
    estimates: tuple[str, ...] = ()


def load_profiles() -> dict[str, Profile]:
    """Return the profiles by name, in order of preference."""
    text = (files("shrag.models") / "language_models.toml").read_text(encoding="utf-8")
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
        thinks=profile.thinks,
        licence=profile.licence,
    )


def find_language_model(name: str, weights: Path, kv_bytes_per_token: int | None = None) -> LanguageModelSize:
    """Return the size of a folder, of ``weights/NAME``, or of a profile, whichever is there first.

    Weights under a profile's name are read, and keep what the profile knows besides. Raises what
    :func:`~shrag.models.language_model_size.read_language_model` does, and :class:`UnknownName`.
    """
    profile = load_profiles().get(name)
    for folder in (weights / name, Path(name)):
        if name and folder.is_dir():
            size = read_language_model(folder, kv_bytes_per_token)
            if profile is None:
                return size
            return replace(size, flags=profile.flags, thinks=profile.thinks, licence=profile.licence)
    size = profile_size(name, weights)
    if kv_bytes_per_token is None:
        return size
    return replace(size, layers=given_layers(kv_bytes_per_token), layers_exact=False)
