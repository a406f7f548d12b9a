"""Suggest the name that a misspelled one was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from shrag.messages.text import Text

_LONGEST = 64  # a longer text is not a name, and comparing it takes time


def did_you_mean(name: str, names: Iterable[str]) -> Text:
    """Return `` Did you mean NAME?`` with the most similar of ``names``, or an empty text if none is similar."""
    if len(name) > _LONGEST:
        return Text("")
    by_key = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), by_key, n=1)
    return Text(" Did you mean {name}?", name=by_key[near[0]]) if near else Text("")
