"""Other systems' rankings over the same records and topics, to compare ours with. Every peer has its own defaults.

Each is given a record's title and text together. What it makes of them is its own affair, but for the order of equal
scores, which is by docid in all of them, so that a run is the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from shrag.corpora.records import Record, Topic
from shrag.evaluation.anserini_peer import AnseriniPeer
from shrag.evaluation.bm25s_peer import Bm25sPeer
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.runs import RunLine
from shrag.indexing.engine import Hit


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
