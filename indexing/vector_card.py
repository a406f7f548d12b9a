"""What an index says of its vectors, and whether this SHRAG has the encoder that made them; imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.corpora.durable import replace_durably
from shrag.indexing.errors import IndexingError, IndexMismatch
from shrag.models.lsa_options import LsaOptions

FOLDER = "vectors"
"""Where in an index's folder vectors lie."""

NO_ENCODER = "none"
"""What ``shrag index --encoder`` calls an index without vectors."""

ENCODERS: tuple[str, ...] = ("lsa",)
"""The kinds of encoder there are, as ``shrag index --encoder`` names them."""


_CARD = "vector-card.json"


class VectorCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an index's manifest says of its vectors.

    ``encoder`` is the kind; ``settings`` and ``digest`` are the encoder's own words for what it is
    (:class:`~shrag.models.encoder.Encoder`); ``rows`` are as many as the index has documents.
    """

    encoder: str
    settings: str
    digest: str
    dimension: int
    rows: int


def keep_card(stage: Path, card: VectorCard) -> None:
    """Keep, in a build's ``stage``, the card of its vectors until it becomes part of the manifest."""
    replace_durably(stage / _CARD, msgspec.json.encode(card))


def kept_card(stage: Path) -> VectorCard | None:
    """Return the card kept in a build's ``stage``, None where its index has no vectors."""
    path = stage / _CARD
    return msgspec.json.decode(path.read_bytes(), type=VectorCard) if path.is_file() else None


def check_encoder_name(encoder: str) -> None:
    """Raise :class:`IndexingError` for a kind that does not exist."""
    if encoder not in (*ENCODERS, NO_ENCODER):
        raise IndexingError(f"There is no encoder {encoder!r}: use one of {', '.join((*ENCODERS, NO_ENCODER))}.")


def encoder_settings(encoder: str) -> str:
    """Return the settings an encoder of this kind is made with now, empty for none: others make another index."""
    return {"lsa": LsaOptions().settings, NO_ENCODER: ""}[encoder]


def check_card(name: str, card: VectorCard) -> None:
    """Raise :class:`IndexMismatch` where this SHRAG does not have the encoder that made the vectors of ``name``."""
    here = [_kind_and_format(encoder_settings(encoder)) for encoder in ENCODERS]
    if card.encoder not in ENCODERS or _kind_and_format(card.settings) not in here:
        raise IndexMismatch(
            f"Index {name} has vectors by the encoder [{card.settings}], this SHRAG has {', '.join(here)}: build it "
            f"again with `shrag index {name} --encoder {ENCODERS[0]}`, or with `--encoder {NO_ENCODER}` to do without."
        )


def _kind_and_format(settings: str) -> str:
    return settings.partition(":")[0]
