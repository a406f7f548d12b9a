"""A peer's ranking of a set's own records, as outcomes: the same questions, the same judgements, another engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shrag.corpora.records import Record, Topic
from shrag.evaluation.outcome import Asked, ranked
from shrag.evaluation.peers import find_peer, rank
from shrag.indexing.engine import Hit


def check_peer(peer: str) -> None:
    """Have the peer rank one record, so that one that is not installed is found out before any question is asked.

    Raises :class:`~shrag.evaluation.errors.EvaluationError` and :class:`~shrag.indexing.errors.PartMissing`.
    """
    find_peer(peer).search([("d", "a word")], ["word"], 1)


def ask_peer(
    peer: str, records: Iterable[Record], topics: Sequence[Topic], judged: Mapping[str, Mapping[str, int]], k: int
) -> Iterator[Asked]:
    """Yield what the peer ranks for each topic; it is asked all of them at once, and its time is not taken."""
    hits: dict[str, list[Hit]] = {topic.qid: [] for topic in topics}
    for line in rank(peer, list(records), topics, k):
        hits[line.qid].append(Hit(line.docid, line.score))
    for topic in topics:
        yield ranked(topic.qid, hits[topic.qid], judged[topic.qid])
