from __future__ import annotations

from pathlib import Path

import pytest

from shrag.models.errors import UnknownName
from shrag.models.kv_cache import KvCache, KvOptions
from shrag.models.language_model_profiles import DEFAULT_PROFILE, find_language_model, load_profiles, profile_size

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


def test_a_profile_may_be_given_its_cache_which_is_then_no_longer_its_own() -> None:
    model = find_language_model("qwen3-4b-2507", HERE, kv_bytes_per_token=1_000)
    assert KvCache(model.layers).bytes_per_token == 1_000
    assert not model.layers_exact


@pytest.mark.parametrize("name", ["gpt-7", ""])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownName, match=rf"no language model '{name}': give a folder, or one of {DEFAULT_PROFILE}, "):
        find_language_model(name, HERE)
