"""Read and write TREC run files, and order documents as trec_eval does."""

from __future__ import annotations

import gzip
import io
import re
import unicodedata
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
from shrag.messages.text import Text, message_of

_TAG = re.compile(r"\S+")


class RunLine(NamedTuple):
    """One line of a run: a document that was retrieved for a topic.

    ``rank`` is the number in the file. The order of documents does not depend on it.
    """

    qid: str
    docid: str
    rank: int
    score: float
    tag: str


def write_topic(stream: TextIO, qid: str, hits: Sequence[Hit], tag: str) -> None:
    """Write the hits of one topic. Their order is the ranking, whatever the scores are.

    Evaluation tools sort by score, as a 32-bit number, and break ties by docid in different ways. So the written scores
    strictly decrease: a score that is not below its predecessor is lowered to the next smaller 32-bit number. Raises
    :class:`EvaluationError` if ``tag`` is not one word.
    """
    if not _TAG.fullmatch(tag):
        raise EvaluationError(Text("{tag!r} cannot be the tag of a run: use one word without spaces.", tag=tag))
    score = np.float32(np.inf)
    for rank, hit in enumerate(hits, 1):
        score = min(np.float32(hit.score), np.nextafter(score, np.float32(-np.inf)))
        stream.write(f"{qid} Q0 {hit.docid} {rank} {score:.9g} {tag}\n")


def read_run(path: Path) -> list[RunLine]:
    """Read a run file, plain or gzip, in its order. An empty file is an empty run.

    Text is returned in NFC, because qids and docids of judgements are.

    Raises:
        EvaluationError: The file cannot be read; or a line is not a run line, has a score that is not a number, or
            repeats a document of a topic. The message names the first such line.
    """
    lines: list[RunLine] = []
    seen: set[tuple[str, str]] = set()
    try:
        for number, text in read_text_lines(path):
            line = _run_line(text)
            if line is None:
                raise EvaluationError(
                    Text(
                        "{path} line {number} is not a run line: expected qid Q0 docid rank score tag.",
                        path=path,
                        number=number,
                    )
                )
            if isnan(line.score):
                raise EvaluationError(
                    Text(
                        "{path} line {number} has a score that is not a number: scores order the hits.",
                        path=path,
                        number=number,
                    )
                )
            if (line.qid, line.docid) in seen:
                raise EvaluationError(
                    Text(
                        "{path} line {number} has the document {docid} of topic {qid} a second time: a "
                        "document may occur once per topic.",
                        path=path,
                        number=number,
                        docid=line.docid,
                        qid=line.qid,
                    )
                )
            seen.add((line.qid, line.docid))
            lines.append(line)
    except CorpusError as error:
        raise EvaluationError(message_of(error)) from None
    return lines


@contextmanager
def open_run(path: Path) -> Iterator[TextIO]:
    """Open ``path`` to write a run, and replace a file that is there.

    A path that ends in ``.gz`` is compressed, without a time stamp, so that the same run gives the same bytes.
    """
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


def _run_line(text: str) -> RunLine | None:
    try:
        qid, _, docid, rank, score, tag = unicodedata.normalize("NFC", text).split()
        return RunLine(qid, docid, int(rank), float(score), tag)
    except ValueError:
        return None


def trec_order(run: Iterable[RunLine]) -> dict[str, list[str]]:
    """Return qid → docids, best first, in the order of trec_eval 9.

    trec_eval ignores the rank column. It sorts by score as a 32-bit number, and ties by decreasing docid. Raises
    :class:`EvaluationError` if a topic has a document twice, or a score is not a number.
    """
    topics: dict[str, tuple[list[str], list[float]]] = {}
    for line in run:
        docids, scores = topics.setdefault(line.qid, ([], []))
        docids.append(line.docid)
        scores.append(line.score)
    return {qid: trec_ranking(qid, docids, scores) for qid, (docids, scores) in topics.items()}


def trec_ranking(qid: str, docids: Sequence[str], scores: Sequence[float]) -> list[str]:
    """Return the docids of the topic ``qid`` in the order of :func:`trec_order`.

    ``scores`` are those of ``docids``. Only messages use ``qid``. Raises as :func:`trec_order` does.
    """
    if len(set(docids)) < len(docids):
        repeated = Counter(docids).most_common(1)[0][0]
        raise EvaluationError(
            Text(
                "Topic {qid} has {repeated} twice in the run: a document may occur once per topic.",
                qid=qid,
                repeated=repeated,
            )
        )
    with np.errstate(over="ignore"):  # trec_eval also turns scores too large for 32 bits into infinity
        single = np.array(scores, dtype=np.float64).astype(np.float32)
    if np.isnan(single).any():
        docid = docids[int(np.isnan(single).argmax())]
        raise EvaluationError(
            Text(
                "Topic {qid} has a score for {docid} that is not a number, so it cannot be ranked.",
                qid=qid,
                docid=docid,
            )
        )
    return [docid for _, docid in sorted(zip(single.tolist(), docids, strict=True), reverse=True)]
