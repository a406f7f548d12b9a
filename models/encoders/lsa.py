"""An encoder by latent semantic analysis (LSA), which is fit on the index's own terms and needs no weights.

Documents are unit rows of sublinear tf-idf. Their truncated singular value decomposition ``X ≈ U S Vᵀ`` gives each term
a row of ``V``. The vector of a text is the sum of its terms' rows, normalized to unit length. Sources: Deerwester et
al., *Indexing by latent semantic analysis*, JASIS 41 (1990); the randomized decomposition of Halko, Martinsson and
Tropp (2011) in scikit-learn. This is the only module that imports scikit-learn, and it does so only to fit.
"""

from __future__ import annotations

import hashlib
import io
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shrag.messages.text import Text, joined
from shrag.models.encoder import Vectors
from shrag.models.encoders.choice import LsaOptions
from shrag.models.errors import PackageMissing
from shrag.models.reranker import Passage

VOCABULARY_FILE = "vocabulary.json"
"""The file of the sorted terms, a JSON list, since a term may hold any character."""

TERMS_FILE = "terms.npy"
"""The file of ``float16[vocabulary, dimension]``: each term's row of ``V`` times the term's idf."""

TermsFunction = Callable[[Sequence[str]], list[list[str]]]
"""Returns the terms of each text by the index's analyzer."""

# A share of the largest singular value, below which vectors are rounding noise that differs from run to run.
_MIN_SINGULAR_VALUE = 1e-5
_MAX_DOCUMENT_TERMS = 2_000


class LsaEncoder:
    """Implements :class:`~shrag.models.encoder.Encoder` with the arrays of :func:`fit_lsa`."""

    name = "LSA"
    is_model = False
    batch_rows = 512

    def __init__(
        self, vocabulary: Sequence[str], rows: NDArray[np.float16], terms: TermsFunction, settings: str
    ) -> None:
        self._rows_by_term = {term: number for number, term in enumerate(vocabulary)}
        self._rows = rows
        self._terms = terms
        self.settings = settings
        self.dimension = int(rows.shape[1])

    @property
    def digest(self) -> str:
        """See :class:`~shrag.models.encoder.Encoder`."""
        digest = hashlib.sha256(_encode_vocabulary(self._rows_by_term))
        digest.update(np.ascontiguousarray(self._rows).data)
        return digest.hexdigest()

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See :class:`~shrag.models.encoder.Encoder`."""
        return self._encode(self._terms(texts), self._rows)

    def encode_passages(self, passages: Sequence[Passage]) -> Vectors:
        """See :class:`~shrag.models.encoder.Encoder`; only the terms of the passages are read."""
        return self._encode([[*p.title_terms, *chain.from_iterable(p.sentence_terms)] for p in passages], self._wide)

    @cached_property
    def _wide(self) -> Vectors:
        """The rows in single precision, which are faster for many passages but not worth the memory for queries."""
        return self._rows.astype(np.float32)

    def save(self, folder: Path) -> None:
        """Write the arrays into ``folder``; :func:`load_lsa` reads them."""
        (folder / VOCABULARY_FILE).write_bytes(_encode_vocabulary(self._rows_by_term))
        # np.save writes to memory first, because its own errors do not say which error the disk gave.
        written = io.BytesIO()
        np.save(written, self._rows, allow_pickle=False)
        (folder / TERMS_FILE).write_bytes(written.getbuffer())

    def _encode(self, documents: Sequence[Sequence[str]], rows: NDArray[np.floating[Any]]) -> Vectors:
        vectors = np.zeros((len(documents), self.dimension), dtype=np.float32)
        for row, terms in enumerate(documents):
            counts = Counter(known for term in terms if (known := self._rows_by_term.get(term)) is not None)
            if counts:
                # The terms are sorted, so the same terms in another order give the same sum.
                term_rows = sorted(counts)
                weights = np.array([_sublinear(counts[each]) for each in term_rows], dtype=np.float32)
                total = weights @ rows[term_rows].astype(np.float32, copy=False)
                length = float(np.linalg.norm(total))
                if length > 0:
                    vectors[row] = total / length
        return vectors


def check_lsa_packages() -> None:
    """Raise ``PackageMissing`` unless the packages that :func:`fit_lsa` needs are installed."""
    if missing := [package for package in ("sklearn", "threadpoolctl") if find_spec(package) is None]:
        raise PackageMissing(
            Text(
                "The encoder lsa needs {missing}, not installed here: run `pip install 'shrag[lsa]'`.",
                missing=joined(missing, Text(" and ")),
            )
        )


def load_lsa(folder: Path, terms: TermsFunction, settings: str) -> LsaEncoder:
    """Open the files of :meth:`LsaEncoder.save` and memory-map the array; raise ``ValueError`` if they do not match."""
    vocabulary = msgspec.json.decode((folder / VOCABULARY_FILE).read_bytes(), type=list[str])
    rows = np.load(folder / TERMS_FILE, mmap_mode="r", allow_pickle=False)
    if rows.dtype != np.float16 or rows.ndim != 2 or len(rows) != len(vocabulary):
        raise ValueError(f"{folder / TERMS_FILE} is {rows.dtype}{list(rows.shape)} for {len(vocabulary)} terms")
    return LsaEncoder(vocabulary, rows, terms, settings)


def fit_lsa(documents: Iterable[Sequence[str]], terms: TermsFunction, options: LsaOptions) -> LsaEncoder:
    """Fit an encoder; equal documents in equal order give equal bits on one kind of processor.

    ``documents`` are the terms of each document; the first 2,000 terms of the first ``options.documents`` are read.
    ``terms`` analyzes the texts of queries. The dimension is smaller if the matrix of documents has a lower rank.
    """
    sample = _TermCounts()
    for terms_of_one, _ in zip(documents, range(options.documents), strict=False):
        sample.add(terms_of_one[:_MAX_DOCUMENT_TERMS])
    vocabulary, indices = sample.vocabulary(options.vocabulary)
    matrix, idf = sample.matrix(indices, len(vocabulary))
    directions = _right_singular_vectors(matrix, options)
    return LsaEncoder(vocabulary, (directions * idf[:, None]).astype(np.float16), terms, options.settings)


class _TermCounts:
    """The term counts of documents, stored in twelve bytes for each distinct term of each document."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._columns = array("q")
        self._counts = array("i")
        self._ends = array("q", [0])

    def add(self, terms: Sequence[str]) -> None:
        for term, count in Counter(terms).items():
            self._columns.append(self._numbers.setdefault(term, len(self._numbers)))
            self._counts.append(count)
        self._ends.append(len(self._columns))

    def vocabulary(self, most: int) -> tuple[list[str], NDArray[np.int64]]:
        """Return the ``most`` frequent terms, sorted, and the index of each added term among them, or -1."""
        frequencies = np.bincount(np.asarray(self._columns, dtype=np.int64), minlength=len(self._numbers))
        vocabulary = sorted(self._numbers, key=lambda term: (-frequencies[self._numbers[term]], term))[:most]
        vocabulary.sort()
        indices = np.full(len(self._numbers), -1, dtype=np.int64)
        for index, term in enumerate(vocabulary):
            indices[self._numbers[term]] = index
        return vocabulary, indices

    def matrix(self, indices: NDArray[np.int64], width: int) -> tuple[Any, NDArray[np.float32]]:
        """Return the documents as sparse unit rows, and idf = ln((1 + N) / (1 + df)) + 1 of each term."""
        from scipy.sparse import csr_matrix, diags

        columns = indices[np.asarray(self._columns, dtype=np.int64)]
        known = columns >= 0
        ends = np.concatenate([[0], np.cumsum(known)])[np.asarray(self._ends, dtype=np.int64)]
        counts = np.asarray(self._counts, dtype=np.int32)[known]
        columns = columns[known]
        documents = len(ends) - 1
        frequencies = np.bincount(columns, minlength=width)
        idf = (np.log((1 + documents) / (1 + frequencies)) + 1).astype(np.float32)
        weights = (1 + np.log(counts)).astype(np.float32) * idf[columns]
        matrix = csr_matrix((weights, columns, ends), shape=(documents, width))
        matrix.sort_indices()
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        lengths[lengths == 0] = 1
        return diags(1 / lengths, dtype=np.float32) @ matrix, idf


def _right_singular_vectors(matrix: Any, options: LsaOptions) -> NDArray[np.float32]:  # noqa: ANN401  (scipy has no types)
    """Return the leading right singular vectors as columns: ``float32[terms, dimension]``."""
    check_lsa_packages()
    dimension = min(options.dimension, *matrix.shape)
    if dimension == 0:
        return np.zeros((matrix.shape[1], 0), dtype=np.float32)
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits

    # Only one thread is used, since the rounding of a product depends on how threads divide it.
    with threadpool_limits(limits=1):
        _, strengths, directions = randomized_svd(
            matrix, n_components=dimension, n_iter=options.iterations, random_state=options.seed
        )
    return np.ascontiguousarray(directions[strengths > _MIN_SINGULAR_VALUE * strengths[0]].T, dtype=np.float32)


def _sublinear(count: int) -> float:
    return 1 + math.log(count)


def _encode_vocabulary(vocabulary: Iterable[str]) -> bytes:
    return msgspec.json.encode(list(vocabulary))
