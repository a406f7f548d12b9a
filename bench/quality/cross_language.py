"""Cross-language retrieval: questions in one language about records that exist only in the other.

    SHRAG_DATA=... python -m bench.quality.cross_language

The questions of ``corpora/cross_language``, which were written for this project, are asked of ``scholarly-ko``. Those
of the demonstration corpus are asked of that corpus. Both are asked with and without the index's glossary. Odd-numbered
questions were used for tuning.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.data import DATA, DEMO, ROOT
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.glossary.store import Glossary
from shrag.indexing.open_index import open_index
from shrag.serving.engine import Engine


class Question(NamedTuple):
    """A question and the records that answer it. ``qid`` is ko-NN or en-NN, by the question's language."""

    qid: str
    text: str
    docids: AbstractSet[str]


def main() -> None:
    """Print Success@10 and nDCG@10 for each direction, half and configuration."""
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), "demo", DEMO / "records.jsonl", demo_questions())
        records = DATA / "scholarly-ko" / "records.jsonl.gz"
        if not records.is_file():
            sys.exit(f"scholarly-ko: skipped, {records} is absent (SHRAG_DATA)")
        measure(Path(folder), "scholarly-ko", records, own_questions())


def own_questions() -> list[Question]:
    """Return the questions of ``corpora/cross_language``."""
    folder = ROOT / "corpora" / "cross_language"
    judged = {qrel.qid: {qrel.docid} for qrel in read_qrels(folder / "qrels.txt")}
    return [Question(topic.qid, topic.text, judged[topic.qid]) for topic in read_topics(folder / "topics.tsv")]


def demo_questions() -> list[Question]:
    """Return the demonstration questions that ask about records in the other language only."""
    records = (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines()
    korean = {line.partition('"CN": "')[2].partition('"')[0]: "다." in line for line in records}
    answers: dict[str, set[str]] = {}
    for qrel in read_qrels(DEMO / "qrels.txt"):
        if qrel.relevance == 2:
            answers.setdefault(qrel.qid, set()).add(qrel.docid)
    return [
        Question(topic.qid, topic.text, answers[topic.qid])
        for topic in read_topics(DEMO / "topics.tsv")
        if not any(korean[docid] == topic.qid.startswith("ko") for docid in answers[topic.qid])
    ]


def measure(home: Path, name: str, records: Path, questions: Sequence[Question]) -> None:
    """Index the records and ask the questions under each configuration."""
    add_corpus(home / "corpora", name, "scienceon", [records])
    manifest, _ = build_index(home / "corpora", home / "indexes", name)
    index = open_index(home / "indexes", name)
    assert isinstance(index.glossary, Glossary)
    sources = dict(Counter(entry.source for entry in index.glossary.entries()))
    share = manifest.utilization["glossary"]
    print(
        f"{name}: {len(index.glossary):,} pairs {sources}, in {share:.0%} of the build's time; "
        f"{len(questions)} questions"
    )
    configurations = {"bm25": (None, "bm25"), "no glossary": (None, "shrag"), "glossary": (index.glossary, "shrag")}
    for label, (glossary, strategy) in configurations.items():
        ranks = find(Engine(replace(index, glossary=glossary)), questions, strategy)
        row = [score(ranks, which) for which in (_any, _korean, _english, _tuned, _held_out)]
        print(f"  {label:<12} within ten / nDCG@10: " + "  ".join(f"{what} {value}" for what, value in zip(
            ("all", "ko→en", "en→ko", "tuned on", "held out"), row, strict=True)))  # fmt: skip


def find(engine: Engine, questions: Sequence[Question], strategy: str) -> dict[str, int]:
    """Return the rank of the first relevant record for each question, 0 if it is not among the first ten."""
    ranks: dict[str, int] = {}
    for question in questions:
        found = engine.search(question.text, k=10, strategy=strategy).ranking.records
        ranks[question.qid] = next((each.rank for each in found if each.record.docid in question.docids), 0)
    return ranks


def score(ranks: Mapping[str, int], which: Callable[[str], bool]) -> str:
    """Return Success@10 and nDCG@10 over the questions that ``which`` selects."""
    chosen = [rank for qid, rank in ranks.items() if which(qid)]
    if not chosen:
        return "-"
    gain = sum(1 / math.log2(rank + 1) for rank in chosen if rank)
    return f"{sum(rank > 0 for rank in chosen) / len(chosen):.3f}/{gain / len(chosen):.3f}"


def _any(_: str) -> bool:
    return True


def _korean(qid: str) -> bool:
    return qid.startswith("ko")


def _english(qid: str) -> bool:
    return qid.startswith("en")


def _tuned(qid: str) -> bool:
    return int(qid[3:]) % 2 == 1


def _held_out(qid: str) -> bool:
    return not _tuned(qid)


if __name__ == "__main__":
    main()
