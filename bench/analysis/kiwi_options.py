"""The options of Kiwi that are compared, and Kiwi's morphemes by each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from bench.analysis.rules import Morphemes
from shrag.indexing.analysis.morphological_analysis import Morpheme, prepare_for_kiwi


def mask_symbols(text: str) -> str:
    """Replace symbols before Hangul (β, %, ²) by A, so that Kiwi recognizes the particle after them."""
    return re.sub(r"[^\s\uac00-\ud7a3A-Za-z0-9)\]}>」』”’'\"\u3400-\u9fff.,·/-](?=[\uac00-\ud7a3])", "A", text)


SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[str], str]]] = {
    "plain": ({}, {}, str),
    "masked": ({}, {}, mask_symbols),
    "cut": ({}, {}, prepare_for_kiwi),
    "names": ({"load_default_dict": True, "load_multi_dict": True}, {}, str),
    "default dict": ({"load_default_dict": True}, {}, str),
    "typos": ({}, {"typos": "basic"}, str),
    "oov rule": ({}, {"oov_handling": "rule"}, str),
    "split complex": ({}, {"split_complex": True}, str),
    "cong-global": ({"model_type": "cong-global"}, {}, str),
}


def read_morphemes(source: str, folded: Sequence[str]) -> dict[str, Morphemes]:
    """Return Kiwi's morphemes of each eojeol, with the options that :data:`SOURCES` has for ``source``."""
    from kiwipiepy import Kiwi

    options, calling, prepare = SOURCES[source]
    kiwi = Kiwi(num_workers=1, **({"load_default_dict": False, "load_multi_dict": False} | options))
    found: dict[str, Morphemes] = {}
    for eojeol, tokens in zip(folded, kiwi.tokenize((prepare(e[:200]) for e in folded), **calling), strict=True):
        found[eojeol] = [Morpheme(t.form, t.tag.partition("-")[0], t.start, t.start + t.len) for t in tokens]
    return found
