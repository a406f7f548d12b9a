"""BM25 by bm25s; the only module that imports it.

``bm25s``: words as its tokenizer finds them, English stop words left out, as it does where nothing is said.
``bm25s-english``: Snowball's English stemmer beside them, as its documentation shows. ``bm25s-kiwi``: our own analysis.
All with its own parameters: Lucene's formula, k1 1.5, b 0.75.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.latin import stem_words
from shrag.indexing.errors import PartMissing
from shrag.indexing.search_engine import Hit

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOKENIZERS = ("bm25s", "bm25s-english", "bm25s-kiwi")


class Bm25sPeer:
    """Implements :class:`~shrag.evaluation.peers.base.Peer` in memory."""

    def __init__(self, name: str) -> None:
        if name not in TOKENIZERS:
            raise ValueError(f"name must be one of {', '.join(TOKENIZERS)}, got {name!r}")
        self.name = name

    @contextmanager
    def open(self, contents: Sequence[tuple[str, str]]) -> Iterator[Callable[[str, int], list[Hit]]]:
        """See :class:`~shrag.evaluation.peers.base.Peer`."""
        library = _import_library()
        tokenize = self._tokenizer(library)
        # In the order in which ties are to be broken.
        docids, texts = zip(*sorted(contents), strict=True) if contents else ((), ())
        tokens = tokenize(texts)
        if not any(tokens):
            yield lambda question, k: []
            return
        index = library.BM25()
        index.index(tokens, show_progress=False)
        known = index.vocab_dict

        def search(question: str, k: int) -> list[Hit]:
            asked = [term for term in tokenize([question])[0] if term in known]
            return _best(docids, index.get_scores(asked), k) if asked else []

        yield search

    def _tokenizer(self, library: Any) -> Callable[[Sequence[str]], list[list[str]]]:  # noqa: ANN401  (no types)
        if self.name == "bm25s-kiwi":
            return KoreanEnglishAnalyzer().terms
        stemmer = stem_words if self.name == "bm25s-english" else None

        def tokenize(texts: Sequence[str]) -> list[list[str]]:
            found: list[list[str]] = library.tokenize(
                list(texts), stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
            )
            return found

        return tokenize


def _best(docids: Sequence[str], scores: NDArray[np.float32], k: int) -> list[Hit]:
    order = np.argsort(-scores, kind="stable")[:k]
    return [Hit(docids[place], float(scores[place])) for place in order if scores[place] > 0]


def _import_library() -> Any:  # noqa: ANN401
    try:
        import bm25s
    except ImportError as error:
        raise PartMissing(f"bm25s is not installed ({error}): run `pip install shrag[peers]`.") from error
    return bm25s
