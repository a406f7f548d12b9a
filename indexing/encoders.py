"""Which encoder an index has: made when it is built, opened when it is searched.

LSA is fit on the index and lies in it. A model's weights lie outside, in one folder for all indexes: an index only
says which they were, and is not searched with others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shrag.indexing.analysis import Analyzer
from shrag.indexing.errors import EncoderUnavailable
from shrag.indexing.vector_card import LSA, NO_ENCODER, VectorCard, check_card
from shrag.indexing.vectors import StoredDocuments
from shrag.models.encoder import Encoder
from shrag.models.encoder_choice import EncoderChoice, choose_encoder
from shrag.models.errors import ModelError, WeightsMissing
from shrag.models.weights import is_path


def make_encoder(
    choice: str,
    folder: Path,
    stage: Path,
    documents: StoredDocuments,
    analyzer: Analyzer,
    source: str,
    weights: Path,
    report: Callable[[str, int], None] = lambda what, done: None,
) -> Encoder:
    """Return the encoder of an index that is being built: fit on its ``documents``, or loaded from ``weights``.

    ``folder`` is the index's for its vectors; ``source`` identifies the documents. Raises what
    :func:`~shrag.models.transformer_encoder.load_encoder` does.
    """
    if choice == LSA:
        from shrag.indexing.lsa_vectors import make_lsa

        return make_lsa(folder, stage, documents, analyzer, source, report)
    from shrag.models.transformer_encoder import load_encoder

    report("encoder", 0)
    return load_encoder(choose_encoder(choice, weights))


def open_encoder(name: str, card: VectorCard, folder: Path, analyzer: Analyzer, weights: Path) -> Encoder:
    """Open the encoder of the index ``name``.

    Raises as :func:`~shrag.indexing.vector_card.check_card` does; :class:`EncoderUnavailable` where the weights that
    made its vectors are not here or cannot be run; :class:`~shrag.indexing.errors.IndexDamaged` where its own files do
    not fit together.
    """
    check_card(name, card)
    if card.encoder == LSA:
        from shrag.indexing.lsa_vectors import open_lsa

        return open_lsa(name, card, folder, analyzer)
    from shrag.models.transformer_encoder import load_encoder

    try:
        choice = _same_weights(card, weights)
        return load_encoder(choice)
    except ModelError as error:
        raise EncoderUnavailable(
            f"The vectors of index {name} need the encoder that made them. {error} Keyword search works without; "
            f"`shrag index {name} --encoder {NO_ENCODER}` builds the index without vectors."
        ) from error


def _same_weights(card: VectorCard, weights: Path) -> EncoderChoice:
    """Return the choice that made the vectors; a folder chosen by its path is also looked for under ``weights``."""
    places = [card.encoder]
    if is_path(card.encoder):
        places.append(str(weights.absolute() / Path(card.encoder).name))
    found: list[EncoderChoice] = []
    missing: WeightsMissing | None = None
    for place in places:
        try:
            found.append(choose_encoder(place, weights))
        except WeightsMissing as error:
            missing = missing or error
    for choice in found:
        if (choice.settings, choice.weights.digest) == (card.settings, card.digest):
            return choice
    if missing is not None and not found:
        raise missing
    raise WeightsMissing(
        f"They were made by [{card.settings}], and {found[0].weights.folder} has [{found[0].settings}]: put the former "
        "weights there, or build the index again."
    )
