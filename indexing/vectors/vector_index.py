"""The vectors of an index, opened on first use: search, and re-ranking by cosine similarity."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.indexing.search_engine import Hit
from shrag.indexing.storage.vector_card import FAISS_FILE, VectorCard
from shrag.messages.text import Text
from shrag.models.reranker import Passage

if TYPE_CHECKING:
    from shrag.indexing.vectors.exact_search import InnerProducts, VectorSearch
    from shrag.indexing.vectors.store import Float16Vectors, StoredDocuments
    from shrag.models.encoder import Encoder, Vectors


# A question is encoded to search and to rank, and again if its answer is requested after its records.
_MOST_ENCODED = 64
# Size of the sample for the languages' mean vectors; with all 4,502 ScienceON records as many answers are right.
_SAMPLED = 1_000

# Each language's mean is computed as if it had this many more documents, with the mean of all languages.
_PRIOR = 5


class VectorRows(Protocol):
    """The stored vectors of an index. Thread-safe."""

    def nearest(self, question_vector: Vectors, k: int, record_filter: RecordFilter) -> list[Hit]:
        """Return at most ``k`` documents that pass the filter, those with the largest cosines, best first.

        Documents with a cosine of 0 or less are left out. A cosine has six decimals; ties are ordered by docid.
        """

    def cosines(self, question_vector: Vectors, docids: Sequence[str]) -> list[float]:
        """Return the cosine of each document, rounded as :meth:`nearest` does; 0 for a document without a vector."""

    def mean(self, numbers: Sequence[int]) -> Vectors:
        """Return the mean of the vectors of documents, by their numbers: ``float32[dim]``."""


class VectorIndex:
    """Encodes questions and searches the vectors of one index. Thread-safe.

    The first call opens the encoder and the vectors, and raises the errors of
    :func:`~shrag.indexing.vectors.encoders.open_encoder`.

    Args:
        index: Name of the index, for error messages.
        card: The manifest's description of the vectors.
        folder: Folder of the vectors.
        analyzer: The index's analyzer.
        documents: The documents of the rows.
        weights: Folder with the weights of models that are chosen by name.
        rows: The vectors if they are elsewhere than in files of the folder, else None.
    """

    def __init__(
        self,
        index: str,
        card: VectorCard,
        folder: Path,
        analyzer: Analyzer,
        documents: StoredDocuments,
        weights: Path,
        rows: VectorRows | None = None,
    ) -> None:
        self._index = index
        self._card = card
        self._folder = folder
        self._analyzer = analyzer
        self._documents = documents
        self._weights = weights
        self._rows = rows
        self._files = _OpenFiles()
        self._filter = EVERY_RECORD

    @property
    def encoder(self) -> Encoder:
        """The encoder."""
        return self._open().encoder

    def prepare(self) -> None:
        """Open encoder and vectors now, so that the first search does not wait for them."""
        self._open()

    def prepare_means(self) -> None:
        """Compute the means of the languages now, so that the first :meth:`language_means` does not wait for them."""
        self._centres()

    def encode(self, question: str) -> Vectors:
        """Return the question's vector: ``float32[1, dim]``, all zeros if the encoder knows none of its words."""
        return self._open().encode(question)

    def search(self, question_vector: Vectors, k: int) -> list[Hit]:
        """Return at most ``k`` documents with the largest cosines, best first; those of 0 and less are left out."""
        return self._open().rows.nearest(question_vector, k, self._filter)

    def filtered(self, record_filter: RecordFilter) -> VectorIndex:
        """Return an index of the same vectors whose :meth:`search` finds only documents that pass the filter.

        Both share the open files.
        """
        filtered = copy.copy(self)
        filtered._filter = record_filter
        return filtered

    def _check_sizes(self) -> None:
        """Raise :class:`IndexDamaged` if a file was truncated: reading its mapped memory would end the process."""
        for path, size in self._files.sizes.items():
            with suppress(FileNotFoundError):  # removed with its generation, but still mapped
                if path.stat().st_size != size:
                    raise IndexDamaged(
                        Text(
                            "{path} has {found} bytes instead of {size}.",
                            path=path,
                            found=path.stat().st_size,
                            size=size,
                        )
                    )

    def cosines(self, question_vector: Vectors, docids: Sequence[str]) -> list[float]:
        """Return the cosine of each document, rounded as :meth:`search` does; 0 for a document without a vector."""
        return self._open().rows.cosines(question_vector, docids)

    def language_means(self, question_vector: Vectors) -> dict[str, float]:
        """Return for each language the mean cosine of a sample of its documents.

        The mean of a few documents is drawn toward the mean of all languages, as if :data:`_PRIOR` more documents had
        that mean. Otherwise a language's only document would equal its mean for every question.
        """
        return {language: float(centre @ question_vector[0]) for language, centre in self._centres().items()}

    def _centres(self) -> dict[str, Vectors]:
        opened, files = self._open(), self._files
        with files.centres_lock:
            if files.centres is None:
                files.centres = self._language_centres(opened.rows)
            return files.centres

    def _language_centres(self, rows: VectorRows) -> dict[str, Vectors]:
        count = self._documents.count()
        sampled = sorted({place * count // _SAMPLED for place in range(_SAMPLED)}) if count else []
        numbers: dict[str, list[int]] = {}
        for number, analyzed in zip(sampled, self._documents.documents(sampled), strict=True):
            numbers.setdefault(analyzed.record.language, []).append(number)
        means = {language: rows.mean(found) for language, found in numbers.items()}
        middle = sum(means.values()) / max(len(means), 1)
        shares = {language: len(found) / (len(found) + _PRIOR) for language, found in numbers.items()}
        return {language: middle + shares[language] * (mean - middle) for language, mean in means.items()}

    def _open(self) -> _OpenedVectors:
        files = self._files
        with files.lock:
            if files.opened is None:
                files.opened = self._open_files()
                files.sizes = {path: path.stat().st_size for path in self._folder.rglob("*") if path.is_file()}
            self._check_sizes()
            return files.opened

    def _open_files(self) -> _OpenedVectors:
        from shrag.indexing.vectors.ann_search import choose_search
        from shrag.indexing.vectors.encoders import open_encoder
        from shrag.indexing.vectors.store import open_vectors

        encoder = open_encoder(self._index, self._card, self._folder, self._analyzer, self._weights)
        encode = lru_cache(_MOST_ENCODED)(lambda question: encoder.encode_queries([question]))
        if self._rows is not None:
            return _OpenedVectors(encoder, encode, self._rows)
        vectors = open_vectors(self._folder, self._card)
        search = choose_search(vectors, self._documents.docids, self._folder / FAISS_FILE, self._card.faiss)
        return _OpenedVectors(encoder, encode, FileRows(vectors, search, self._documents, _products(encoder)))


class FileRows(NamedTuple):
    """Implements :class:`VectorRows` over the file of vectors."""

    vectors: Float16Vectors
    search: VectorSearch
    documents: StoredDocuments
    products: InnerProducts

    def nearest(self, question_vector: Vectors, k: int, record_filter: RecordFilter) -> list[Hit]:
        """See :class:`VectorRows`."""
        rows = self.documents.passing(record_filter) if record_filter else None
        (hits,) = self.search.search(question_vector, k, rows)
        return hits

    def cosines(self, question_vector: Vectors, docids: Sequence[str]) -> list[float]:
        """See :class:`VectorRows`."""
        from shrag.indexing.vectors.exact_search import cosines

        rows = self.documents.numbers(docids)
        known_rows = [row for row in rows if row is not None]
        found = cosines(self.vectors, question_vector[0], known_rows, self.products)
        values = dict(zip(known_rows, found, strict=True))
        return [0.0 if row is None else values[row] for row in rows]

    def mean(self, numbers: Sequence[int]) -> Vectors:
        """See :class:`VectorRows`."""
        from shrag.indexing.vectors.exact_search import mean_vector

        return mean_vector(self.vectors[list(numbers)])


class _OpenedVectors(NamedTuple):
    encoder: Encoder
    encode: Callable[[str], Vectors]
    rows: VectorRows


class _OpenFiles:
    """The encoder, the vectors and the mean of each language, None until needed, and the sizes of the files."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.opened: _OpenedVectors | None = None
        self.sizes: dict[Path, int] = {}
        self.centres_lock = threading.Lock()  # separate from ``lock``, since reading a thousand records takes long
        self.centres: dict[str, Vectors] | None = None


def _products(encoder: Encoder) -> InnerProducts:
    """Return the inner product on the encoder's GPU if it runs on one, else that of NumPy."""
    if encoder.is_model:
        from shrag.models.encoders.transformer import TransformerEncoder

        if isinstance(encoder, TransformerEncoder) and encoder.on_gpu:
            return encoder.inner_products
    from shrag.indexing.vectors.exact_search import inner_products

    return inner_products


class VectorReranker:
    """Implements :class:`~shrag.models.reranker.Reranker` by the cosines of an index's vectors (SHRAG paper).

    The constructor opens the encoder and the vectors, and raises their errors.
    """

    def __init__(self, vector_index: VectorIndex) -> None:
        self._vector_index = vector_index
        # Stored here, because the event loop reads it and must not wait for files.
        self.name = f"{vector_index.encoder.name} cosine"
        self.is_model = vector_index.encoder.is_model

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; a passage that is not in the index scores 0."""
        if not passages:
            return []
        return self._vector_index.cosines(self._vector_index.encode(question), [passage.docid for passage in passages])

    def prepare_means(self) -> None:
        """Compute the means of the languages now, so that the first :meth:`language_means` does not wait for them."""
        self._vector_index.prepare_means()

    def language_means(self, question: str) -> dict[str, float]:
        """Return for each language the mean cosine of the question and the index's documents in that language."""
        return self._vector_index.language_means(self._vector_index.encode(question))
