"""Other systems' rankings over the same records and topics, to compare ours with. Every peer has its own defaults.

Each is given a record's title and text together. What it makes of them is its own affair, but for the order of equal
scores, which is by docid in all of them, so that a run is the same each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from shrag.corpora.records import Record, Topic
from shrag.evaluation.anserini_peer import AnseriniPeer
from shrag.evaluation.bm25s_peer import Bm25sPeer
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.runs import RunLine
from shrag.indexing.engine import Hit


class Peer(Protocol):
    """Ranks records for topics in one go. Keeps nothing behind."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""

    def search(self, contents: Sequence[tuple[str, str]], questions: Sequence[str], k: int) -> list[list[Hit]]:
        """Return at most ``k`` hits for each question, best first, ties by docid.

        ``contents`` are pairs of docid and text, each docid once. What shares no term with a question is no hit of it.
        Raises :class:`~shrag.indexing.errors.PartMissing` where the peer is not installed.
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


def rank(peer: str, records: Sequence[Record], topics: Sequence[Topic], k: int) -> list[RunLine]:
    """Return the run of the peer called ``peer``: the topics in their order, at most ``k`` lines each, best first.

    Raises :class:`EvaluationError` for a peer there is not, ``k`` below 1 and a docid given twice, and
    :class:`~shrag.indexing.errors.PartMissing` where the peer is not installed.
    """
    ranking = find_peer(peer)
    if k < 1:
        raise EvaluationError(f"k is {k}: ask for at least 1 record a topic.")
    contents = {record.docid: f"{record.title}\n{record.text}" for record in records}
    if len(contents) < len(records):
        raise EvaluationError(f"{len(records) - len(contents)} docids are given twice: give each record once.")
    found = ranking.search(list(contents.items()), [topic.text for topic in topics], k)
    return [
        RunLine(topic.qid, hit.docid, place, hit.score, ranking.name)
        for topic, hits in zip(topics, found, strict=True)
        for place, hit in enumerate(hits, 1)
    ]
