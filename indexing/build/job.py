"""BuildJob: what one build is given — its workspace, the corpus, the user's choices, and how to go about it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shrag.corpora.ingest.reading import ProgressCallback
from shrag.corpora.store.manifest import CorpusManifest
from shrag.indexing.analysis.user_dictionary import UserDictionary
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.checkpoints import BuildPlan, BuildWorkspace
from shrag.indexing.build.resources import StageUtilization
from shrag.indexing.storage.generations import KEPT_GENERATIONS
from shrag.indexing.storage.manifest import FORMAT_VERSION
from shrag.indexing.storage.vector_card import encoder_settings


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build, none of which changes what is built.

    ``workers`` analyse at once (0: one for each core). ``max_rejected`` records may have no analysis before the index
    is not published. ``keep`` generations are kept, the new one among them. ``report`` is called with what is being
    done and how much is done, ``tell`` with whole sentences.
    """

    workers: int = 0
    max_rejected: int = 0
    keep: int = KEPT_GENERATIONS
    report: ProgressCallback = lambda stage, done: None
    tell: Callable[[str], None] = lambda sentence: None


@dataclass(frozen=True, slots=True)
class IndexChoices:
    """What a user chose for an index: ``words`` of their own, ``corrections`` to its glossary, an encoder.

    ``weights`` is the folder of the encoders that are chosen by name.
    """

    words: UserDictionary
    corrections: bytes
    encoder: str
    weights: Path

    def settings(self) -> str:
        """Return the encoder's settings.

        Raises:
            ModelError: As :func:`~shrag.indexing.storage.vector_card.encoder_settings`.
        """
        return encoder_settings(self.encoder, self.weights)


@dataclass(frozen=True, slots=True)
class BuildJob:
    """One build. ``records`` is the corpus's file of records, ``source`` its manifest."""

    workspace: BuildWorkspace
    source: CorpusManifest
    records: Path
    choices: IndexChoices
    options: BuildOptions
    utilization: StageUtilization = field(default_factory=StageUtilization)

    @property
    def workers(self) -> int:
        """How many workers analyse at once."""
        return self.options.workers or len(os.sched_getaffinity(0))


def make_plan(
    source: CorpusManifest, analyzer: str, bm25: Bm25, choices: IndexChoices, versions: dict[str, str]
) -> BuildPlan:
    """Return the plan of an index of ``source`` by the analyser with the fingerprint ``analyzer``."""
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
