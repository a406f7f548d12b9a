"""Where the files an experiment names are: below the data folder, or among those that come with SHRAG."""

from __future__ import annotations

from pathlib import Path

import shrag.corpora
from shrag.evaluation.errors import ExperimentRejected

SHIPPED = "shrag:"
"""A path behind this lies in the folder of :mod:`shrag.corpora`: the demonstration corpus does."""


def find_data(named: str, data: Path) -> Path:
    """Return the file or folder that an experiment names; raises :class:`ExperimentRejected` where it is not there.

    A path is relative to ``data``, or absolute as the user wrote it.
    """
    shipped = named.startswith(SHIPPED)
    path = Path(shrag.corpora.__path__[0]) / named.removeprefix(SHIPPED) if shipped else data / named
    if not path.exists():
        raise ExperimentRejected(
            f"The experiment's {named} is not there ({path} is missing): say where its files are with --data or "
            "SHRAG_DATA."
        )
    return path
