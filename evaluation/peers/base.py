"""Peer protocol: another system's ranking over a set's own records.

Each is given a record's title and text together. What it makes of them is its own affair, but for the order of equal
scores, which is by docid in all of them, so that a run is the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import Protocol

import msgspec

from shrag.corpora.records import Record, Topic
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import RunLine
from shrag.evaluation.peers.anserini import AnseriniPeer
from shrag.evaluation.peers.bm25s import Bm25sPeer
from shrag.evaluation.questions.outcome import Asked, ranked
from shrag.indexing.search_engine import Hit


class Peer(Protocol):
    """Ranks records for questions, one by one. Keeps nothing behind."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""

    def open(self, contents: Sequence[tuple[str, str]]) -> AbstractContextManager[Callable[[str, int], list[Hit]]]:
        """Index ``contents``, pairs of docid and text, each docid once; give what ranks a question at most ``k`` deep.

        The best comes first, ties by docid. What shares no term with the question is no hit of it. Raises
        :class:`~shrag.indexing.errors.PartMissing` where the peer is not installed.
        """


PEERS: Mapping[str, Peer] = {
    peer.name: peer
    for peer in (
        AnseriniPeer("anserini-ko"),
        AnseriniPeer("anserini-en"),
        Bm25sPeer("bm25s"),
        Bm25sPeer("bm25s-english"),
        Bm25sPeer("bm25s-kiwi"),
    )
}


def find_peer(name: str) -> Peer:
    """Return the peer called ``name``; raises :class:`EvaluationError` naming those there are."""
    try:
        return PEERS[name]
    except KeyError:
        raise EvaluationError(f"There is no peer {name!r}: use one of {', '.join(PEERS)}.") from None


@contextmanager
def open_peer(peer: str, records: Sequence[Record]) -> Iterator[Callable[[str, int], list[Hit]]]:
    """Have the peer called ``peer`` index the records, and give what ranks a question.

    Raises :class:`EvaluationError` for a peer there is not and a docid given twice, and as :meth:`Peer.open` does.
    """
    ranking = find_peer(peer)
    contents = {record.docid: f"{record.title}\n{record.text}" for record in records}
    if len(contents) < len(records):
        raise EvaluationError(f"{len(records) - len(contents)} docids are given twice: give each record once.")
    with ranking.open(list(contents.items())) as search:
        yield search


def rank(peer: str, records: Sequence[Record], topics: Sequence[Topic], k: int) -> list[RunLine]:
    """Return the run of the peer called ``peer``: the topics in their order, at most ``k`` lines each, best first.

    Raises :class:`EvaluationError` for ``k`` below 1, and what :func:`open_peer` raises.
    """
    if k < 1:
        raise EvaluationError(f"k is {k}: ask for at least 1 record a topic.")
    with open_peer(peer, records) as search:
        return [
            RunLine(topic.qid, hit.docid, place, hit.score, peer)
            for topic in topics
            for place, hit in enumerate(search(topic.text, k), 1)
        ]


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
