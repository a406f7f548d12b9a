"""The protocol and the registry of peers: other systems that rank the records of a set.

A peer gets a record's title and text as one string. It has its own analysis and parameters. All peers order equal
scores by docid, so that runs are reproducible.
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
from shrag.evaluation.questions.outcome import QuestionRecord, record_ranking
from shrag.indexing.search_engine import Hit
from shrag.messages.text import Text


class Peer(Protocol):
    """A system that ranks records for one question at a time, and stores nothing."""

    @property
    def name(self) -> str:
        """Its name in experiments."""

    def open(self, contents: Sequence[tuple[str, str]]) -> AbstractContextManager[Callable[[str, int], list[Hit]]]:
        """Index pairs of docid and text. Each docid occurs once.

        Returns a context with the search function (question, k) → hits. It finds at most ``k`` hits, best first, ties
        by docid. A record without a term of the question is not a hit. Raises ``DependencyMissing`` if the peer is not
        installed.
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
    """Return the peer called ``name``.

    Raises :class:`EvaluationError` for an unknown name.
    """
    try:
        return PEERS[name]
    except KeyError:
        raise EvaluationError(
            Text("There is no peer {name!r}: use one of {peers}.", name=name, peers=", ".join(PEERS))
        ) from None


@contextmanager
def open_peer(peer: str, records: Sequence[Record]) -> Iterator[Callable[[str, int], list[Hit]]]:
    """Index ``records`` by the peer called ``peer`` and yield its search function (see :meth:`Peer.open`).

    Raises :class:`EvaluationError` if there is no such peer, or two records have the same docid.
    """
    chosen = find_peer(peer)
    contents = {record.docid: f"{record.title}\n{record.text}" for record in records}
    if len(contents) < len(records):
        raise EvaluationError(
            Text(
                "{records_count} records have the docid of another one: give each docid once.",
                records_count=len(records) - len(contents),
            )
        )
    with chosen.open(list(contents.items())) as search:
        yield search


def rank(peer: str, records: Sequence[Record], topics: Sequence[Topic], k: int) -> list[RunLine]:
    """Return the run of the peer called ``peer``: at most ``k`` lines for each topic, best first, in the topics' order.

    Raises :class:`EvaluationError` for ``k`` below 1, and as :func:`open_peer` does.
    """
    if k < 1:
        raise EvaluationError(Text("k must be at least 1, got {k}.", k=k))
    with open_peer(peer, records) as search:
        return [
            RunLine(topic.qid, hit.docid, position, hit.score, peer)
            for topic in topics
            for position, hit in enumerate(search(topic.text, k), 1)
        ]


STAGE = "ranking"
"""The only timed stage of a peer. It lasts from the question's text to the hits."""


def check_peer(peer: str) -> None:
    """Have the peer rank one record, to find a missing or broken peer before a run.

    Raises ``EvaluationError`` or ``DependencyMissing`` if the peer cannot rank.
    """
    with find_peer(peer).open([("d", "a word")]) as search:
        search("word", 1)


def ask_peer(
    peer: str, records: Iterable[Record], topics: Sequence[Topic], judged: Mapping[str, Mapping[str, int]], k: int
) -> Generator[QuestionRecord, None, None]:
    """Yield a record of the peer's ranking for each topic, with the seconds that it took.

    Topics are asked one after the other. The time of indexing does not count. Questions do not affect each other, so a
    part can be resumed after any of them. ``judged`` is qid → docid → relevance.
    """
    with open_peer(peer, list(records)) as search:
        for topic in topics:
            started = perf_counter()
            hits = search(topic.text, k)
            elapsed = perf_counter() - started
            yield msgspec.structs.replace(record_ranking(topic.qid, hits, judged[topic.qid]), seconds={STAGE: elapsed})
