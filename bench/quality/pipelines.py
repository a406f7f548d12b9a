"""Quality of the eight preset pipelines and variations, without a language model.

    python -m bench.quality.pipelines DATA SET… [--questions 300]

The indexes are those of ``SHRAG_HOME`` with the sets' names. The columns for each pipeline are nDCG@10, AllRecall@10,
the share of questions whose answer occurs in the first five records, the mean number of records, the number of
questions without a record, and milliseconds per question.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.data import home
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.records import Qrel, Topic
from shrag.evaluation.measures.judge_run import evaluate
from shrag.evaluation.measures.trec_run import RunLine
from shrag.serving.engine import Engine, open_engine
from shrag.serving.strategies.pipeline.presets import PRESETS

VARIATIONS = (
    "retrieve(10)",
    "retrieve(50) > rerank(10)",
    "retrieve(50) > rerank(10) > filter(0.6)",
    "augment(2) > retrieve(50) > rrf(50) > rerank(10)",
    "hypothesis(2) > retrieve(50) > rrf(50) > rerank(10)",
    "augment(2) > hypothesis(2) > retrieve(10) > rrf(10)",
    "retrieve(50) > temp_answer > answer_rerank(10)",
)
_TOP = 5
_VERDICTS = frozenset({"yes", "no", "maybe", "unanswerable"})
_SHORTEST = 3
_NOT_WORD = re.compile(r"\W+")


class QuestionSet(NamedTuple):
    """Questions, judgements, and short answers by qid."""

    topics: Sequence[Topic]
    qrels: Sequence[Qrel]
    answers: Mapping[str, Sequence[str]]


def main() -> None:
    """Print one line per pipeline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--questions", type=int, default=300)
    given = parser.parse_args()
    for name in given.sets:
        engine = open_engine(home() / "indexes", name, verify="quick")
        asked = _papers(given.data / name) if name == "paper-qa" else _read(given.data / name)
        asked = _sample(asked, given.questions)
        print(f"{name}: {len(asked.topics)} questions")
        print("| pipeline | nDCG@10 | all@10 | answer@5 | records | none | ms |", flush=True)
        for pipeline in ("shrag", "bm25", *PRESETS, *VARIATIONS):
            print(_measure(engine, pipeline, asked), flush=True)


def _measure(engine: Engine, pipeline: str, asked: QuestionSet) -> str:
    run: list[RunLine] = []
    given = empty = answered = complete = 0
    wanted: dict[str, set[str]] = {}
    for qrel in asked.qrels:
        wanted.setdefault(qrel.qid, set()).add(qrel.docid)
    started = time.perf_counter()
    for topic in asked.topics:
        records = engine.search(topic.text, strategy=pipeline, every_record=True).ranking.records
        run += [RunLine(topic.qid, each.record.docid, each.rank, 1 / each.rank, pipeline) for each in records]
        given += len(records)
        empty += not records
        docids = {each.record.docid for each in records}
        complete += wanted[topic.qid] <= docids
        texts = [_plain(f"{each.record.title} {each.record.text}") for each in records[:_TOP]]
        answers = [_plain(answer) for answer in asked.answers.get(topic.qid, ())]
        answered += any(answer and answer in text for answer in answers for text in texts)
    spent = 1_000 * (time.perf_counter() - started) / len(asked.topics)
    ndcg = evaluate(asked.qrels, run, ["nDCG@10"])["nDCG@10"]
    count = len(asked.topics)
    with_answer = sum(topic.qid in asked.answers for topic in asked.topics)
    share = f"{answered / with_answer:.3f}" if with_answer else "–"
    return (
        f"| {pipeline} | {ndcg:.3f} | {complete / count:.3f} | {share} | {given / count:.1f} | {empty} | {spent:.0f} |"
    )


def _read(folder: Path) -> QuestionSet:
    qrels = [qrel for qrel in read_qrels(folder / "qrels.txt") if qrel.relevance > 0]
    judged = {qrel.qid for qrel in qrels}
    topics = [topic for topic in read_topics(folder / "topics.tsv") if topic.qid in judged]
    with gzip.open(folder / "answers.jsonl.gz", "rt", encoding="utf-8") as lines:
        answers = {line["qid"]: line["answers"] for line in map(json.loads, lines)}
    spans = {qid: texts for qid, said in answers.items() if (texts := _spans(said))}
    return QuestionSet(topics, qrels, spans)


def _papers(folder: Path) -> QuestionSet:
    """Return the questions about papers.

    All chunks of a paper are relevant, since judgements name only the paper. Questions say "the model" without naming
    the paper, so their words are of little help.
    """
    topics: list[Topic] = []
    qrels: list[Qrel] = []
    answers: dict[str, Sequence[str]] = {}
    chunks = _chunks()
    with gzip.open(folder / "papers.jsonl.gz", "rt", encoding="utf-8") as lines:
        for paper in map(json.loads, lines):
            for asked in paper["qas"]:
                topics.append(Topic(asked["qid"], asked["question"]))
                qrels += [Qrel(asked["qid"], docid, 1) for docid in chunks[str(paper["paper_id"])]]
                if texts := _spans([asked["answer"]]):
                    answers[asked["qid"]] = texts
    return QuestionSet(topics, qrels, answers)


def _chunks() -> dict[str, list[str]]:
    from shrag.corpora.store.open_corpus import open_corpus

    found: dict[str, list[str]] = {}
    for record in open_corpus(home() / "corpora", "paper-qa")[1]:
        found.setdefault(record.docid.partition("#")[0], []).append(record.docid)
    return found


def _sample(asked: QuestionSet, most: int) -> QuestionSet:
    topics = list(asked.topics)
    random.Random(7).shuffle(topics)
    chosen = topics[:most]
    qids = {topic.qid for topic in chosen}
    return asked._replace(topics=chosen, qrels=[qrel for qrel in asked.qrels if qrel.qid in qids])


def _spans(answers: Sequence[str]) -> list[str]:
    """Return the answers that can occur verbatim in a record."""
    return [answer for answer in answers if _plain(answer) not in _VERDICTS and len(answer) >= _SHORTEST]


def _plain(text: str) -> str:
    return f"{_NOT_WORD.sub(' ', text.casefold()).strip()}"


if __name__ == "__main__":
    main()
