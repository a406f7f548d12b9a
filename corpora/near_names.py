"""The name that a wrong one was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from shrag.messages.text import Text

_LONGEST = 64  # of more characters a comparison takes time, and the name is none


def did_you_mean(name: str, names: Iterable[str]) -> Text:
    """Return `` Did you mean NAME?`` with the most similar of ``names``, empty where none is similar."""
    if len(name) > _LONGEST:
        return Text("")
    by_key = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), by_key, n=1)
    return Text(" Did you mean {name}?", name=by_key[near[0]]) if near else Text("")
