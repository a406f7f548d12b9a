"""Unicode normalization for matching, with offsets into the original text.

Records store their text as written (NFC). Matching uses its NFKC form with unified dashes and apostrophes, in which
``Ａ₃`` equals ``A3``, ``㎏`` equals ``kg`` and ``‐`` equals ``-``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Characters that compose under NFKC: conjoining, compatibility and half-width letters of Hangul, and a base character
# with its combining marks. They are folded together.
_CLUSTER = re.compile(
    "[\u1100-\u11ff\u3131-\u318e\uffa0-\uffdc]+|.[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff]*", re.DOTALL
)
_VARIANTS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-") | {"\u2019": "'"})


def fold(text: str) -> str:
    """Return the form of ``text`` that is matched.

    >>> fold("Ａ₃‐㎏")
    'A3-kg'
    """
    return unicodedata.normalize("NFKC", text).translate(_VARIANTS)


def fold_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Return the folded text and, for each of its characters and for its end, the index in ``text``.

    >>> fold_with_offsets("a㎏b")
    ('akgb', [0, 1, 1, 2, 3])
    """
    if text.isascii() or (unicodedata.is_normalized("NFKC", text) and text.translate(_VARIANTS) == text):
        return text, range(len(text) + 1)
    folded: list[str] = []
    origins: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        part = fold(cluster.group())
        folded.append(part)
        origins.extend([cluster.start()] * len(part))
    return "".join(folded), [*origins, len(text)]
