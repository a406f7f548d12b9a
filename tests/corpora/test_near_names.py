from __future__ import annotations

import time

import pytest

from shrag.corpora.near_names import did_you_mean


@pytest.mark.parametrize(
    ("name", "hint"),
    [("dem", " Did you mean demo?"), ("DEMO", " Did you mean demo?"), ("sciece", " Did you mean science?"), ("x", "")],
)
def test_the_most_similar_name_is_suggested_if_one_is_similar(name: str, hint: str) -> None:
    assert did_you_mean(name, iter(["demo", "science"])) == hint


def test_a_name_of_up_to_64_characters_is_compared() -> None:
    assert did_you_mean("x" * 64, ["x" * 63]) == f" Did you mean {'x' * 63}?"
    assert did_you_mean("x" * 65, ["x" * 64]) == ""


def test_a_very_long_name_is_not_compared() -> None:
    started = time.process_time()
    assert did_you_mean("demo" * 100_000, ["demo"] * 1000) == ""
    assert time.process_time() - started < 5
