"""Evaluate run files with judgements. ``shrag.evaluate`` returns the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shrag.corpora.formats.topics import read_qrels
from shrag.evaluation.measures.judge_run import TopicScores, judge, means
from shrag.evaluation.measures.trec_run import read_run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """The measures of runs; iterates over the names of the runs.

    Attributes:
        topics: Run → measure → qid → value.
        judged: Number of topics with judgements.
        missing: Run → number of judged topics without a line in it, which score 0.
    """

    topics: Mapping[str, TopicScores]
    judged: int
    missing: Mapping[str, int]

    def __iter__(self) -> Iterator[str]:
        return iter(self.topics)

    def __len__(self) -> int:
        return len(self.topics)

    def __getitem__(self, run: str) -> dict[str, float]:
        """Return measure → mean over the judged topics."""
        return means(self.topics[run])

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return run → measure → mean."""
        return {run: self[run] for run in self}

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame of the means, with a row for each run and a column for each measure."""
        import pandas as pd

        return pd.DataFrame.from_dict(self.to_dict(), orient="index")

    def _repr_html_(self) -> str:
        """Return the means as a table, for notebooks."""
        html: str = self.to_pandas().to_html(float_format="%.4f")
        return html


def evaluate_runs(qrels: Path, runs: Sequence[Path], measures: Sequence[str], min_grade: int = 1) -> RunEvaluation:
    """Evaluate run files. In the result each has the name of its path as given.

    Args:
        qrels: TREC or MIRACL qrels, or BEIR's TSV.
        runs: TREC runs. A path that is given twice is evaluated once.
        measures: Names of measures in ir-measures' notation, or of those of :mod:`shrag.evaluation.measures`.
        min_grade: The least grade that counts as relevant, for measures whose parameter ``rel`` is not set.

    Raises:
        EvaluationError: A measure is unknown, or a run cannot be read.
        CorpusError: The judgements cannot be read.
    """
    judgements = read_qrels(qrels)
    judged = {qrel.qid for qrel in judgements}
    topics: dict[str, TopicScores] = {}
    missing: dict[str, int] = {}
    for path in dict.fromkeys(runs):
        lines = read_run(path)
        missing[str(path)] = len(judged - {line.qid for line in lines})
        topics[str(path)] = judge(judgements, lines, measures, min_grade)
    return RunEvaluation(topics, len(judged), missing)
