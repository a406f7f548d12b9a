"""The choice of an encoder: find and check the weights that a user's text names, without heavy imports.

A choice is a name in the catalog (``gte``) or the path of a folder. A suffix sets the dimension that vectors are cut
to: ``gte:256``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from shrag.messages.text import Text, joined
from shrag.models.encoders.catalog import EncoderCard, Pooling, find_encoder_card
from shrag.models.encoders.weights import (
    CONFIG,
    Weights,
    check_weights,
    expand_path,
    find_weights,
    is_path,
    longest_input,
    read_json,
)
from shrag.models.errors import WeightsMissing, WeightsRejected

SETTINGS_FORMAT = "transformer 1"
"""The beginning of every transformer encoder's ``settings``."""

POOLING_FILE = Path("1_Pooling") / CONFIG
"""The file of a model's pooling in its folder."""

_LENGTH = re.compile(r":(\d{1,5})$")
_PROMPTS = "config_sentence_transformers.json"


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """Implements :class:`~shrag.models.encoder.EncoderIdentity`: a card, checked weights and the vectors' dimension."""

    card: EncoderCard
    weights: Weights
    dimension: int

    @property
    def settings(self) -> str:
        """All options that determine the vectors, as readable text; the weights are given by their digest."""
        card = self.card
        return (
            f"{SETTINGS_FORMAT}: {card.name}, {self.dimension} of {card.dimension} dimensions, {card.pooling} pooling, "
            f"{card.max_tokens} tokens, prefixes {card.query_prefix!r} and {card.passage_prefix!r}, "
            f"weights {self.weights.digest[:16]}"
        )

    @property
    def digest(self) -> str:
        """The SHA-256 of the weights and their configuration."""
        return self.weights.digest


def canonical_choice(choice: str) -> str | None:
    """Return the canonical spelling of ``choice``, or None if it is neither a known name nor a path.

    Raises :class:`WeightsMissing` if the path names a user who does not exist.
    """
    name, length = split_choice(choice)
    suffix = f":{length}" if length else ""
    if is_path(name):
        return f"{expand_path(name).absolute()}{suffix}"
    card = find_encoder_card(name)
    return f"{card.name}{suffix}" if card else None


def choose_encoder(choice: str, home: Path) -> EncoderChoice:
    """Find and check the weights of a choice; the weights of a name are in a folder below ``home``.

    Raises :class:`WeightsMissing` if the name, the folder or a file does not exist. Raises :class:`WeightsRejected` if
    a file is damaged or not the card's, or the dimension is impossible.
    """
    name, length = split_choice(choice)
    card, folder = find_encoder(name, home)
    weights = check_weights(card.name if card else folder.name, folder, card)
    if card is None:
        card = _card_of_folder(folder, weights.config())
    return EncoderChoice(card, weights, _dimension(card, length))


def find_encoder(choice: str, home: Path) -> tuple[EncoderCard | None, Path]:
    """Return the catalog's card of a choice, or None for a path, and its folder, whose files are not checked.

    Raises :class:`WeightsMissing` if the name or the folder does not exist.
    """
    name, _ = split_choice(choice)
    card = None if is_path(name) else find_encoder_card(name)
    if card is None and not is_path(name):
        raise WeightsMissing(
            Text("The catalogue has no encoder {name!r}: name one of it, or a folder by its path.", name=name)
        )
    return card, find_weights(name, card, home)


def split_choice(choice: str) -> tuple[str, int]:
    """Return the name or folder of a choice, and the dimension that vectors are cut to; 0 for the model's own."""
    match = _LENGTH.search(choice)
    return (choice[: match.start()], int(match[1])) if match else (choice, 0)


def _dimension(card: EncoderCard, length: int) -> int:
    if not length or length == card.dimension:
        return card.dimension
    if card.min_dimension is None or not card.min_dimension <= length <= card.dimension:
        allowed = Text("only {most}", most=card.dimension)
        if card.min_dimension:
            allowed = Text("from {least} to {most}", least=card.min_dimension, most=card.dimension)
        raise WeightsRejected(
            Text(
                "Vectors of {name} can have {allowed} dimensions, not {length}: choose such a length.",
                name=card.name,
                allowed=allowed,
                length=length,
            )
        )
    return length


def _card_of_folder(folder: Path, config: dict[str, Any]) -> EncoderCard:
    """Return a card made from the model's own files, for a model that is not in the catalog.

    The files do not say whether vectors may be cut, so any length is allowed.
    """
    if not (folder / POOLING_FILE).is_file():
        raise WeightsRejected(
            Text(
                "{folder} has no {pooling}, so its pooling is not known: copy the whole folder, with its sub-folders.",
                folder=folder,
                pooling=POOLING_FILE,
            )
        )
    pooling = read_json(folder / POOLING_FILE)
    dimension, max_tokens = config.get("hidden_size"), longest_input(config)
    if not isinstance(dimension, int) or max_tokens is None:
        raise WeightsRejected(
            Text("{folder} gives no hidden_size or max_position_embeddings: use another model.", folder=folder / CONFIG)
        )
    prompts = read_json(folder / _PROMPTS).get("prompts", {}) if (folder / _PROMPTS).is_file() else {}
    prompts = prompts if isinstance(prompts, dict) else {}
    return EncoderCard(
        name=folder.name,
        max_tokens=max_tokens,
        dimension=dimension,
        min_dimension=1,
        pooling=_pooling(folder, pooling),
        query_prefix=str(prompts.get("query", "")),
        passage_prefix=str(prompts.get("document", prompts.get("passage", ""))),
    )


def _pooling(folder: Path, config: dict[str, Any]) -> Pooling:
    mode = config.get("pooling_mode")
    older = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    on = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    chosen = [mode] if mode else [older.get(key, key) for key in on]
    if len(chosen) != 1 or chosen[0] not in get_args(Pooling):
        raise WeightsRejected(
            Text(
                "{folder} sets the pooling {chosen}, SHRAG supports {pooling}: use another model.",
                folder=folder / POOLING_FILE,
                chosen=chosen,
                pooling=joined(get_args(Pooling), Text(" and ")),
            )
        )
    return cast("Pooling", chosen[0])


class LsaOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the LSA encoder; ``docs/en/explanation/vectors.md`` has the measurements behind the defaults.

    ``dimension`` is the largest length of a vector, and ``documents`` the number of documents to fit on. ``vocabulary``
    is the number of terms, those with the highest document frequencies. ``iterations`` is the number of power
    iterations of the randomized decomposition.
    """

    dimension: int = 256
    documents: int = 20_000
    vocabulary: int = 50_000
    iterations: int = 5
    seed: int = 0

    @property
    def settings(self) -> str:
        """The options as readable text."""
        return (
            f"lsa 1: {self.dimension} dimensions, {self.documents} documents, {self.vocabulary} terms, "
            f"{self.iterations} iterations, seed {self.seed}, terms in half precision"
        )
