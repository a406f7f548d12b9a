"""BM25 as Lucene 9.9 computes it (``BM25Similarity``).

The score of a term in a field is ``idf(t) · tf / (tf + k1 · (1 − b + b · |d| / avg))``. A document's score is the sum
over the question's terms of the score in ``contents`` and :attr:`Bm25.title_boost` times the score in ``title``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec


class Bm25(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters with which an index is scored, kept in its manifest.

    ``title_boost`` is the weight of a match in the title relative to the same match in the contents. On the development
    sets 0.2 to 0.3 was best for abstracts with titles (CACM, nDCG@10: 0.484 with 0, 0.511 with 0.3). It cost the least
    where titles are names of articles (wiki-en, right record first: 0.765 with 0, 0.760 with 0.2, 0.669 with 1).
    """

    k1: float = 0.9
    b: float = 0.4
    title_boost: float = 0.2


def idf(document_frequency: int, documents: int) -> float:
    """Return ``ln(1 + (N − df + ½) / (df + ½))``: positive, largest for a term in no document, 0 in an empty index."""
    if not documents:
        return 0.0
    return math.log(1 + (documents - document_frequency + 0.5) / (document_frequency + 0.5))


class FieldScores(NamedTuple):
    """Computes what each term of a question adds to a document's score in one field. One object serves many documents.

    Attributes:
        idf: The idf of each of the question's terms in the field.
        average_length: The field's mean length in terms.
        parameters: The index's parameters.
    """

    idf: Mapping[str, float]
    average_length: float
    parameters: Bm25

    def of(self, counts: Mapping[str, int], length: int) -> dict[str, float]:
        """Return the score of each term in ``counts``.

        Args:
            counts: How often the field has each of the question's terms.
            length: The field's length in terms.
        """
        if not counts:
            return {}
        k1, b = self.parameters.k1, self.parameters.b
        norm = k1 * (1 - b + b * byte_length(length) / self.average_length)
        idfs = self.idf
        return {term: idfs[term] * count / (count + norm) for term, count in counts.items()}


def byte_length(length: int) -> int:
    """Return the field length that Lucene remembers: exact below 40, then rounded down to four significant bits.

    Lucene keeps a length in one byte (``SmallFloat.intToByte4``). Only the same rounding gives scores equal to its own.

    >>> [byte_length(n) for n in (39, 40, 41, 42, 1000)]
    [39, 40, 40, 42, 984]
    """
    return length if length < _EXACT_LENGTHS else _EXACT_LENGTHS + _decode(_encode(length - _EXACT_LENGTHS))


def _encode(value: int) -> int:
    bits = value.bit_length()
    return value if bits < 4 else ((value >> (bits - 4)) & 0x07) | ((bits - 3) << 3)


def _decode(code: int) -> int:
    shift = (code >> 3) - 1
    return code & 0x07 if shift == -1 else ((code & 0x07) | 0x08) << shift


_EXACT_LENGTHS = 255 - _encode(2**31 - 1)
