"""TREC run files: ``qid Q0 docid rank score tag``, one line a hit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from shrag.corpora.errors import CorpusError
from shrag.corpora.lines import read_lines
from shrag.evaluation.errors import EvaluationError
from shrag.indexing.engine import Hit

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
    """Read a run file, plain or gzip; raises :class:`EvaluationError` naming the first line that is none."""
    return list(_parse(path))


def _parse(path: Path) -> Iterator[RunLine]:
    try:
        for line in read_lines(path):
            text = (line.data or b"").decode("utf-8", "replace")
            if not text.strip():
                continue
            try:
                qid, _, docid, rank, score, tag = text.split()
                yield RunLine(qid, docid, int(rank), float(score), tag)
            except ValueError:
                raise EvaluationError(
                    f"{path} line {line.number} is no run line: expected qid Q0 docid rank score tag."
                ) from None
    except CorpusError as error:
        raise EvaluationError(str(error)) from None
