"""LSA as the encoder of an index: fit on the index's own documents, kept in its folder."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from shrag.indexing.analysis import Analyzer
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.vector_card import VectorCard
from shrag.indexing.vectors import StoredDocuments
from shrag.models.encoder import Encoder
from shrag.models.lsa import fit_lsa, load_lsa
from shrag.models.lsa_options import LsaOptions

ENCODER_FOLDER = "encoder"
"""Where in the vectors' folder lies what encodes questions."""

_STAGE_FILE = "encoder.json"
_DOCIDS_AT_ONCE = 10_000


def make_lsa(
    folder: Path,
    stage: Path,
    documents: StoredDocuments,
    analyzer: Analyzer,
    source: str,
    report: Callable[[str, int], None] = lambda what, done: None,
    options: LsaOptions | None = None,
) -> Encoder:
    """Fit the encoder of an index, and keep in ``folder`` what encodes its questions.

    ``source`` identifies the documents; what an earlier run made of the same ones is opened instead of made again.
    """
    chosen = options or LsaOptions()
    made = hashlib.sha256(f"lsa\n{chosen.settings}\n{source}".encode()).hexdigest()
    kept = folder / ENCODER_FOLDER
    earlier = _read_stage(stage / _STAGE_FILE)
    if earlier is not None and earlier.input == made:
        try:
            encoder = load_lsa(kept, analyzer.terms, chosen.settings)
        except (OSError, ValueError):
            earlier = None
        else:
            if encoder.digest == earlier.digest:
                return encoder
    report("encoder", 0)
    sample = sample_documents(documents, chosen.documents)
    fitted = fit_lsa((each.contents_terms for each in documents.documents(sample)), analyzer.terms, chosen)
    kept.mkdir(parents=True, exist_ok=True)
    stage.mkdir(exist_ok=True)
    fitted.save(kept)
    (stage / _STAGE_FILE).write_bytes(msgspec.json.encode(_Stage(made, fitted.digest)))
    return load_lsa(kept, analyzer.terms, chosen.settings)


def open_lsa(name: str, card: VectorCard, folder: Path, analyzer: Analyzer) -> Encoder:
    """Open the encoder of the index ``name`` from its vectors' ``folder``.

    Raises :class:`IndexDamaged` where its files do not fit together.
    """
    try:
        encoder = load_lsa(folder / ENCODER_FOLDER, analyzer.terms, card.settings)
    except (OSError, ValueError) as error:
        raise IndexDamaged(f"The encoder of index {name} cannot be read ({error}): build the index again.") from None
    if encoder.dimension != card.dimension:
        raise IndexDamaged(
            f"The encoder of index {name} gives {encoder.dimension} numbers, its vectors have {card.dimension}: "
            "build the index again."
        )
    return encoder


def sample_documents(documents: StoredDocuments, most: int) -> list[int]:
    """Return the numbers of the ``most`` documents whose identifiers have the smallest hashes, smallest first.

    They are the same documents in the same order however the index has them.
    """

    def hashed() -> Iterator[tuple[bytes, str, int]]:
        count = documents.count()
        for start in range(0, count, _DOCIDS_AT_ONCE):
            numbers = range(start, min(start + _DOCIDS_AT_ONCE, count))
            for number, docid in zip(numbers, documents.docids(numbers), strict=True):
                yield hashlib.blake2b(docid.encode(), digest_size=8).digest(), docid, number

    return [number for _, _, number in heapq.nsmallest(most, hashed())]


class _Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: str
    digest: str


def _read_stage(path: Path) -> _Stage | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Stage)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
