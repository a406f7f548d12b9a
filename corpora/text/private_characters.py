"""Repair private-use characters, which only the source's font can show: letters of Symbol and dashes of HWP."""

from __future__ import annotations

import re

from shrag.corpora.text.fused_words import Repaired

# The characters of the Symbol font at U+F020 to U+F0FF whose letter or sign is certain.
_SYMBOL = dict(
    zip(
        "\uf061\uf062\uf063\uf064\uf065\uf066\uf067\uf068\uf06b\uf06c\uf06d\uf06e\uf070\uf071\uf072\uf073\uf074\uf077"
        "\uf078\uf079\uf07a\uf044\uf046\uf047\uf04c\uf050\uf051\uf053\uf057\uf02b\uf02d\uf03c\uf03d\uf03e\uf07e\uf0a3"
        "\uf0a5\uf0ac\uf0ae\uf0b0\uf0b1\uf0b3\uf0b4\uf0b9\uf0bb\uf0a0",
        "αβχδεφγηκλμνπθρστωξψζΔΦΓΛΠΘΣΩ+-<=>~≤∞←→°±≥×≠≈ ",
        strict=True,
    )
)
_SIGN = re.compile(f"[{''.join(_SYMBOL)}]")
# The dash of the word processor Hangul, between two letters or digits: "4󰠏6학년".
_DASH = re.compile("(?<=[0-9A-Za-z\uac00-\ud7a3])\U000f080f(?=[0-9A-Za-z\uac00-\ud7a3])")
_PRIVATE = re.compile("[\uf020-\uf0ff\U000f080f]")


def replace_private_characters(text: str) -> Repaired:
    r"""Replace the private-use characters whose meaning is known.

    >>> replace_private_characters("0.61 \uf06dM, grades 4\U000f080f6").text
    '0.61 μM, grades 4-6'
    """
    if not _PRIVATE.search(text):
        return Repaired(text, 0)
    text, signs = _SIGN.subn(lambda match: _SYMBOL[match.group()], text)
    text, dashes = _DASH.subn("-", text)
    return Repaired(" ".join(text.split()), signs + dashes)
