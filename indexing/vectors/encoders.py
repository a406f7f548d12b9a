"""Create or open an index's encoder: LSA, or a transformer model.

An LSA encoder is fit on the index and stored in it. A model's weights are outside the index, in one folder for all
indexes. The index records their digest, and is not searched with other weights.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.errors import EncoderUnavailable, IndexDamaged
from shrag.indexing.storage.vector_card import (
    ENCODER_FOLDER,
    LSA,
    NO_ENCODER,
    VectorCard,
    check_vector_card,
    moved_encoder,
)
from shrag.indexing.vectors.store import StoredDocuments
from shrag.messages.text import Text
from shrag.models.encoder import Encoder
from shrag.models.encoders.choice import EncoderChoice, LsaOptions, choose_encoder
from shrag.models.encoders.lsa import fit_lsa, load_lsa
from shrag.models.encoders.weights import is_path
from shrag.models.errors import ModelError, WeightsMissing


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
    """Create the encoder of an index that is being built.

    Args:
        choice: ``lsa``, or a choice of :mod:`shrag.models.encoders.choice`.
        folder: The index's folder for vectors.
        stage: The build's folder for intermediate files.
        documents: The documents to fit LSA on.
        source: Identifies the documents.
        weights: Folder of the weights of named models.

    Raises:
        ModelError: As :func:`~shrag.models.encoders.transformer.load_encoder`.
    """
    if choice == LSA:
        return make_lsa(folder, stage, documents, analyzer, source, report)
    from shrag.models.encoders.transformer import load_encoder

    report("encoder", 0)
    return load_encoder(choose_encoder(choice, weights))


def open_encoder(name: str, card: VectorCard, folder: Path, analyzer: Analyzer, weights: Path) -> Encoder:
    """Open the encoder of the index ``name``.

    Raises:
        EncoderUnavailable: The weights that made the vectors are missing or cannot be loaded.
        IndexDamaged: The index's own files do not fit together.
        IndexingError: As :func:`~shrag.indexing.storage.vector_card.check_vector_card`.
    """
    check_vector_card(name, card)
    if card.encoder == LSA:
        return open_lsa(name, card, folder, analyzer)
    from shrag.models.encoders.transformer import load_encoder

    try:
        choice = _find_weights_of(card, weights)
        return load_encoder(choice)
    except ModelError as error:
        raise EncoderUnavailable(
            Text(
                "The vectors of index {name} need the encoder that made them. {error} Keyword search works "
                "without it; `shrag index {name} --encoder {none}` builds the index without vectors.",
                name=name,
                error=error,
                none=NO_ENCODER,
            )
        ) from error


def _find_weights_of(card: VectorCard, weights: Path) -> EncoderChoice:
    """Return the choice with the weights that made the vectors.

    If the choice is a path, the folder of the same name below ``weights`` is tried too.
    """
    choices = [card.encoder]
    if is_path(card.encoder):
        choices.append(moved_encoder(card.encoder, weights))
    found: list[EncoderChoice] = []
    missing: WeightsMissing | None = None
    for choice_or_path in choices:
        try:
            found.append(choose_encoder(choice_or_path, weights))
        except WeightsMissing as error:
            missing = missing or error
    for choice in found:
        if (choice.settings, choice.weights.digest) == (card.settings, card.digest):
            return choice
    if missing is not None and not found:
        raise missing
    raise WeightsMissing(
        Text(
            "The vectors were made by [{settings}], and {folder} has [{found}]: put the earlier weights there, or "
            "build the index again.",
            settings=card.settings,
            folder=found[0].weights.folder,
            found=found[0].settings,
        )
    )


_STAGE_FILE = "encoder.json"
_DOCID_BATCH = 10_000


def make_lsa(
    folder: Path,
    stage: Path,
    documents: StoredDocuments,
    analyzer: Analyzer,
    source: str,
    report: Callable[[str, int], None] = lambda what, done: None,
    options: LsaOptions | None = None,
) -> Encoder:
    """Fit the LSA encoder of an index, or open the one that an interrupted build fit on the same documents.

    Args:
        folder: The index's folder for vectors, which gets the encoder's files.
        stage: The build's folder for intermediate files.
        documents: The documents to fit on.
        source: Identifies the documents.
    """
    chosen = options or LsaOptions()
    input_digest = hashlib.sha256(f"lsa\n{chosen.settings}\n{source}".encode()).hexdigest()
    encoder_folder = folder / ENCODER_FOLDER
    earlier = _read_fit_record(stage / _STAGE_FILE)
    if earlier is not None and earlier.input == input_digest:
        with suppress(OSError, ValueError):
            encoder = load_lsa(encoder_folder, analyzer.terms, chosen.settings)
            if encoder.digest == earlier.digest:
                return encoder
    report("encoder", 0)
    sample = sample_documents(documents, chosen.documents)
    fitted = fit_lsa((each.contents_terms for each in documents.documents(sample)), analyzer.terms, chosen)
    encoder_folder.mkdir(parents=True, exist_ok=True)
    stage.mkdir(exist_ok=True)
    fitted.save(encoder_folder)
    (stage / _STAGE_FILE).write_bytes(msgspec.json.encode(_FitRecord(input_digest, fitted.digest)))
    return load_lsa(encoder_folder, analyzer.terms, chosen.settings)


def open_lsa(name: str, card: VectorCard, folder: Path, analyzer: Analyzer) -> Encoder:
    """Open the LSA encoder of the index ``name`` from the ``folder`` of its vectors.

    Raises:
        IndexDamaged: The files are missing or do not fit together.
    """
    try:
        encoder = load_lsa(folder / ENCODER_FOLDER, analyzer.terms, card.settings)
    except (OSError, ValueError) as error:
        raise IndexDamaged(
            Text("The encoder of index {name} cannot be read ({error}): build the index again.", name=name, error=error)
        ) from None
    if encoder.dimension != card.dimension:
        raise IndexDamaged(
            Text(
                "The encoder of index {name} gives {dimension} numbers, its vectors have {dimension_2}: build "
                "the index again.",
                name=name,
                dimension=encoder.dimension,
                dimension_2=card.dimension,
            )
        )
    return encoder


def sample_documents(documents: StoredDocuments, most: int) -> list[int]:
    """Return the numbers of the ``most`` documents whose docids have the smallest hashes, ordered by hash.

    The sample and its order do not depend on the order of the documents in the index.
    """

    def hashed() -> Iterator[tuple[bytes, str, int]]:
        count = documents.count()
        for start in range(0, count, _DOCID_BATCH):
            numbers = range(start, min(start + _DOCID_BATCH, count))
            for number, docid in zip(numbers, documents.docids(numbers), strict=True):
                yield hashlib.blake2b(docid.encode(), digest_size=8).digest(), docid, number

    return [number for _, _, number in heapq.nsmallest(most, hashed())]


class _FitRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: str
    digest: str


def _read_fit_record(path: Path) -> _FitRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_FitRecord)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
