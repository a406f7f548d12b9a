"""The least similarity that a record of a step must have: the paper's, or one that an index gives itself.

RAISE drops what scores below T, 0.84 or 0.80 by its encoder's cosine. T belongs to that encoder: another one gives
unrelated texts 0.2 or 0.8. So an index is asked how similar texts of its own are that have nothing to do with each
other, a record's first sentences and another record, and T is what all but two in a thousand of those pairs stay below.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from shrag.corpora.sentences import split_sentences
from shrag.indexing.analysed import AnalysedRecord, as_passage
from shrag.indexing.manifest import manifest_digest
from shrag.indexing.opening import OpenIndex
from shrag.serving.stepwise.similarity import Similarity

SAMPLE = 64
"""Records that are compared with each other: 4,032 pairs, fewer where some have no text."""

QUANTILE = 0.998
"""Share of unrelated pairs that stay below the threshold."""

_QUERY_SENTENCES = 2  # a logical query has two or three
_KEPT = 32


def learn_threshold(sample: Sequence[AnalysedRecord], similarity: Similarity, quantile: float = QUANTILE) -> float:
    """Return the ``quantile`` of the similarities of each record's first two sentences and every other record.

    Between two pairs it is interpolated. Without a pair there is nothing to go by, and it is minus infinity: nothing
    is dropped.
    """
    passages = [as_passage(analysed) for analysed in sample]
    values: list[float] = []
    for place, analysed in enumerate(sample):
        text = analysed.record.text
        spans = split_sentences(text)[:_QUERY_SENTENCES]
        if spans:
            others = passages[:place] + passages[place + 1 :]
            values.extend(similarity.of(text[spans[0].start : spans[-1].end], others))
    values.sort()
    if not values:
        return float("-inf")
    below, part = divmod(quantile * (len(values) - 1), 1)
    low, high = values[int(below)], values[min(int(below) + 1, len(values) - 1)]
    return low + part * (high - low) if part else low


class LearntThresholds:
    """Thresholds of indexes, each learnt once for a content and a similarity. Safe to share between threads."""

    def __init__(self, sample: int = SAMPLE, quantile: float = QUANTILE) -> None:
        self._sample = sample
        self._quantile = quantile
        self._learnt: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._learning = threading.Lock()

    def of(self, index: OpenIndex, similarity: Similarity) -> float:
        """Return the threshold of ``index`` by ``similarity``; the first to ask waits for it to be learnt."""
        key = (manifest_digest(index.manifest), similarity.name)
        with self._learning:
            if key not in self._learnt:
                self._learnt[key] = learn_threshold(index.store.sample(self._sample), similarity, self._quantile)
                if len(self._learnt) > _KEPT:
                    self._learnt.popitem(last=False)
            return self._learnt[key]
