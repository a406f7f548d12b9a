"""A peer's ranking of a set's own records, as outcomes: the same questions, the same judgements, another engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shrag.corpora.records import Record, Topic
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.outcome import Asked


def ask_peer(
    peer: str, records: Iterable[Record], topics: Sequence[Topic], judged: Mapping[str, Mapping[str, int]], k: int
) -> Iterator[Asked]:
    """Yield what the peer ranks for each topic; it is asked all at once, so that a stopped one begins anew."""
    raise ExperimentRejected(f"There is no peer {peer!r}.")
