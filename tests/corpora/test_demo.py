"""The demonstration corpus is what its README says."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.open_corpus import open_corpus
from shrag.corpora.text.sentences import detect_language

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"


def _records() -> dict[str, dict[str, str]]:
    lines = (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = {record["CN"]: record for record in map(json.loads, lines)}
    assert len(records) == len(lines)
    return records


def _kinds(name: str) -> dict[str, dict[str, str]]:
    with (DEMO / name).open(encoding="utf-8", newline="") as stream:
        return {row["qid"]: row for row in csv.DictReader(stream, delimiter="\t")}


def _answers() -> dict[str, set[str]]:
    answers = defaultdict(set)
    for qrel in read_qrels(DEMO / "qrels.txt"):
        if qrel.relevance == 2:
            answers[qrel.qid].add(qrel.docid)
    return answers


def test_it_has_235_clean_records_over_eighteen_fields(tmp_path: Path) -> None:
    manifest = add_corpus(tmp_path, "demo", "scienceon", [DEMO / "records.jsonl"]).manifest
    records = list(open_corpus(tmp_path, "demo")[1])
    assert (manifest.records, manifest.complete) == (235, 226)
    assert manifest.languages == {"en": 97, "ko": 138}
    assert len({record.docid.split("-")[1] for record in records}) == 18
    assert not [record.docid for record in records if "&" in record.text and ";" in record.text.partition("&")[2][:8]]
    assert not [record.docid for record in records if "<P>" in record.text or "<TEX>" in record.text]


def test_a_record_with_an_abstract_has_the_language_of_its_label() -> None:
    labelled = [record for record in _records().values() if record["lang"]]
    assert len(labelled) == 226
    assert [record["CN"] for record in labelled if detect_language(record["abstract"]) != record["lang"]] == []


def test_it_has_three_papers_twice_and_they_are_found(tmp_path: Path) -> None:
    records = _records()
    twice = {
        "DEMO-LIB-012": "DEMO-LIB-003",
        "DEMO-SOC-012": "DEMO-SOC-004",
        "DEMO-ECO-009": "DEMO-ECO-002",
    }
    for other, one in twice.items():
        letters = [Counter(filter(str.isalnum, records[docid]["title"].lower())) for docid in (one, other)]
        assert letters[0] == letters[1]
        assert records[one]["abstract"] != records[other]["abstract"]
    assert add_corpus(tmp_path, "demo", "scienceon", [DEMO / "records.jsonl"]).manifest.linked == 3
    linked = {record.docid: record.duplicate_of for record in open_corpus(tmp_path, "demo")[1] if record.duplicate_of}
    assert linked == twice


def test_each_of_its_78_questions_is_answered_by_a_record_and_half_are_in_each_language() -> None:
    topics, answers, records = read_topics(DEMO / "topics.tsv"), _answers(), _records()
    languages = {topic.qid: detect_language(topic.text) for topic in topics}
    assert len({topic.text for topic in topics}) == 78
    assert Counter(languages.values()) == {"ko": 39, "en": 39}
    assert answers.keys() == languages.keys()
    judged = [(qrel.qid, qrel.docid) for qrel in read_qrels(DEMO / "qrels.txt")]
    assert len(set(judged)) == len(judged)
    assert {docid for _, docid in judged} <= records.keys()


def test_every_pair_of_languages_has_nineteen_or_twenty_questions_in_three_styles() -> None:
    topics, answers, records, kinds = read_topics(DEMO / "topics.tsv"), _answers(), _records(), _kinds("kinds.tsv")
    assert kinds.keys() == {topic.qid for topic in topics}
    pairs: Counter[tuple[str, str]] = Counter()
    styles: dict[tuple[str, str], set[str]] = defaultdict(set)
    for topic in topics:
        kind = kinds[topic.qid]
        question, found = kind["question_language"], {records[docid]["lang"] for docid in answers[topic.qid]}
        assert question == detect_language(topic.text), topic.qid
        assert kind["record_language"] == (question if question in found else min(found)), topic.qid
        pairs[question, kind["record_language"]] += 1
        styles[question, kind["record_language"]].add(kind["style"])
    assert pairs == {("en", "en"): 19, ("en", "ko"): 20, ("ko", "en"): 20, ("ko", "ko"): 19}
    assert all(found == {"person", "contest", "search box"} for found in styles.values())


@pytest.mark.parametrize(("kind", "number"), [("near", 18), ("far", 10)])
def test_it_has_questions_that_no_record_answers_half_in_each_language(kind: str, number: int) -> None:
    texts = {topic.qid: topic.text for topic in read_topics(DEMO / "unanswerable.tsv")}
    kinds = _kinds("unanswerable-kinds.tsv")
    assert kinds.keys() == texts.keys()
    chosen = {qid: row for qid, row in kinds.items() if row["kind"] == kind}
    assert Counter(row["question_language"] for row in chosen.values()) == {"en": number // 2, "ko": number // 2}
    assert {row["style"] for row in chosen.values()} == {"question", "summarise", "keywords"}
    assert all(detect_language(texts[qid]) == row["question_language"] for qid, row in chosen.items())
