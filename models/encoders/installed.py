"""Find the encoders whose weights are installed, and the missing packages that would run them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from shrag.models.encoders.catalog import read_catalog
from shrag.models.encoders.choice import POOLING_FILE
from shrag.models.encoders.weights import find_weights
from shrag.models.errors import ModelError

PACKAGES = ("torch", "sentence_transformers", "transformers", "tokenizers")
"""The packages that run an encoder."""


def installed_encoders(home: Path) -> list[str]:
    """Return the choices of the encoders that have a folder in ``home``; the folders are not checked.

    An encoder in the catalog is given by its name. Another encoder is recognized by its pooling file and given by its
    path.
    """
    folders: dict[Path, str] = {}
    for card in read_catalog().encoders:
        try:
            folders[find_weights(card.name, card, home)] = card.name
        except ModelError:
            continue
    others = sorted(path.parent.parent for path in home.glob(f"*/{POOLING_FILE}"))
    return [*folders.values(), *(str(folder.absolute()) for folder in others if folder not in folders)]


def missing_packages() -> Sequence[str]:
    """Return the packages of :data:`PACKAGES` that are not installed, without importing any."""
    return [package for package in PACKAGES if find_spec(package) is None]
