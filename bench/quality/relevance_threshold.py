"""What a threshold that an index learns of itself drops: ``python -m bench.quality.relevance_threshold INDEX TOPICS QRELS``.

For each question the ten best records that the single-hop way finds are compared with the threshold of several
quantiles: the share of the relevant ones that stays, and of the others that goes. Questions stand in for logical
queries, which only a language model can write.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.data import home
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.indexing.analyzed_record import as_passage
from shrag.serving.engine import open_engine
from shrag.serving.strategies.stepwise.similarity_threshold import SAMPLE, learn_threshold, open_similarity

QUANTILES = (0.99, 0.995, 0.998, 0.999)


def main(name: str, topics: Path, qrels: Path, every: int = 1) -> None:
    """Print one line for each quantile."""
    engine = open_engine(home() / "indexes", name, verify="quick")
    index = engine.open_index
    similarity = open_similarity(index, engine.resources.reranker)
    relevant = {(qrel.qid, qrel.docid) for qrel in read_qrels(qrels) if qrel.relevance > 0}
    kept: list[float] = []
    dropped: list[float] = []
    for topic in list(read_topics(topics))[::every]:
        ranking = engine.search(topic.text, every_record=True).ranking.records
        found = index.store.fetch([ranked.record.docid for ranked in ranking])
        passages = [as_passage(analysed) for analysed in found if analysed is not None]
        for passage, value in zip(passages, similarity.of(topic.text, passages), strict=True):
            (kept if (topic.qid, passage.docid) in relevant else dropped).append(value)
    sample = index.store.sample(SAMPLE)
    print(f"{name}: {similarity.name}; {len(kept)} relevant and {len(dropped)} other records in the first ten")
    for quantile in QUANTILES:
        threshold = learn_threshold(sample, similarity, quantile)
        stays = sum(value >= threshold for value in kept) / len(kept)
        goes = sum(value < threshold for value in dropped) / len(dropped)
        print(f"quantile {quantile}: T {threshold:.3f}, relevant kept {stays:.3f}, others dropped {goes:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1)
