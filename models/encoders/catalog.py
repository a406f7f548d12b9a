"""The catalog of the encoders and re-rankers that are known by name, read from ``catalog.toml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

Pooling = Literal["cls", "mean"]
"""How the vector of a text is made of the vectors of its tokens: the first vector, or the mean."""

_CATALOG = Path(__file__).with_name("catalog.toml")


class CardFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The size and SHA-256 of a file at the card's revision; None if not known."""

    bytes: int | None = None
    sha256: str | None = None


class Golden(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cosines between a question and passages, computed with the published weights at full dimension."""

    question: str
    passages: tuple[str, ...]
    cosines: tuple[float, ...]


class ModelCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of encoder and re-ranker cards; None or empty if not known.

    ``parameters`` is the number of parameters, computed from the architecture. ``files`` describes files by their names
    in the model's folder.
    """

    name: str
    short: str = ""
    repository: str = ""
    revision: str | None = None
    licence: str = "unknown"
    parameters: int | None = None
    max_tokens: int
    files: dict[str, CardFile] = {}

    @property
    def weight_bytes(self) -> int | None:
        """The bytes of the weights in half precision, None if not known."""
        return None if self.parameters is None else 2 * self.parameters


class EncoderCard(ModelCard, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The card of an encoder.

    ``dimension`` is the length of its vectors. ``min_dimension`` is the shortest length that they may be cut to, None
    if the model was not trained for that. The prefixes are put before each text exactly as written.
    """

    dimension: int
    min_dimension: int | None = None
    pooling: Pooling
    query_prefix: str = ""
    passage_prefix: str = ""
    golden: Golden | None = None


class RerankerCard(ModelCard, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The card of a cross-encoder, which gives one score to a question and a passage together."""


_Card = TypeVar("_Card", EncoderCard, RerankerCard)


class Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All cards; the first of each kind is the default."""

    encoders: tuple[EncoderCard, ...]
    rerankers: tuple[RerankerCard, ...]


@cache
def read_catalog() -> Catalog:
    """Return the catalog, which is read once."""
    return msgspec.toml.decode(_CATALOG.read_bytes(), type=Catalog)


def find_encoder_card(name: str) -> EncoderCard | None:
    """Return the card of an encoder by its name or short name, or None."""
    return _find(read_catalog().encoders, name)


def find_reranker_card(name: str) -> RerankerCard | None:
    """Return the card of a re-ranker by its name or short name, or None."""
    return _find(read_catalog().rerankers, name)


def _find(cards: tuple[_Card, ...], name: str) -> _Card | None:
    wanted = name.lower()
    return next((card for card in cards if wanted and wanted in {card.name.lower(), card.short.lower()}), None)
