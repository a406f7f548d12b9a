"""Every development set that a format fits is read whole: no rejects, and as many records as its README says."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from shrag.corpora.formats.columns import parse_columns
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import FORMATS, Format, find_files, table_format
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.records import Record

DATA = Path(os.environ.get("SHRAG_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the development corpora are not at {DATA} (SHRAG_DATA)"),
]
SMART = table_format(parse_columns(["id=docid", "journal=source"]))


@pytest.mark.parametrize(
    ("format", "source", "count"),
    [
        (FORMATS["scienceon"], "scholarly-ko", 4219 + 283),
        (FORMATS["scienceon"], "scholarly-en/records-acl.jsonl.gz", 17934),
        (FORMATS["scienceon"], "scholarly-en/records-arxiv.jsonl.gz", 11434),
        (FORMATS["miracl"], "wiki-ko/corpus", 6718),
        (FORMATS["miracl"], "wiki-en/corpus", 12876),
        (FORMATS["miracl"], "multihop-ko/corpus", 4954),
        (FORMATS["miracl"], "multihop-en/corpus", 10834),
        (SMART, "scholarly-ir/cranfield/docs.jsonl.gz", 1398),
        (SMART, "scholarly-ir/cacm/docs.jsonl.gz", 3204),
        (table_format(parse_columns(["id=docid"])), "pubmed-qa/docs.jsonl.gz", 1000),
    ],
)
def test_every_record_of_a_set_is_read(format: Format, source: str, count: int) -> None:
    lines = [line for file in find_files(format, [DATA / source]) for line in read_source(file, format)]
    assert [line for line in lines if not isinstance(line.outcome, Record)] == []
    assert len(lines) == count


def test_twelve_papers_become_chunks_that_keep_to_the_rules() -> None:
    (file,) = find_files(FORMATS["papers"], [DATA / "paper-qa"])
    records = [line.outcome for line in read_source(file, FORMATS["papers"]) if isinstance(line.outcome, Record)]
    assert len({record.docid.partition("#")[0] for record in records}) == 12
    assert len({record.docid for record in records}) == len(records) > 600
    assert max(len(record.text) for record in records) <= 500
    assert not [record.text for record in records if unicodedata.category(record.text[0]).startswith("P")]
    assert all(record.title for record in records)


@pytest.mark.parametrize(
    ("topics", "questions", "qrels", "judgements"),
    [
        *(
            (
                f"miracl-topics/topics.miracl-v1.0-{split}.tsv",
                asked,
                f"miracl-topics/qrels.miracl-v1.0-{split}.tsv",
                judged,
            )
            for split, asked, judged in (
                ("ko-dev", 213, 3057),
                ("ko-train", 868, 12767),
                ("en-dev", 799, 8350),
                ("en-train", 2863, 29416),
            )
        ),
        ("scholarly-ir/cranfield/topics.tsv", 225, "scholarly-ir/cranfield/qrels.txt", 1836),
        ("scholarly-ir/cacm/topics.tsv", 64, "scholarly-ir/cacm/qrels.txt", 796),
        ("wiki-ko/topics.tsv", 3769, "wiki-ko/qrels.txt", 3769),
        ("wiki-en/topics.tsv", 8366, "wiki-en/qrels.txt", 8366),
    ],
)
def test_every_question_and_judgement_is_read(topics: str, questions: int, qrels: str, judgements: int) -> None:
    assert len(read_topics(DATA / topics)) == questions
    assert len(read_qrels(DATA / qrels)) == judgements
