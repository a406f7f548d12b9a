"""Encoder choice: from what a user writes to checked weights; imports nothing heavy.

A choice is a name of the catalogue (``gte``) or the path of a folder, and may end in the length that vectors are cut
to: ``gte:256``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from shrag.models.encoders.catalog import EncoderCard, Pooling, find_encoder_card
from shrag.models.encoders.weights import CONFIG, Weights, check_weights, find_weights, is_path, read_json
from shrag.models.errors import WeightsMissing, WeightsRejected

_FORMAT = "transformer 1"
_LENGTH = re.compile(r":(\d{1,5})$")
_POOLING = Path("1_Pooling") / CONFIG
_PROMPTS = "config_sentence_transformers.json"
# XLM-RoBERTa and its kin count positions from the padding's number on, so that many of the table are never used.
_RESERVED_POSITIONS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "mpnet": 2}


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """An encoder with its checked weights, and the length of the vectors it is to give."""

    card: EncoderCard
    weights: Weights
    dimension: int

    @property
    def settings(self) -> str:
        """Everything chosen that decides the vectors, the weights by their digest among it."""
        card = self.card
        return (
            f"{_FORMAT}: {card.name}, {self.dimension} of {card.dimension} dimensions, {card.pooling} pooling, "
            f"{card.max_tokens} tokens, prefixes {card.query_prefix!r} and {card.passage_prefix!r}, "
            f"weights {self.weights.digest[:16]}"
        )


def settings_format() -> str:
    """Return what the settings of every encoder of this kind begin with."""
    return _FORMAT


def canonical_choice(choice: str) -> str | None:
    """Return the one way to write ``choice``, None where it is neither a known name nor a path."""
    name, length = _split(choice)
    suffix = f":{length}" if length else ""
    if is_path(name):
        return f"{Path(name).expanduser().absolute()}{suffix}"
    card = find_encoder_card(name)
    return f"{card.name}{suffix}" if card else None


def choose_encoder(choice: str, home: Path) -> EncoderChoice:
    """Find and check the weights of a choice, names under the folder ``home``.

    Raises :class:`WeightsMissing` and :class:`WeightsRejected`.
    """
    name, length = _split(choice)
    card = None if is_path(name) else find_encoder_card(name)
    if card is None and not is_path(name):
        raise WeightsMissing(f"There is no encoder {name!r} in the catalogue: name one of it, or a folder by its path.")
    folder = find_weights(name, card, home)
    weights = check_weights(card.name if card else folder.name, folder, card)
    if card is None:
        card = _card_of_folder(folder, weights.config())
    return EncoderChoice(card, weights, _dimension(card, length))


def _split(choice: str) -> tuple[str, int]:
    match = _LENGTH.search(choice)
    return (choice[: match.start()], int(match[1])) if match else (choice, 0)


def _dimension(card: EncoderCard, length: int) -> int:
    if not length or length == card.dimension:
        return card.dimension
    if card.min_dimension is None or not card.min_dimension <= length <= card.dimension:
        allowed = f"from {card.min_dimension} to {card.dimension}" if card.min_dimension else f"only {card.dimension}"
        raise WeightsRejected(
            f"Vectors of {card.name} can have {allowed} dimensions, not {length}: choose such a length."
        )
    return length


def _card_of_folder(folder: Path, config: dict[str, Any]) -> EncoderCard:
    """Return the card of a model that the catalogue does not know, as its own files describe it.

    Whether its vectors may be cut is not among what they say; that is left to whoever asks for it.
    """
    if not (folder / _POOLING).is_file():
        raise WeightsRejected(
            f"{folder} has no {_POOLING}, so how its tokens become one vector is not known: carry over the whole "
            "folder, sub-folders too."
        )
    pooling = read_json(folder / _POOLING)
    dimension, positions = config.get("hidden_size"), config.get("max_position_embeddings")
    if not isinstance(dimension, int) or not isinstance(positions, int):
        raise WeightsRejected(f"{folder / CONFIG} gives no hidden_size or max_position_embeddings: use another model.")
    prompts = read_json(folder / _PROMPTS).get("prompts", {}) if (folder / _PROMPTS).is_file() else {}
    prompts = prompts if isinstance(prompts, dict) else {}
    return EncoderCard(
        name=folder.name,
        max_tokens=positions - _RESERVED_POSITIONS.get(str(config.get("model_type")), 0),
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
            f"{folder / _POOLING} asks for the pooling {chosen}, and SHRAG knows {' and '.join(get_args(Pooling))}: "
            "use another model."
        )
    return cast("Pooling", chosen[0])


class LsaOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is chosen before the fit; ``docs/vectors.md`` has the figures behind the values.

    ``dimension`` is the length of a vector at most; ``documents`` how many are fit on; ``vocabulary`` how many terms
    are kept, those in most documents first; ``iterations`` the power iterations of the randomised decomposition.
    """

    dimension: int = 256
    documents: int = 20_000
    vocabulary: int = 50_000
    iterations: int = 5
    seed: int = 0

    @property
    def settings(self) -> str:
        """The options, readable."""
        return (
            f"lsa 1: {self.dimension} dimensions, {self.documents} documents, {self.vocabulary} terms, "
            f"{self.iterations} iterations, seed {self.seed}, terms in half precision"
        )
