"""TREC run files, in the order in which trec_eval reads them."""

from __future__ import annotations

import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.topics import read_text_lines
from shrag.evaluation.errors import EvaluationError
from shrag.indexing.search_engine import Hit

_TAG = re.compile(r"\S+")


class RunLine(NamedTuple):
    """One hit of one topic in a run."""

    qid: str
    docid: str
    rank: int
    score: float
    tag: str


def write_topic(stream: TextIO, qid: str, hits: Sequence[Hit], tag: str) -> None:
    """Write the hits of one topic, in their order, which is the ranking whatever the scores are.

    Evaluation tools sort by score, as 32-bit numbers, and break ties by docid, each in its own way: scores are written
    strictly falling, a tied or rising one lowered to the next 32-bit number below its predecessor.
    """
    if not _TAG.fullmatch(tag):
        raise EvaluationError(f"{tag!r} cannot tag a run: use one word without spaces.")
    score = np.float32(np.inf)
    for rank, hit in enumerate(hits, 1):
        score = min(np.float32(hit.score), np.nextafter(score, np.float32(-np.inf)))
        stream.write(f"{qid} Q0 {hit.docid} {rank} {score:.9g} {tag}\n")


def read_run(path: Path) -> list[RunLine]:
    """Read a run file, plain or gzip, in its order.

    Raises :class:`EvaluationError` naming the first line that is none, whose score is no number, or that has a document
    of a topic a second time. A file without a line is a run that found nothing.
    """
    return list(_parse(path))


@contextmanager
def open_run(path: Path) -> Iterator[TextIO]:
    """Open ``path`` for writing a run; a name that ends in ``.gz`` is compressed, the same lines to the same bytes."""
    with path.open("wb") as file:
        if path.suffix != ".gz":
            with io.TextIOWrapper(file, encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
        ):
            yield stream


def _parse(path: Path) -> Iterator[RunLine]:
    seen: set[tuple[str, str]] = set()
    try:
        for number, text in read_text_lines(path):
            line = _run_line(text)
            if line is None:
                raise EvaluationError(f"{path} line {number} is no run line: expected qid Q0 docid rank score tag.")
            if isnan(line.score):
                raise EvaluationError(f"{path} line {number} has a score that is no number: a score orders the hits.")
            if (line.qid, line.docid) in seen:
                raise EvaluationError(
                    f"{path} line {number} gives topic {line.qid} the document {line.docid} a second time: each may "
                    "stand once for a topic."
                )
            seen.add((line.qid, line.docid))
            yield line
    except CorpusError as error:
        raise EvaluationError(str(error)) from None


def _run_line(text: str) -> RunLine | None:
    try:
        qid, _, docid, rank, score, tag = text.split()
        return RunLine(qid, docid, int(rank), float(score), tag)
    except ValueError:
        return None


def trec_order(run: Iterable[RunLine]) -> dict[str, list[str]]:
    """Return the documents of every topic, best first, as trec_eval 9 orders them.

    It ignores the rank column and sorts by score, as a 32-bit number; documents of one score stand in falling order of
    their identifiers. Raises :class:`EvaluationError` for a document that a topic has twice, and for a score that is no
    number.
    """
    topics: dict[str, tuple[list[str], list[float]]] = {}
    for line in run:
        docids, scores = topics.setdefault(line.qid, ([], []))
        docids.append(line.docid)
        scores.append(line.score)
    return {qid: trec_ranking(qid, docids, scores) for qid, (docids, scores) in topics.items()}


def trec_ranking(qid: str, docids: Sequence[str], scores: Sequence[float]) -> list[str]:
    """Return the documents of one topic in that order; errors as :func:`trec_order`."""
    if len(set(docids)) < len(docids):
        twice = Counter(docids).most_common(1)[0][0]
        raise EvaluationError(f"Topic {qid} has {twice} twice in the run: each document may stand once for a topic.")
    with np.errstate(over="ignore"):  # trec_eval, too, takes what exceeds 32 bits for infinite
        narrow = np.array(scores, dtype=np.float64).astype(np.float32)
    if np.isnan(narrow).any():
        docid = docids[int(np.isnan(narrow).argmax())]
        raise EvaluationError(f"Topic {qid} gives {docid} a score that is no number, so it has no place in the order.")
    return [docid for _, docid in sorted(zip(narrow.tolist(), docids, strict=True), reverse=True)]
