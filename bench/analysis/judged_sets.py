"""Judged sets as bags of eojeols, and BM25 over them by sparse matrix products.

An eojeol is a word between spaces. A variant of the analyzer is a table eojeol → terms, and documents and questions are
counts of eojeols. So one sparse product gives the term counts of a variant. It takes seconds, while building an index
takes minutes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.text.cleaning import clean_text
from shrag.corpora.text.sentences import detect_language, split_sentences
from shrag.indexing.analysis.korean_english import eojeols
from shrag.indexing.bm25 import Bm25, byte_length

DEPTH = 100
PAIR = "\0"
"""Separates the eojeols of a pair. Adjacent eojeols without punctuation between them are also counted as a pair."""
_BLOCK = 512

Terms = Callable[[str], Iterable[str]]


class Document(NamedTuple):
    """A document; its contents are title and text."""

    docid: str
    title: str
    text: str


@dataclass(frozen=True)
class JudgedSet:
    """Documents, questions, and for each question its relevant documents (document number → relevance)."""

    name: str
    documents: Sequence[Document]
    questions: Sequence[str]
    relevant: Sequence[Mapping[int, int]]


class Quality(NamedTuple):
    """nDCG@10 and R@100, one value per question."""

    ndcg: np.ndarray[Any, Any]
    recall: np.ndarray[Any, Any]


def read_sets(data: Path) -> Iterator[JudgedSet]:
    """Yield the judged sets that exist under ``data``."""
    for name, docs, judged, suffix in (
        ("wiki-ko", "wiki-ko/corpus/docs-0.jsonl.gz", "wiki-ko", ""),
        ("wiki-ko boolq", "wiki-ko/corpus/docs-0.jsonl.gz", "wiki-ko", "-boolq"),
        ("multihop-ko", "multihop-ko/corpus/docs-0.jsonl.gz", "multihop-ko", ""),
        ("cranfield", "scholarly-ir/cranfield/docs.jsonl.gz", "scholarly-ir/cranfield", ""),
        ("cacm", "scholarly-ir/cacm/docs.jsonl.gz", "scholarly-ir/cacm", ""),
        ("pubmed-qa", "pubmed-qa/docs.jsonl.gz", "pubmed-qa", ""),
        ("wiki-en", "wiki-en/corpus/docs-0.jsonl.gz", "wiki-en", ""),
    ):
        if (data / docs).is_file():
            folder = data / judged
            yield _judged(
                name, _read_documents(data / docs), folder / f"topics{suffix}.tsv", folder / f"qrels{suffix}.txt"
            )
    records = data / "scholarly-ko" / "records.jsonl.gz"
    if records.is_file():
        yield from known_items(_read_documents(records, "CN", "abstract"))


def known_items(records: Sequence[Document]) -> Iterator[JudgedSet]:
    """Yield known-item sets made of records, two for each language of the questions.

    - ``title``: A title is the question for its abstract. Documents have no titles.
    - ``sentence``: The middle sentence of an abstract of at least three sentences is the question for its record. It is
      removed from the record.
    """
    complete = [record for record in records if record.title and record.text]
    bare = [Document(record.docid, "", record.text) for record in complete]
    middles = [_middle(record.text) for record in complete]
    cut = [Document(record.docid, record.title, middle[1]) for record, middle in zip(complete, middles, strict=True)]
    for language in ("ko", "en"):
        own = [n for n, record in enumerate(complete) if detect_language(record.title) == detect_language(record.text)]
        titled = [n for n in own if detect_language(complete[n].title) == language]
        yield JudgedSet(f"sci-{language} title", bare, [complete[n].title for n in titled], [{n: 1} for n in titled])
        asked = [n for n, (middle, _) in enumerate(middles) if middle and detect_language(middle) == language]
        yield JudgedSet(f"sci-{language} sentence", cut, [middles[n][0] for n in asked], [{n: 1} for n in asked])


def _middle(text: str) -> tuple[str, str]:
    spans = split_sentences(text)
    if len(spans) < 3:
        return "", text
    middle = spans[len(spans) // 2]
    return text[middle.start : middle.end], f"{text[: middle.start]} {text[middle.end :]}"


def _judged(name: str, documents: Sequence[Document], topics: Path, qrels: Path) -> JudgedSet:
    numbers = {document.docid: number for number, document in enumerate(documents)}
    judged: dict[str, dict[int, int]] = {}
    for qrel in read_qrels(qrels):
        if qrel.relevance > 0:
            judged.setdefault(qrel.qid, {})[numbers[qrel.docid]] = qrel.relevance
    asked = [topic for topic in read_topics(topics) if topic.qid in judged]
    return JudgedSet(name, documents, [topic.text for topic in asked], [judged[topic.qid] for topic in asked])


def _read_documents(path: Path, docid: str = "docid", text: str = "text") -> list[Document]:
    """Read and clean a file's records, sorted by docid, since ties are ranked by docid."""
    found: list[Document] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = json.loads(line)
            found.append(Document(fields[docid], clean_text(fields["title"]), clean_text(fields[text])))
    return sorted(found)


@dataclass(frozen=True)
class EojeolBags:
    """A judged set as counts of eojeols: one row per document or question, one column per eojeol."""

    judged: JudgedSet
    contents: sparse.csr_matrix
    titles: sparse.csr_matrix
    questions: sparse.csr_matrix


class Vocabulary:
    """The eojeols of all sets, each with a number, which is its column."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def bags(self, judged: JudgedSet) -> EojeolBags:
        """Count the eojeols of a set, with texts split into sentences as in an index."""
        titles = [[document.title] for document in judged.documents]
        contents = [
            [document.title, *(document.text[span.start : span.end] for span in split_sentences(document.text))]
            for document in judged.documents
        ]
        return EojeolBags(
            judged,
            self._count(contents),
            self._count(titles),
            self._count([[question] for question in judged.questions]),
        )

    def _count(self, rows: Sequence[Sequence[str]]) -> sparse.csr_matrix:
        columns: list[int] = []
        ends = [0]
        for texts in rows:
            for text in texts:
                before: tuple[int, str] | None = None
                for start, eojeol in eojeols(text):
                    columns.append(self.numbers.setdefault(eojeol, len(self.numbers)))
                    if before and text[before[0] + len(before[1]) : start].isspace():
                        pair = before[1] + PAIR + eojeol
                        columns.append(self.numbers.setdefault(pair, len(self.numbers)))
                    before = start, eojeol
            ends.append(len(columns))
        return _counts(columns, ends, 2**31 - 1)


def _counts(columns: Sequence[int], ends: Sequence[int], width: int) -> sparse.csr_matrix:
    data = np.ones(len(columns), dtype=np.float32)
    matrix = sparse.csr_matrix(
        (data, np.asarray(columns, np.int32), np.asarray(ends, np.int64)), (len(ends) - 1, width)
    )
    matrix.sum_duplicates()
    return matrix


def term_table(vocabulary: Vocabulary, terms: Terms) -> sparse.csr_matrix:
    """Return the term counts of each eojeol: one row per eojeol, one column per term."""
    numbers: dict[str, int] = {}
    columns: list[int] = []
    ends = [0]
    for eojeol in vocabulary.numbers:
        columns.extend(numbers.setdefault(term, len(numbers)) for term in terms(eojeol))
        ends.append(len(columns))
    return _counts(columns, ends, max(len(numbers), 1))


def judge(bags: EojeolBags, table: sparse.csr_matrix, parameters: Bm25) -> Quality:
    """Rank all documents for every question by BM25, ties by docid, and evaluate the first hundred."""
    width = table.shape[0]
    contents, titles, questions = (
        _widen(matrix, width) @ table for matrix in (bags.contents, bags.titles, bags.questions)
    )
    weights = (_weights(contents, parameters) + parameters.title_boost * _weights(titles, parameters)).T.tocsr()
    found: list[np.ndarray[Any, Any]] = []
    for start in range(0, questions.shape[0], _BLOCK):
        scores = (questions[start : start + _BLOCK] @ weights).toarray()
        found.extend(_first(row) for row in scores)
    return _quality(found, bags.judged.relevant)


def _widen(matrix: sparse.csr_matrix, width: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], width))


def _weights(counts: sparse.csr_matrix, parameters: Bm25) -> sparse.csr_matrix:
    """Return the BM25 weight of each term in each document, as in indexing/bm25.py."""
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    having = lengths > 0  # like Lucene, which counts only documents that have the field
    if not having.any():
        return counts
    norms = np.array([byte_length(int(length)) for length in lengths]) / lengths[having].mean()
    norms = parameters.k1 * (1 - parameters.b + parameters.b * norms)
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(1 + (having.sum() - frequencies + 0.5) / (frequencies + 0.5))
    rows = np.repeat(norms, np.diff(counts.indptr))
    data = idf[counts.indices] * counts.data / (counts.data + rows)
    return sparse.csr_matrix((data, counts.indices, counts.indptr), counts.shape)


def _first(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the numbers of the best documents with a positive score, best first, ties by number."""
    rounded = np.round(scores, 5)  # Lucene's scores have 32 bits, so smaller differences are ties there
    depth = min(DEPTH, len(scores))
    border = np.partition(rounded, len(scores) - depth)[len(scores) - depth]
    chosen = np.flatnonzero((rounded >= border) & (rounded > 0))
    return chosen[np.argsort(-rounded[chosen], kind="stable")][:depth]


def _quality(found: Sequence[np.ndarray[Any, Any]], relevant: Sequence[Mapping[int, int]]) -> Quality:
    discounts = 1 / np.log2(np.arange(2, 12))
    ndcg, recall = np.zeros(len(found)), np.zeros(len(found))
    for number, (ranked, judged) in enumerate(zip(found, relevant, strict=True)):
        gains = np.array([judged.get(int(document), 0) for document in ranked], dtype=float)
        ideal = np.array(sorted(judged.values(), reverse=True)[:10], dtype=float)
        ndcg[number] = gains[:10] @ discounts[: len(gains[:10])] / (ideal @ discounts[: len(ideal)])
        recall[number] = np.count_nonzero(gains) / len(judged)
    return Quality(ndcg, recall)
