"""What a corpus or an index may be called."""

from __future__ import annotations

import re

from shrag.corpora.errors import CorpusError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


RESERVED = frozenset({"build", "list", "rollback", "show", "verify"})
"""Words that `shrag index` takes for what to do, not for what to do it to."""


def check_name(name: str) -> str:
    """Return ``name`` where it may name a corpus or an index; names become folder names, so nothing else passes."""
    if not is_name(name):
        raise CorpusError(
            f"{name!r} cannot be a name: use up to 64 lower-case letters, digits, - and _, a letter or digit first."
        )
    if name in RESERVED:
        raise CorpusError(f"{name!r} cannot be a name: `shrag index {name}` is a command; choose another.")
    return name


def is_name(name: str) -> bool:
    """Say whether ``name`` may name a corpus or an index."""
    return _NAME.fullmatch(name) is not None
