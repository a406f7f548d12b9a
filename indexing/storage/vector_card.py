"""VectorCard: the manifest's description of an index's vectors; the choices of encoders."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.corpora.files import write_atomically
from shrag.corpora.near_names import did_you_mean
from shrag.indexing.errors import IndexMismatch, UnknownEncoder
from shrag.messages.text import Text
from shrag.models.encoders.catalog import read_catalog
from shrag.models.encoders.choice import SETTINGS_FORMAT, LsaOptions, canonical_choice, choose_encoder, split_choice
from shrag.models.encoders.weights import is_path

FOLDER = "vectors"
"""Name of the folder of vectors in an index's folder."""

FILE = "passages.f16"
"""Name of the file of vectors."""

ENCODER_FOLDER = "encoder"
"""Name of the folder of the LSA encoder in the folder of vectors."""

FAISS_FILE = "passages.faiss"
"""Name of the file of the FAISS index of the vectors."""

NO_ENCODER = "none"
"""The choice of no vectors."""

AUTO = "auto"
"""The choice of the current generation's encoder or, if it has none, of the only encoder with weights."""

LSA = "lsa"
"""The encoder that is computed from the index itself; every other one is a model."""

CARD_FILE = "vector-card.json"
"""Name of the file of the vectors' card in a build's stage."""

FAISS_CARD_FILE = "faiss-card.json"
"""Name of the file of the FAISS index's card in a build's stage."""


class FaissCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The FAISS index of an index's vectors.

    Attributes:
        factory: Its description for ``faiss.index_factory``: ``SQfp16`` (flat, half precision) or ``IVF1024,SQ8``.
        version: The version of FAISS that built it.
        lists: The number of its inverted lists; 0 for a flat index, which compares a query with all vectors.
        probes: The number of lists that are searched for a query; 0 for a flat index.
        recall: The share of the 100 nearest vectors that half of the probes find, measured on a sample of the vectors.
    """

    factory: str
    version: str
    lists: int = 0
    probes: int = 0
    recall: float = 1.0


class VectorCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The vectors of an index.

    Attributes:
        encoder: The user's choice (:func:`canonical_encoder`).
        settings: The encoder's settings (:class:`~shrag.models.encoder.Encoder`).
        rows: Number of vectors, one for each document.
        faiss: Their FAISS index, None for an index that was built without FAISS.
    """

    encoder: str
    settings: str
    digest: str
    dimension: int
    rows: int
    faiss: FaissCard | None = None


def save_vector_card(stage: Path, card: VectorCard) -> None:
    """Write the card of a build's vectors to its ``stage``."""
    write_atomically(stage / CARD_FILE, msgspec.json.encode(card))


def load_vector_card(stage: Path) -> VectorCard | None:
    """Read the card in a build's ``stage``, None if the index has no vectors."""
    path, faiss = stage / CARD_FILE, stage / FAISS_CARD_FILE
    if not path.is_file():
        return None
    card = msgspec.json.decode(path.read_bytes(), type=VectorCard)
    if not faiss.is_file():
        return card
    return msgspec.structs.replace(card, faiss=msgspec.json.decode(faiss.read_bytes(), type=FaissCard))


def canonical_encoder(choice: str) -> str:
    """Return the canonical form of a choice: ``none``, ``auto``, ``lsa``, a name of the catalog, or a full path.

    Raises:
        UnknownEncoder: There is no such encoder.
        WeightsMissing: The path of a folder names a user who does not exist.
    """
    known = choice if choice in {NO_ENCODER, AUTO, LSA} else canonical_choice(choice)
    if known is None:
        names = [LSA, *(card.short or card.name for card in read_catalog().encoders), NO_ENCODER]
        raise UnknownEncoder(
            Text(
                "There is no encoder {choice!r}: use one of {names}, or a folder's path.{hint}",
                choice=choice,
                names=", ".join(names),
                hint=did_you_mean(choice, names),
            )
        )
    return known


def encoder_of(card: VectorCard | None, weights: Path) -> str:
    """Return the canonical choice of the encoder that made an index's vectors, ``none`` if it has none.

    If it is the path of a folder that is not there any more, the folder of the same name below ``weights`` is taken.
    """
    if card is None:
        return NO_ENCODER
    moved = moved_encoder(card.encoder, weights)
    earlier_folder, folder = (Path(split_choice(choice)[0]) for choice in (card.encoder, moved))
    return moved if is_path(card.encoder) and not earlier_folder.is_dir() and folder.is_dir() else card.encoder


def moved_encoder(path: str, weights: Path) -> str:
    """Return the choice of the folder of the same name below ``weights``, where an encoder may have been moved to."""
    return str(weights.absolute() / Path(path).name)


def encoder_settings(encoder: str, weights: Path) -> str:
    """Return the settings of a chosen encoder, empty for ``none``.

    Args:
        encoder: A canonical choice.
        weights: The folder of the models that are chosen by name.

    Raises:
        ModelError: The weights are missing or invalid.
    """
    if encoder == NO_ENCODER:
        return ""
    return LsaOptions().settings if encoder == LSA else choose_encoder(encoder, weights).settings


def weights_folder(indexes: Path) -> Path:
    """Return the folder of models' weights beside the folder ``indexes``."""
    return indexes.parent / "weights"


def check_vector_card(name: str, card: VectorCard) -> None:
    """Raise :class:`IndexMismatch` if this SHRAG has no encoder of the same kind and format.

    The weights are not needed until vectors are searched.
    """
    known = [_kind_and_format(LsaOptions().settings), SETTINGS_FORMAT]
    if _kind_and_format(card.settings) != known[card.encoder != LSA]:
        raise IndexMismatch(
            Text(
                "Index {name} has vectors by the encoder [{settings}], this SHRAG has {known}: build it again "
                "with `shrag index {name} --encoder {encoder}`, or with `--encoder {none}`.",
                name=name,
                settings=card.settings,
                known=", ".join(known),
                encoder=LSA,
                none=NO_ENCODER,
            )
        )


def _kind_and_format(settings: str) -> str:
    return settings.partition(":")[0]
