"""Read topics and qrels in TREC, BEIR and TSV formats."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.benchmarks import read_benchmark
from shrag.corpora.formats.trec import read_tags
from shrag.corpora.readers.item import decode_object
from shrag.corpora.readers.source import LONGEST_LINE, read_head, read_lines
from shrag.corpora.records import Qrel, Topic
from shrag.corpora.text.cleaning import plain_line
from shrag.messages.text import Text


def read_text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line that is not blank; raises :class:`CorpusError` if a line is not UTF-8."""
    for line in read_lines(path):
        if line.data is None:
            raise CorpusError(
                Text(
                    "{path} line {number} is longer than {longest_line} bytes: this is not a file of this format.",
                    path=path,
                    number=line.number,
                    longest_line=LONGEST_LINE,
                )
            )
        try:
            text = line.data.decode("utf-8")
        except UnicodeDecodeError:
            raise CorpusError(
                Text("{path} line {number} is not UTF-8: convert the file to UTF-8.", path=path, number=line.number)
            ) from None
        if text.strip():
            yield line.number, text


_ID_KEYS = ("_id", "qid", "query_id", "id")
_TEXT_KEYS = ("text", "question", "query", "title")
_NESTED_KEY = "qas"
_BEIR_HEADER = ("query-id", "corpus-id", "score")
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description|Narrative)\s*:", re.IGNORECASE)
_TITLE_TAGS = ("title", "query", "question")
_PART_TAGS = ("num", "desc", "narr", *_TITLE_TAGS)
_TOPIC_TAGS = ("top", "topic")
_NUMBER = re.compile(r"\b(?:number|id|num)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def read_topics(path: Path) -> list[Topic]:
    """Read topics from a file whose layout is detected.

    The layouts are:

    * GPQA and SuperGPQA (:mod:`shrag.corpora.formats.benchmarks`);
    * lines of qid, a tab and the question;
    * JSON objects, one per line, with ``_id`` and ``text``, or with a list of such objects under ``qas``;
    * TREC's ``<top>`` with ``<num>`` and ``<title>``, or ``<desc>`` if the title is empty.

    Blank lines are skipped. Qids are returned in NFC, as :func:`read_qrels` returns them.

    Raises:
        CorpusError: A line is not a topic, a qid has a space or occurs twice, or there is no topic.
    """
    head = read_head(path, 4_096).lstrip()
    benchmark = read_benchmark(path)
    found: Iterable[tuple[int, Topic]]
    if benchmark is not None:
        found = ((each.line, Topic(each.qid, each.text)) for each in benchmark)
    elif head.startswith(b"{"):
        found = _json_topics(path)
    elif head.startswith(b"<"):
        found = _trec_topics(path)
    else:
        found = _tab_topics(path)
    topics: dict[str, Topic] = {}
    for number, topic in ((number, Topic(_nfc(topic.qid), topic.text)) for number, topic in found):
        if any(map(str.isspace, topic.qid)):
            raise CorpusError(
                Text(
                    "{path} line {number}: the qid {qid!r} has a space, which separates the columns of a run file: "
                    "write it without spaces.",
                    path=path,
                    number=number,
                    qid=topic.qid,
                )
            )
        if topic.qid in topics:
            raise CorpusError(
                Text(
                    "{path} line {number} gives topic {qid} a second time: each qid may occur once.",
                    path=path,
                    number=number,
                    qid=topic.qid,
                )
            )
        topics[topic.qid] = topic
    if not topics:
        raise CorpusError(
            Text(
                "{path} holds no topic: expected lines of qid, a tab, and the question, or JSON objects with "
                "_id and text, or TREC's <top> with <num> and <title>.",
                path=path,
            )
        )
    return list(topics.values())


def questions_in(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the questions of an object: those listed under ``qas``, as in SQuAD, or else the object itself.

    An element of the list that is not an object becomes an empty object, which the caller rejects.
    """
    listed = fields.get(_NESTED_KEY)
    if not isinstance(listed, list):
        return [fields]
    return [each if isinstance(each, dict) else {} for each in listed]


def read_qrels(path: Path) -> list[Qrel]:
    """Read relevance judgments from a file whose layout is detected; any whitespace separates the columns.

    The layouts are ``qid iteration docid relevance``, as in TREC and MIRACL, and BEIR's ``qid docid relevance`` after
    the header ``query-id corpus-id score``. Qids and docids are returned in NFC, as the docids of records are stored.

    Raises:
        CorpusError: A line is not a judgment, a document is judged twice for a topic, or there is no judgment.
    """
    qrels: list[Qrel] = []
    judged: set[tuple[str, str]] = set()
    beir = False
    for number, text in read_text_lines(path):
        if not qrels and not beir and tuple(text.split()) == _BEIR_HEADER:
            beir = True
            continue
        qrel = _judgement(path, number, text.split(), beir)
        if (qrel.qid, qrel.docid) in judged:
            raise CorpusError(
                Text(
                    "{path} line {number} judges {docid} for topic {qid} a second time: keep one of them.",
                    path=path,
                    number=number,
                    docid=qrel.docid,
                    qid=qrel.qid,
                )
            )
        judged.add((qrel.qid, qrel.docid))
        qrels.append(qrel)
    if not qrels:
        raise CorpusError(
            Text(
                "{path} holds no judgement: expected lines of qid, 0, docid, relevance, or BEIR's query-id, "
                "corpus-id, score under that header.",
                path=path,
            )
        )
    return qrels


def _tab_topics(path: Path) -> Iterator[tuple[int, Topic]]:
    for number, text in read_text_lines(path):
        qid, tab, question = text.partition("\t")
        qid, question = qid.strip(), question.strip()
        if not tab or not qid or not question:
            raise CorpusError(
                Text(
                    "{path} line {number} is not a topic: expected qid, a tab, and the question.",
                    path=path,
                    number=number,
                )
            )
        yield number, Topic(qid, question)


def _json_topics(path: Path) -> Iterator[tuple[int, Topic]]:
    for number, text in read_text_lines(path):
        fields = decode_object(text.encode())
        if isinstance(fields, str):
            raise CorpusError(
                Text("{path} line {number} is not a topic: {fields}.", path=path, number=number, fields=fields)
            )
        for asked in questions_in(fields):
            qid, text_asked = (
                str(next((asked[key] for key in keys if isinstance(asked.get(key), str | int)), "")).strip()
                for keys in (_ID_KEYS, _TEXT_KEYS)
            )
            question = plain_line(text_asked)
            if not qid or not question:
                raise CorpusError(
                    Text(
                        "{path} line {number} is not a topic: expected an object with _id and text.",
                        path=path,
                        number=number,
                    )
                )
            yield number, Topic(qid, question)


def _trec_topics(path: Path) -> Iterator[tuple[int, Topic]]:
    lines = list(read_text_lines(path))
    numbers = [number for number, _ in lines]
    at, start, parts = 0, 0, dict[str, str]()
    open_part, begins_line, is_open = "", False, False
    for tagged in read_tags("\n".join(text for _, text in lines)):
        if tagged.tag in _TOPIC_TAGS:
            if is_open:
                raise _unclosed(path, numbers[start])
            is_open = True
            start, parts = at, {"num": match.group(1)} if (match := _NUMBER.search(tagged.attributes)) else {}
            open_part = ""
        elif tagged.tag.removeprefix("/") in _TOPIC_TAGS:
            yield numbers[start], _trec_topic(path, numbers[start], parts)
            open_part, parts, is_open = "", {}, False
        elif open_part and not begins_line and tagged.tag.removeprefix("/") not in _PART_TAGS:
            parts[open_part] += tagged.source + tagged.text  # no tag of topics, but text: List<String>
        elif tagged.tag.startswith("/"):
            open_part = ""
        else:
            part = "title" if tagged.tag in _TITLE_TAGS else tagged.tag
            open_part = "" if part in parts else part
            parts.setdefault(part, tagged.text)
        before = tagged.text.rpartition("\n")
        begins_line = bool(before[1]) and not before[2].strip()
        at += tagged.text.count("\n")
    if is_open:
        raise _unclosed(path, numbers[start])


def _unclosed(path: Path, number: int) -> CorpusError:
    return CorpusError(Text("{path} line {number}: this topic is not closed by </top>.", path=path, number=number))


def _trec_topic(path: Path, number: int, parts: dict[str, str]) -> Topic:
    qid, title, description = (_unlabelled(parts.get(part, "")) for part in ("num", "title", "desc"))
    question = title or description
    if not qid or not question:
        raise CorpusError(
            Text(
                "{path} line {number} is not a topic: expected <num> and <title> between <top> and </top>.",
                path=path,
                number=number,
            )
        )
    return Topic(qid, question)


def _unlabelled(text: str) -> str:
    return plain_line(_LABEL.sub("", text))


def _nfc(identifier: str) -> str:
    return unicodedata.normalize("NFC", identifier)


def _judgement(path: Path, number: int, parts: list[str], beir: bool) -> Qrel:
    try:
        if beir:
            qid, docid, relevance = parts
        else:
            qid, _, docid, relevance = parts
        return Qrel(_nfc(qid), _nfc(docid), int(relevance))
    except ValueError:
        expected = "query-id, corpus-id, score" if beir else "qid, 0, docid, relevance"
        raise CorpusError(
            Text(
                "{path} line {number} is not a judgement: expected {expected}.",
                path=path,
                number=number,
                expected=expected,
            )
        ) from None
