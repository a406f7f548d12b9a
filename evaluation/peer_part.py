"""A peer's ranking of a set's own records, as outcomes: the same questions, the same judgements, another engine."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from time import perf_counter

import msgspec

from shrag.corpora.records import Record, Topic
from shrag.evaluation.outcome import Asked, ranked
from shrag.evaluation.peers import find_peer, open_peer

STAGE = "ranking"
"""The one stage a peer's time has: from the question's text to its hits."""


def check_peer(peer: str) -> None:
    """Have the peer rank one record, so that one that is not installed is found out before any question is asked.

    Raises :class:`~shrag.evaluation.errors.EvaluationError` and :class:`~shrag.indexing.errors.PartMissing`.
    """
    with find_peer(peer).open([("d", "a word")]) as search:
        search("word", 1)


def ask_peer(
    peer: str, records: Iterable[Record], topics: Sequence[Topic], judged: Mapping[str, Mapping[str, int]], k: int
) -> Generator[Asked, None, None]:
    """Yield what the peer ranks for each topic, one after the other, with its time.

    The peer indexes the records first, which no question's time has in it. Nothing of one question is left for the
    next, so that a part can go on behind any of them.
    """
    with open_peer(peer, list(records)) as search:
        for topic in topics:
            begun = perf_counter()
            hits = search(topic.text, k)
            taken = perf_counter() - begun
            yield msgspec.structs.replace(ranked(topic.qid, hits, judged[topic.qid]), seconds={STAGE: taken})
