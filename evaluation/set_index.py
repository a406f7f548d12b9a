"""The index a set is asked in: one that is there, or one built of the set's own corpus, under the set's name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from shrag.corpora.addition import add_corpus
from shrag.corpora.errors import CorpusError
from shrag.corpora.formats import find_files, find_format
from shrag.corpora.manifest import MANIFEST_FILE, read_manifest
from shrag.corpora.reading import Report, file_digest
from shrag.evaluation.data_files import find_data
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiment import CorpusSource, JudgedSet
from shrag.indexing.build import BuildOptions, build_index
from shrag.indexing.vector_card import canonical_encoder

_NOT_NAME = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Places:
    """Where corpora and indexes are kept, and the data an experiment names files of."""

    corpora: Path
    indexes: Path
    data: Path
    report: Report = field(default=lambda stage, done: None)


def index_name(judged_set: JudgedSet, encoder: str) -> str:
    """Return the index's name: the set's, or with an ``encoder`` other than the set's own, both."""
    name = judged_set.index or judged_set.name
    return name if not encoder or encoder == judged_set.encoder else f"{name}-{_NOT_NAME.sub('-', encoder.lower())}"


def prepare_index(judged_set: JudgedSet, encoder: str, places: Places) -> str:
    """Build whatever is not there of the index that has vectors by ``encoder``; return its name.

    Raises :class:`ResultsMismatch` where a corpus of that name was read from other files, and what adding a corpus and
    building an index raise.
    """
    name = index_name(judged_set, encoder)
    if judged_set.corpus is None:
        return name
    wanted = _sources(judged_set.corpus, places.data)
    try:
        stored = read_manifest(places.corpora / name) if (places.corpora / name / MANIFEST_FILE).exists() else None
    except CorpusError:
        stored = None
    if stored is None:
        _add(name, judged_set.corpus, places)
    elif sorted((each.format, each.sha256) for each in stored.sources) != sorted(wanted):
        raise ResultsMismatch(
            f"The corpus {name} was read from other files than the set {judged_set.name} names: rename the set, or "
            f"say index = {name!r} to ask it all the same."
        )
    chosen = encoder or judged_set.encoder
    build_index(
        places.corpora,
        places.indexes,
        name,
        encoder=canonical_encoder(chosen) if chosen else None,
        options=BuildOptions(report=places.report),
    )
    return name


def _sources(source: CorpusSource, data: Path) -> list[tuple[str, str]]:
    """Return format and digest of each file the corpus is read from."""
    format = find_format(source.format)
    files = find_files(format, [find_data(path, data) for path in source.paths])
    return [(format.written, file_digest(file)[0]) for file in files]


def _add(name: str, source: CorpusSource, places: Places) -> None:
    paths = [find_data(path, places.data) for path in source.paths]
    add_corpus(places.corpora, name, source.format, paths, max_rejects=source.max_rejects, report=places.report)
