"""BuildJob: the inputs and options of one build, and the utilization of its stages."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shrag.corpora.ingest.reading import ProgressCallback
from shrag.corpora.store.manifest import CorpusManifest
from shrag.indexing.analysis.user_dictionary import UserDictionary
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.checkpoints import BuildPlan, BuildWorkspace
from shrag.indexing.storage.generations import KEPT_GENERATIONS
from shrag.indexing.storage.manifest import FORMAT_VERSION
from shrag.indexing.storage.vector_card import encoder_settings


class StageUtilization:
    """Measures the share of a build's time during which each stage works. A stage near 100 % is the bottleneck.

    A stage with several workers reaches 100 % if all of them work all the time.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._seconds: dict[str, float] = {}
        self._workers: dict[str, int] = {}

    def add(self, stage: str, seconds: float, workers: int = 1) -> None:
        """Add the working time of one worker of a stage."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
        self._workers[stage] = workers

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Measure the time inside the ``with`` block as work of ``stage``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - started)

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self._started

    def shares(self) -> dict[str, float]:
        """Return the utilization of each stage so far, from 0 to 1."""
        passed = max(self.seconds, 1e-9)
        return {stage: round(seconds / self._workers[stage] / passed, 3) for stage, seconds in self._seconds.items()}


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Options that do not change the resulting index.

    Attributes:
        workers: The number of processes for analysis; 0 stands for one for each core.
        max_rejected: The most records that may be left out because they cannot be analyzed.
        keep: The number of generations to keep, including the new one.
        report: Called with the progress.
        notify: Called with messages, each a sentence.
        ray: The address of the Ray cluster that analyzes the records, and encodes them if the encoder is a model
            (:class:`~shrag.indexing.build.cluster.ray_job.RayJob`); empty for this machine.
    """

    workers: int = 0
    max_rejected: int = 0
    keep: int = KEPT_GENERATIONS
    report: ProgressCallback = lambda stage, done: None
    notify: Callable[[str], None] = lambda sentence: None
    ray: str = ""


@dataclass(frozen=True, slots=True)
class IndexChoices:
    """The user's choices that change the index.

    Attributes:
        dictionary: The user's words.
        corrections: The user's corrections of the glossary, empty for none.
        encoder: The encoder of the vectors (:func:`~shrag.indexing.storage.vector_card.canonical_encoder`).
        weights: The folder with the weights of encoders that are chosen by name.
    """

    dictionary: UserDictionary
    corrections: bytes
    encoder: str
    weights: Path

    def settings(self) -> str:
        """Return the encoder's settings; raises as :func:`~shrag.indexing.storage.vector_card.encoder_settings`."""
        return encoder_settings(self.encoder, self.weights)


@dataclass(frozen=True, slots=True)
class BuildJob:
    """One build: its workspace, the corpus (manifest and file of records), choices and options.

    It is ``complete`` if it does all the work. A resumed build and an update are not.
    """

    workspace: BuildWorkspace
    source: CorpusManifest
    records: Path
    choices: IndexChoices
    options: BuildOptions
    complete: bool = False
    utilization: StageUtilization = field(default_factory=StageUtilization)

    @property
    def workers(self) -> int:
        """The number of processes for analysis."""
        return self.options.workers or len(os.sched_getaffinity(0))


def make_plan(
    source: CorpusManifest, analyzer: str, bm25: Bm25, choices: IndexChoices, versions: dict[str, str]
) -> BuildPlan:
    """Return the plan of an index of ``source``; ``analyzer`` is the analyzer's fingerprint."""
    return BuildPlan(
        format_version=FORMAT_VERSION,
        corpus=source.fingerprint,
        records=source.records,
        analyzer=analyzer,
        bm25=bm25,
        encoder=choices.settings(),
        corrections=hashlib.sha256(choices.corrections).hexdigest(),
        versions=versions,
    )
