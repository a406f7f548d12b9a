"""Every example in a docstring of the product runs and gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _examples() -> dict[str, int]:
    """Return the product's modules with ``>>>`` in them, and how often each has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    counts = {
        package if file.stem == "__init__" else f"{package}.{file.stem}": file.read_text(encoding="utf-8").count(">>> ")
        for package, folder in project["tool"]["setuptools"]["package-dir"].items()
        for file in sorted((ROOT / folder).glob("*.py"))
    }
    return {module: count for module, count in counts.items() if count}


EXAMPLES = _examples()


@pytest.mark.parametrize("module", EXAMPLES)
def test_every_example_in_a_docstring_gives_what_it_shows(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module))
    # Fewer were tried where an example stands in a string that is no docstring.
    assert (results.attempted, results.failed) == (EXAMPLES[module], 0)
