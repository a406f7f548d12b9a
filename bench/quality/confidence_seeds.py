"""Measure how much refusals depend on the random seed of an index's confidence calibration.

    python -m bench.quality.confidence_seeds INDEX [--seeds 6] [--threshold 0.05]

INDEX has the records of the 188 ScienceON questions (``scholarly-ko``, with and without abstracts). The questions are
read from SHRAG_DATA. :data:`shrag.indexing.lexical.calibration.DRAWS` was chosen by this measurement.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace

from bench.data import DATA, home
from shrag.corpora.formats.topics import read_topics
from shrag.evaluation.questions.question_table import read_question_table
from shrag.indexing.lexical.calibration import SEED, calibrate
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.open_index import open_index
from shrag.serving.engine import Engine
from shrag.serving.retrieval.confidence import THRESHOLD

QUESTIONS = DATA / "scholarly-ko" / "questions"


def main() -> None:
    """Print for each seed how many questions of each kind have less confidence than the threshold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index")
    parser.add_argument("--seeds", type=int, default=6, help="calibrations (%(default)s)")
    parser.add_argument("--threshold", type=float, default=THRESHOLD, help="least confidence answered (%(default)s)")
    chosen = parser.parse_args()
    kinds = read_question_table(QUESTIONS / "unanswerable-kinds.tsv", "kind")
    questions = [("answerable", topic.text) for topic in read_topics(QUESTIONS / "topics.tsv")]
    questions += [(kinds[topic.qid]["kind"], topic.text) for topic in read_topics(QUESTIONS / "unanswerable.tsv")]
    with closing(open_index(home() / "indexes", chosen.index)) as index:
        if not isinstance(index.searcher, LuceneSearcher):
            raise SystemExit(f"{chosen.index}: an index of Lucene is calibrated, not of another engine.")
        for seed in range(SEED, SEED + chosen.seeds):
            calibration = calibrate(index.searcher, index.manifest.bm25, index.analyzer, index.glossary, seed=seed)
            engine = Engine(replace(index, calibration=calibration))
            refused: dict[str, list[bool]] = {}
            for kind, text in questions:
                confidence = engine.search(text).ranking.confidence
                refused.setdefault(kind, []).append(confidence is not None and confidence.value < chosen.threshold)
            shown = ", ".join(f"{sum(found)} of {len(found)} {kind}" for kind, found in refused.items())
            print(f"seed {seed}: {shown} refused", flush=True)


if __name__ == "__main__":
    main()
