"""Import SciPy's statistics, which the extra ``evaluation`` installs."""

from __future__ import annotations

from typing import Any

from shrag.indexing.errors import DependencyMissing
from shrag.messages.text import Text


def load_stats() -> Any:  # noqa: ANN401  (a module without types)
    """Import and return ``scipy.stats``.

    Raises :class:`DependencyMissing` if it is not installed. The message has the command to install it.
    """
    try:
        from scipy import stats
    except ImportError as error:
        raise DependencyMissing(
            Text(
                "Intervals, tests and correlations need SciPy ({error}): run `pip install 'shrag[evaluation]'`.",
                error=error,
            )
        ) from error
    return stats
