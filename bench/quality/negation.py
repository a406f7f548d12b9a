"""What NOT clauses do to the questions that have one: ``SHRAG_HOME=... SHRAG_DATA=... python -m bench.quality.negation``.

The indexes must be there under the names of their sets. Only questions whose queries change are counted.
"""

from __future__ import annotations

from pathlib import Path

from bench.data import DATA, home, require_data
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.evaluation.measures.judge_run import evaluate
from shrag.evaluation.measures.trec_run import RunLine
from shrag.serving.engine import open_engine
from shrag.serving.results import SearchResult
from shrag.serving.retrieval.negation import excludes
from shrag.serving.strategy import SearchSettings

SETS = {
    "wiki-ko": "wiki-ko",
    "wiki-en": "wiki-en",
    "multihop-ko": "multihop-ko",
    "cranfield": "scholarly-ir/cranfield",
    "pubmed-qa": "pubmed-qa",
}


def main() -> None:
    """Print, for each set, how many questions have a NOT, nDCG@10 without and with it, and how many lose a record."""
    require_data()
    indexes = home() / "indexes"
    for name, folder in SETS.items():
        measure(indexes, name, DATA / folder)


def measure(indexes: Path, name: str, folder: Path) -> None:
    """Ask the questions of one set that have a NOT, without it and with it."""
    qrels = read_qrels(folder / "qrels.txt")
    topics = read_topics(folder / "topics.tsv")
    engine = open_engine(indexes, name, verify="quick")
    runs: tuple[list[RunLine], list[RunLine]] = ([], [])
    for topic in topics:
        if not excludes(topic.text):
            continue
        found = [
            engine.search(topic.text, k=100, every_record=True, settings=SearchSettings(nots=nots))
            for nots in (False, True)
        ]
        if found[0].queries != found[1].queries:
            for run, result in zip(runs, found, strict=True):
                run.extend(lines(topic.qid, result))
    engine.close()
    asked = {line.qid for line in runs[0]}
    judged = [qrel for qrel in qrels if qrel.qid in asked]
    relevant = {(qrel.qid, qrel.docid) for qrel in judged if qrel.relevance > 0}
    found_without, found_with = ({(line.qid, line.docid) for line in run} & relevant for run in runs)
    losers = {qid for qid, _ in found_without - found_with}
    means = [evaluate(judged, run, ["nDCG@10"])["nDCG@10"] if judged else 0.0 for run in runs]
    print(
        f"{name}: {len(topics)} questions, {len(asked)} with a NOT, nDCG@10 {means[0]:.3f} without it and "
        f"{means[1]:.3f} with it, {len(losers)} lose a relevant record"
    )


def lines(qid: str, result: SearchResult) -> list[RunLine]:
    """Return the ranking as a run's lines."""
    return [
        RunLine(qid, ranked.record.docid, ranked.rank, 1 / ranked.rank, "nots") for ranked in result.ranking.records
    ]


if __name__ == "__main__":
    main()
