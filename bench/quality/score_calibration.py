"""Effect of thresholds on calibrated re-ranker scores.

    python -m bench.quality.score_calibration DATA SET… [--questions 60]

The indexes are those of ``SHRAG_HOME`` with the sets' names. The output for each set is the calibration curve, the
seconds of learning it, and the shares of records among the first ten that score above each threshold, for relevant and
for other records.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from bench.data import home
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.serving.engine import open_engine
from shrag.serving.strategies.pipeline.calibration import Calibration, learn_curve

_LEAST = (0.3, 0.5, 0.6, 0.7, 0.9)


def main() -> None:
    """Print one line per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--questions", type=int, default=60)
    given = parser.parse_args()
    print(f"| set | middle | width | s | {' | '.join(f'> {least}' for least in _LEAST)} |")
    for path in given.sets:
        print(_measure(given.data / path, given.questions), flush=True)


def _measure(folder: Path, questions: int) -> str:
    engine = open_engine(home() / "indexes", folder.name, verify="quick")
    started = time.perf_counter()
    curve = learn_curve(engine.resources.reranker, engine.open_index)
    spent = time.perf_counter() - started
    calibration = Calibration(engine.resources.reranker, engine.open_index, curve)
    wanted: dict[str, set[str]] = {}
    for qrel in read_qrels(folder / "qrels.txt"):
        if qrel.relevance > 0:
            wanted.setdefault(qrel.qid, set()).add(qrel.docid)
    topics = [topic for topic in read_topics(folder / "topics.tsv") if topic.qid in wanted]
    random.Random(7).shuffle(topics)
    relevant: list[float] = []
    others: list[float] = []
    for topic in topics[:questions]:
        records = engine.search(topic.text, strategy="shrag", every_record=True).ranking.records
        values = calibration.values(topic.text, [each.score for each in records])
        for each, value in zip(records, values, strict=True):
            (relevant if each.record.docid in wanted[topic.qid] else others).append(value)
    shares = " | ".join(f"{_share(relevant, least):.2f} / {_share(others, least):.2f}" for least in _LEAST)
    return f"| {folder.name} | {curve.middle:.2f} | {curve.width:.2f} | {spent:.1f} | {shares} |"


def _share(values: list[float], least: float) -> float:
    return sum(value > least for value in values) / max(1, len(values))


if __name__ == "__main__":
    main()
