"""The demonstration corpus is what its README says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.open_corpus import open_corpus
from shrag.corpora.text.sentences import detect_language

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"


def test_it_has_170_clean_records_over_sixteen_fields(tmp_path: Path) -> None:
    manifest = add_corpus(tmp_path, "demo", "scienceon", [DEMO / "records.jsonl"]).manifest
    records = list(open_corpus(tmp_path, "demo")[1])
    assert (manifest.records, manifest.complete) == (170, 162)
    assert manifest.languages == {"en": 59, "ko": 111}
    assert len({record.docid.split("-")[1] for record in records}) == 16
    assert not [record.docid for record in records if "&" in record.text and ";" in record.text.partition("&")[2][:8]]
    assert not [record.docid for record in records if "<P>" in record.text or "<TEX>" in record.text]


def test_it_has_two_papers_twice_and_they_are_found(tmp_path: Path) -> None:
    records = {r["CN"]: r for r in map(json.loads, (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines())}
    for one, other in (("DEMO-LIB-003", "DEMO-LIB-012"), ("DEMO-SOC-004", "DEMO-SOC-012")):
        letters = [Counter(filter(str.isalnum, records[docid]["title"])) for docid in (one, other)]
        assert letters[0] == letters[1]
        assert records[one]["abstract"] != records[other]["abstract"]
    assert add_corpus(tmp_path, "demo", "scienceon", [DEMO / "records.jsonl"]).manifest.linked == 2
    linked = {record.docid: record.duplicate_of for record in open_corpus(tmp_path, "demo")[1] if record.duplicate_of}
    assert linked == {"DEMO-LIB-012": "DEMO-LIB-003", "DEMO-SOC-012": "DEMO-SOC-004"}


def test_it_has_forty_judged_questions_half_in_each_language_and_ten_or_more_across() -> None:
    topics, qrels = read_topics(DEMO / "topics.tsv"), read_qrels(DEMO / "qrels.txt")
    languages = {topic.qid: detect_language(topic.text) for topic in topics}
    assert Counter(languages.values()) == {"ko": 20, "en": 20}
    records = {r["CN"]: r for r in map(json.loads, (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines())}
    assert {qrel.docid for qrel in qrels} <= records.keys()
    assert {qrel.qid for qrel in qrels if qrel.relevance == 2} == languages.keys()
    best: dict[str, set[str]] = {}
    for qrel in qrels:
        if qrel.relevance == 2:
            best.setdefault(qrel.qid, set()).add(records[qrel.docid]["lang"])
    across = [qid for qid, found in best.items() if languages[qid] not in found]
    assert len(across) == 24
