"""Measure the share of a sentence's words that occur in its own record and in a random one.

    python -m bench.quality.citation_threshold [INDEX]

:data:`shrag.serving.answering.citations.LEAST_SHARED` was chosen by this measurement. Sentences are compared with
records of the same language.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

from bench.data import home
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.serving.retrieval.query_terms import matched_share, text_terms

SENTENCES = 300


def main() -> None:
    """Print the share of sentences that reach each threshold with their own record and with another."""
    name = sys.argv[1] if len(sys.argv) > 1 else "demo"
    index = open_index(home() / "indexes", name)
    chance = random.Random(7)
    sample = [each for each in index.store.sample(2_000) if each.record.text]
    for language in ("ko", "en"):
        records = [each for each in sample if each.record.language == language]
        own, other = shares(index, records, chance)
        for least in (0.2, 0.25, 0.3, 0.35, 0.4, 0.5):
            print(f"{language} {least:.2f}: own record {_reach(own, least):.3f}, another {_reach(other, least):.3f}")


def shares(
    index: OpenIndex, records: Sequence[AnalyzedRecord], chance: random.Random
) -> tuple[list[float], list[float]]:
    """Return the share of each sampled sentence's words in its own record, and in a random one."""
    own: list[float] = []
    other: list[float] = []
    for _ in range(SENTENCES):
        record, another = chance.sample(records, 2)
        start, end = chance.choice(split_sentences(record.record.text))
        words = text_terms(record.record.text[start:end], index)
        if words:
            own.append(matched_share(words, frozenset(record.contents_terms)))
            other.append(matched_share(words, frozenset(another.contents_terms)))
    return own, other


def _reach(values: Sequence[float], least: float) -> float:
    return sum(value >= least for value in values) / len(values)


if __name__ == "__main__":
    main()
