"""BM25 by the library bm25s. Only this module imports it.

``bm25s`` uses the library's default tokenizer and removes English stop words. ``bm25s-english`` adds Snowball's English
stemmer, as the library's documentation shows. ``bm25s-kiwi`` uses SHRAG's analyzer. All three have the library's
defaults: Lucene's formula, k1 1.5, b 0.75.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.latin import stem_words
from shrag.indexing.errors import DependencyMissing
from shrag.indexing.search_engine import Hit
from shrag.messages.text import Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOKENIZERS = ("bm25s", "bm25s-english", "bm25s-kiwi")


class Bm25sPeer:
    """A :class:`~shrag.evaluation.peers.base.Peer` with an index in memory."""

    def __init__(self, name: str) -> None:
        if name not in TOKENIZERS:
            raise ValueError(f"name must be one of {', '.join(TOKENIZERS)}, got {name!r}")
        self.name = name

    @contextmanager
    def open(self, contents: Sequence[tuple[str, str]]) -> Iterator[Callable[[str, int], list[Hit]]]:
        """See :class:`~shrag.evaluation.peers.base.Peer`."""
        library = _import_library()
        tokenize = self._tokenizer(library)
        # Sorted by docid, because ties keep this order.
        docids, texts = zip(*sorted(contents), strict=True) if contents else ((), ())
        tokens = tokenize(texts)
        if not any(tokens):
            yield lambda question, k: []
            return
        index = library.BM25()
        index.index(tokens, show_progress=False)
        vocabulary = index.vocab_dict

        def search(question: str, k: int) -> list[Hit]:
            terms = [term for term in tokenize([question])[0] if term in vocabulary]
            return _best(docids, index.get_scores(terms), k) if terms else []

        yield search

    def _tokenizer(self, library: Any) -> Callable[[Sequence[str]], list[list[str]]]:  # noqa: ANN401  (no types)
        if self.name == "bm25s-kiwi":
            return KoreanEnglishAnalyzer().terms
        stemmer = stem_words if self.name == "bm25s-english" else None

        def tokenize(texts: Sequence[str]) -> list[list[str]]:
            terms: list[list[str]] = library.tokenize(
                list(texts), stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
            )
            return terms

        return tokenize


def _best(docids: Sequence[str], scores: NDArray[np.float32], k: int) -> list[Hit]:
    order = np.argsort(-scores, kind="stable")[:k]
    return [Hit(docids[position], float(scores[position])) for position in order if scores[position] > 0]


def _import_library() -> Any:  # noqa: ANN401
    try:
        import bm25s
    except ImportError as error:
        raise DependencyMissing(
            Text("bm25s is not installed ({error}): run `pip install 'shrag[peers]'`.", error=error)
        ) from error
    return bm25s
