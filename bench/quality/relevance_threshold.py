"""Effect of the learned similarity threshold on relevant and other records.

    python -m bench.quality.relevance_threshold INDEX TOPICS QRELS [EVERY]

The ten best records of each question are compared with the thresholds of several quantiles. The output is the share of
relevant records that are kept and the share of others that are dropped. Questions stand in for logical queries, which
need a language model.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.data import home
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.indexing.analyzed_record import to_passage
from shrag.serving.engine import open_engine
from shrag.serving.strategies.stepwise.similarity_threshold import SAMPLE, learn_threshold, open_similarity

QUANTILES = (0.99, 0.995, 0.998, 0.999)


def main(name: str, topics: Path, qrels: Path, every: int = 1) -> None:
    """Print one line per quantile."""
    engine = open_engine(home() / "indexes", name, verify="quick")
    index = engine.open_index
    similarity = open_similarity(index, engine.resources.reranker)
    relevant = {(qrel.qid, qrel.docid) for qrel in read_qrels(qrels) if qrel.relevance > 0}
    relevant_values: list[float] = []
    other_values: list[float] = []
    for topic in list(read_topics(topics))[::every]:
        ranking = engine.search(topic.text, every_record=True).ranking.records
        found = index.store.fetch([ranked.record.docid for ranked in ranking])
        passages = [to_passage(analysed) for analysed in found if analysed is not None]
        for passage, value in zip(passages, similarity.of(topic.text, passages), strict=True):
            (relevant_values if (topic.qid, passage.docid) in relevant else other_values).append(value)
    sample = index.store.sample(SAMPLE)
    print(f"{name}: {similarity.name}; {len(relevant_values)} relevant, {len(other_values)} others in the first ten")
    for quantile in QUANTILES:
        threshold = learn_threshold(sample, similarity, quantile)
        kept = sum(value >= threshold for value in relevant_values) / len(relevant_values)
        dropped = sum(value < threshold for value in other_values) / len(other_values)
        print(f"quantile {quantile}: T {threshold:.3f}, relevant kept {kept:.3f}, others dropped {dropped:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1)
