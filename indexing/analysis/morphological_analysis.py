"""Morphological analysis by Kiwi: load one model for each user dictionary, split text into morphemes.

The only module that imports kiwipiepy.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from shrag.indexing.analysis.morphemes import Morpheme, prepare_for_kiwi
from shrag.indexing.analysis.user_dictionary import EMPTY_DICTIONARY, DictionaryMatcher, UserDictionary
from shrag.indexing.errors import DependencyMissing

if TYPE_CHECKING:
    from kiwipiepy import Kiwi as Kiwi  # noqa: PLC0414  (re-exported as a type)

MAX_KIWI_LENGTH = 200
"""Characters per call. Kiwi's time is quadratic in an unbroken string: 2,000 letters take 0.1 s, a megabyte 30 s."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which Kiwi does not accept."""

ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
"""Translation table to lower case that keeps every character's position."""


class KoreanMorphemes:
    """Splits text into all its morphemes, including particles, endings and punctuation.

    For rules and measures that need what an index leaves out. It has no user dictionary, so that results do not depend
    on an index.
    """

    def __init__(self) -> None:
        self._shared: SharedKiwi | None = None

    def split(self, text: str) -> list[Morpheme]:
        """Return the morphemes of ``text``, folded by :func:`shrag.indexing.analysis.normalization.fold`, in order."""
        if self._shared is None:
            self._shared = share_kiwi(EMPTY_DICTIONARY)
        found: list[Morpheme] = []
        for begin, piece in _split_text(SURROGATE.sub(" ", text)):
            for each in self._shared.kiwi.tokenize(prepare_for_kiwi(piece)):
                start, end, tag = begin + each.start, begin + each.start + each.len, each.tag.partition("-")[0]
                # Restore the characters that prepare_for_kiwi replaced: β, %.
                found.append(Morpheme(text[start:end] if tag == "SL" else each.form, tag, start, end))
        return found


def _split_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield offsets and pieces of at most :data:`MAX_KIWI_LENGTH`, split at a space where possible."""
    start = 0
    while start < len(text):
        end = start + MAX_KIWI_LENGTH
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            end = space if space > start else end
        yield start, text[start:end]
        start = end


class SharedKiwi:
    """Weakly referenceable holder of a Kiwi.

    Kiwi's own type does not clear weak references when it is destroyed; following one would crash the process.
    """

    def __init__(self, kiwi: Kiwi) -> None:
        self.kiwi = kiwi


_loaded: WeakValueDictionary[str, SharedKiwi] = WeakValueDictionary()
_loading = threading.Lock()


def share_kiwi(dictionary: UserDictionary) -> SharedKiwi:
    """Return a Kiwi that is in use with the same dictionary, else load one: two index generations share it."""
    with _loading:
        shared = _loaded.get(dictionary.fingerprint)
        if shared is None:
            shared = _loaded[dictionary.fingerprint] = SharedKiwi(load_kiwi(dictionary))
        return shared


def load_kiwi(dictionary: UserDictionary = EMPTY_DICTIONARY) -> Kiwi:
    """Load Kiwi with the settings that the analyzer's fingerprint names; takes over half a second and 250 MB."""
    try:
        from kiwipiepy import Kiwi
    except ImportError as error:
        raise DependencyMissing(f"Kiwi is not installed ({error}): run `make setup`.") from error
    # Without its dictionaries of names Kiwi splits compounds as questions do (인공신경망 → 인공 신경망): the right
    # paragraph is first for 0.914 of wiki-ko (0.911 with them) and 0.846 of multihop-ko (0.843). It also loads in 0.6 s
    # instead of 2.1 s.
    kiwi = Kiwi(num_workers=1, load_default_dict=False, load_multi_dict=False)
    for word in DictionaryMatcher(dictionary).korean:
        kiwi.add_user_word(word.word.translate(ASCII_LOWER), word.tag, word.score)
    kiwi.tokenize("준비")
    return kiwi
