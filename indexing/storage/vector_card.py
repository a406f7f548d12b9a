"""What an index says of its vectors."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.corpora.files import write_atomically
from shrag.indexing.errors import IndexMismatch, UnknownEncoder
from shrag.models.encoders.catalog import read_catalog
from shrag.models.encoders.choice import LsaOptions, canonical_choice, choose_encoder, settings_format

FOLDER = "vectors"
"""Where in an index's folder vectors lie."""

FILE = "passages.f16"
"""The file of the vectors themselves."""

NO_ENCODER = "none"
"""What ``shrag index --encoder`` calls an index without vectors."""

LSA = "lsa"
"""The encoder that is counted from the index itself; every other one is a model."""

_CARD = "vector-card.json"


class VectorCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an index's manifest says of its vectors.

    ``encoder`` is what was chosen (:func:`canonical_encoder`); ``settings`` and ``digest`` are the encoder's own words
    for what it is (:class:`~shrag.models.encoder.Encoder`); ``rows`` are as many as the index has documents.
    """

    encoder: str
    settings: str
    digest: str
    dimension: int
    rows: int


def save_vector_card(stage: Path, card: VectorCard) -> None:
    """Keep, in a build's ``stage``, the card of its vectors until it becomes part of the manifest."""
    write_atomically(stage / _CARD, msgspec.json.encode(card))


def load_vector_card(stage: Path) -> VectorCard | None:
    """Return the card kept in a build's ``stage``, None where its index has no vectors."""
    path = stage / _CARD
    return msgspec.json.decode(path.read_bytes(), type=VectorCard) if path.is_file() else None


def canonical_encoder(choice: str) -> str:
    """Return the one way to write a choice of encoder: ``none``, ``lsa``, a name of the catalogue, or a full path.

    Raises :class:`UnknownEncoder`, naming those there are.
    """
    known = choice if choice in {NO_ENCODER, LSA} else canonical_choice(choice)
    if known is None:
        names = [LSA, *(card.short or card.name for card in read_catalog().encoders), NO_ENCODER]
        raise UnknownEncoder(f"There is no encoder {choice!r}: use one of {', '.join(names)}, or a folder's path.")
    return known


def encoder_settings(encoder: str, weights: Path) -> str:
    """Return the settings such an encoder has now, empty for none: others make another index.

    ``weights`` is the folder of the models that are chosen by name. Raises
    :class:`~shrag.models.errors.WeightsMissing` and ``WeightsRejected``.
    """
    if encoder == NO_ENCODER:
        return ""
    return LsaOptions().settings if encoder == LSA else choose_encoder(encoder, weights).settings


def weights_folder(indexes: Path) -> Path:
    """Return the folder of models' weights in the home that has ``indexes``."""
    return indexes.parent / "weights"


def derived_folder(indexes: Path) -> Path:
    """Return the folder, in the home that has ``indexes``, of what is made again when it is missing."""
    return indexes.parent / "derived"


def check_vector_card(name: str, card: VectorCard) -> None:
    """Raise :class:`IndexMismatch` where this SHRAG has no encoder of the kind that made the vectors of ``name``.

    Whether its weights are here is asked when they are needed: words are searched without.
    """
    here = [_kind_and_format(LsaOptions().settings), settings_format()]
    if _kind_and_format(card.settings) != here[card.encoder != LSA]:
        raise IndexMismatch(
            f"Index {name} has vectors by the encoder [{card.settings}], this SHRAG has {', '.join(here)}: build it "
            f"again with `shrag index {name} --encoder {LSA}`, or with `--encoder {NO_ENCODER}` to do without."
        )


def _kind_and_format(settings: str) -> str:
    return settings.partition(":")[0]
