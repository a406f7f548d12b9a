"""Catalog of the encoders and re-rankers known by name, read from ``catalog.toml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

Pooling = Literal["cls", "mean"]
"""How the vectors of a text's tokens become one: the first token's, or the mean of all."""

_CATALOG = Path(__file__).with_name("catalog.toml")


class CardFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it is at the card's revision; what is None is not known."""

    bytes: int | None = None
    sha256: str | None = None


class Golden(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cosines of a question and passages by the real weights, at full length."""

    question: str
    passages: tuple[str, ...]
    cosines: tuple[float, ...]


class ModelCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What encoders' and re-rankers' cards share; what is None or empty is not known.

    ``parameters`` are counted on the architecture, two bytes each in half precision; ``activation_bytes`` is the most
    memory that one token of a batch takes, in half precision; ``files`` are by their name in the model's folder.
    """

    name: str
    short: str = ""
    repository: str = ""
    revision: str | None = None
    licence: str = "unknown"
    parameters: int | None = None
    max_tokens: int
    activation_bytes: int | None = None
    files: dict[str, CardFile] = {}

    @property
    def weight_bytes(self) -> int | None:
        """What the weights take in memory in half precision."""
        return None if self.parameters is None else 2 * self.parameters


class EncoderCard(ModelCard, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An encoder: ``dimension`` is the length of its vectors.

    ``elastic`` is the shortest length that vectors may be cut to, None where the model was not trained for that.
    Prefixes stand before what is encoded, exactly as they are written.
    """

    dimension: int
    min_dimension: int | None = None
    pooling: Pooling
    query_prefix: str = ""
    passage_prefix: str = ""
    golden: Golden | None = None


class RerankerCard(ModelCard, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cross-encoder: reads a question and a passage together and gives one number."""


_Card = TypeVar("_Card", EncoderCard, RerankerCard)


class Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All cards. The first of each kind is the default."""

    encoders: tuple[EncoderCard, ...]
    rerankers: tuple[RerankerCard, ...]


@cache
def read_catalog() -> Catalog:
    """Return the catalogue; read once."""
    return msgspec.toml.decode(_CATALOG.read_bytes(), type=Catalog)


def find_encoder_card(name: str) -> EncoderCard | None:
    """Return the card of the encoder of that name or short name, None where there is none."""
    return _find(read_catalog().encoders, name)


def find_reranker_card(name: str) -> RerankerCard | None:
    """Return the card of the re-ranker of that name or short name, None where there is none."""
    return _find(read_catalog().rerankers, name)


def _find(cards: tuple[_Card, ...], name: str) -> _Card | None:
    wanted = name.lower()
    return next((card for card in cards if wanted and wanted in {card.name.lower(), card.short.lower()}), None)
