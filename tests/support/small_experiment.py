"""A small experiment over the demonstration records, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shrag.evaluation.experiment_runner import ExperimentResult, RunOptions, run_experiment
from shrag.evaluation.experiments.engines import Folders
from shrag.evaluation.experiments.language_models import LanguageModels, ModelChoice
from shrag.evaluation.experiments.spec import Condition, CorpusSource, Experiment, JudgedSet, Plot

DEMO_SET = JudgedSet(
    "demo",
    topics="shrag:demo/topics.tsv",
    qrels="shrag:demo/qrels.txt",
    corpus=CorpusSource("scienceon", ("shrag:demo/records.jsonl",)),
    sample=10,
)
OR = Condition("or", label="OR alone", group="or")
AND = Condition("and", label="AND of <b>all</b>", settings={"ands": 9}, group="and")
BM25 = Condition("bm25", strategy="bm25", answers=True, group="bm25")

SMALL = Experiment(
    title="Small",
    question="Is OR better than AND?",
    sets=(DEMO_SET,),
    conditions=(OR, AND, BM25),
    measures=("nDCG@10", "R@20"),
    k=20,
    baseline="or",
    plots=(Plot("bars", ("nDCG@10", "num_candidates")), Plot("line", ("candidate_recall",), x="ands")),
)


def folders(home: Path, data: Path = Path()) -> Folders:
    """Return the folders under a home."""
    return Folders(home / "corpora", home / "indexes", data)


def run_small(
    home: Path,
    folder: Path,
    experiment: Experiment = SMALL,
    model: ModelChoice | LanguageModels | None = None,
    **options: object,
) -> ExperimentResult:
    """Run an experiment without plots, unless ``plots`` is among the options."""
    models = model if isinstance(model, LanguageModels) else LanguageModels(model)
    return run_experiment(experiment, folder, folders(home), models, RunOptions(**{"plots": False, **options}))  # type: ignore[arg-type]


def contents(folder: Path) -> Mapping[str, bytes]:
    """Return the files of a results folder that are the same in every run."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("card.json", "times.json", "times.jsonl", ".lock"))
    }
