"""Questions and judgements in the field's plain formats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.lines import read_lines
from shrag.corpora.records import Qrel, Topic


def read_topics(path: Path) -> list[Topic]:
    """Read a TSV of ``qid<TAB>question``; blank lines are skipped, a qid may stand once."""
    topics: dict[str, Topic] = {}
    for number, text in _text_lines(path):
        qid, tab, question = text.partition("\t")
        qid = qid.strip()
        if not tab or not qid:
            raise CorpusError(f"{path} line {number} is no topic: expected qid, a tab, and the question.")
        if qid in topics:
            raise CorpusError(f"{path} line {number} gives topic {qid} a second time: each qid may stand once.")
        topics[qid] = Topic(qid, question.strip())
    if not topics:
        raise CorpusError(f"{path} holds no topic: expected lines of qid, a tab, and the question.")
    return list(topics.values())


def read_qrels(path: Path) -> list[Qrel]:
    """Read TREC judgements: ``qid iteration docid relevance``, separated by any whitespace."""
    qrels: list[Qrel] = []
    for number, text in _text_lines(path):
        parts = text.split()
        try:
            qid, _, docid, relevance = parts
            qrels.append(Qrel(qid, docid, int(relevance)))
        except ValueError:
            raise CorpusError(f"{path} line {number} is no judgement: expected qid, 0, docid, relevance.") from None
    if not qrels:
        raise CorpusError(f"{path} holds no judgement: expected lines of qid, 0, docid, relevance.")
    return qrels


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    for line in read_lines(path):
        try:
            text = (line.data or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise CorpusError(f"{path} line {line.number} is not UTF-8: convert the file to UTF-8.") from None
        if text.strip():
            yield line.number, text
