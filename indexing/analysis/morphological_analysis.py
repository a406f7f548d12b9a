"""Morphological analysis by Kiwi.

The module loads one Kiwi for each user dictionary, splits text into morphemes and selects the terms to index. It is the
only module that imports kiwipiepy.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from shrag.indexing.analysis.added_nouns import ADDED_NOUNS
from shrag.indexing.analysis.analyzer import Token, TokenKind
from shrag.indexing.analysis.latin import MAX_TERM_LENGTH
from shrag.indexing.analysis.misread_nouns import misread_noun, parts_of
from shrag.indexing.analysis.spellings.loanwords import STANDARD_SPELLINGS, with_standard_spellings
from shrag.indexing.analysis.stopwords import KOREAN_STOPWORDS
from shrag.indexing.analysis.user_dictionary import EMPTY_DICTIONARY, DictionaryMatcher, UserDictionary
from shrag.indexing.errors import DependencyMissing
from shrag.messages.text import Text

if TYPE_CHECKING:
    from kiwipiepy import Kiwi as Kiwi  # noqa: PLC0414  (re-exported as a type)

MAX_KIWI_LENGTH = 200
"""Most characters per call of Kiwi. Its time is quadratic in a string without spaces: 2,000 letters take 0.1 s, a
megabyte 30 s.
"""

SURROGATE = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which Kiwi refuses."""

ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
"""Translation table to lower case that keeps every character's position."""


INDEXED_TAGS: Mapping[str, TokenKind] = {
    "NNG": "noun",  # common nouns
    "NNP": "noun",  # proper nouns
    "NR": "noun",  # numerals in words
    "XR": "noun",  # roots of 하다 words: 깨끗, 복잡
    "SH": "noun",  # Hanja
    "NNB": "bound noun",  # counters and the like: 명, 차
    "NP": "bound noun",  # pronouns
    "VV": "predicate",  # verbs
    "VA": "predicate",  # adjectives
    "MAG": "modifier",  # adverbs
}
"""The indexed Sejong tags. Particles, endings, copulas, affixes and punctuation are not indexed."""

_JOINED_TAGS = frozenset({"NNG", "NNP", "NR", "XR", "SH", "XPN"})

_HANGUL = re.compile("[\uac00-\ud7a3]+")
_READ_AS_SYMBOL = re.compile("[^\\s0-9A-Za-z\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff()\\[\\]·/,.:~'\"“”‘’「」『』-]")
_HYPHEN_BEFORE_KOREAN = re.compile("(?<![\uac00-\ud7a3])-(?=[\uac00-\ud7a3])")


class Morpheme(NamedTuple):
    """A morpheme; ``form`` may differ from ``text[start:end]``, since Kiwi restores stems and contractions."""

    form: str
    tag: str
    start: int
    end: int


def korean_tokens(
    folded: str, kiwi: Kiwi, matcher: DictionaryMatcher | None, before_kiwi: Callable[[], None] | None = None
) -> Iterator[Token]:
    """Yield the tokens of an eojeol (space-separated word): its indexed morphemes and its compounds.

    Each run of adjacent nouns and prefixes is a compound. So a compound is found by its parts (인공, 신경망), and its
    full form (인공신경망, 비선형) ranks first.

    Args:
        folded: The folded eojeol.
        kiwi: Kiwi with the user's dictionary.
        matcher: The same dictionary's matcher, None for an empty one.
        before_kiwi: Called before each call of Kiwi.
    """
    for begin in range(0, len(folded), MAX_KIWI_LENGTH):
        if before_kiwi is not None:
            before_kiwi()
        piece = folded[begin : begin + MAX_KIWI_LENGTH]
        mixed = matcher is not None and matcher.holds_mixed(piece)
        readable = piece.translate(ASCII_LOWER) if mixed else prepare_for_kiwi(piece)
        morphemes = [
            Morpheme(found.form, found.tag.partition("-")[0], begin + found.start, begin + found.start + found.len)
            for found in kiwi.tokenize(with_standard_spellings(SURROGATE.sub(" ", readable)))
        ]
        for hangul in _HANGUL.finditer(folded, begin, begin + len(piece)):
            if noun := misread_noun(hangul.group()):
                start, end = hangul.start(), hangul.start() + len(noun)
                morphemes, has_part = _with_noun(morphemes, Morpheme(noun, "NNG", start, end), hangul.end())
                if has_part:
                    yield Token(noun, start, end, "compound")
        morphemes = [each._replace(form=STANDARD_SPELLINGS.get(each.form, each.form)) for each in morphemes]
        for morpheme in morphemes:
            kind = INDEXED_TAGS.get(morpheme.tag)
            if kind is not None and morpheme.form not in KOREAN_STOPWORDS:
                yield Token(_term(morpheme), morpheme.start, morpheme.end, kind)
        for run in _noun_runs(morphemes):
            joined = "".join(part.form for part in run).replace(" ", "")
            yield Token(joined[:MAX_TERM_LENGTH], run[0].start, run[-1].end, "compound")


def _with_noun(morphemes: list[Morpheme], noun: Morpheme, end: int) -> tuple[list[Morpheme], bool]:
    """Replace the morphemes that Kiwi reads between the start of ``noun`` and ``end`` by this misread noun.

    Returns:
        The morphemes, and whether Kiwi's first noun is kept because ``noun`` begins with it (학습 of 학습자). The
        caller then adds the whole noun as a compound.
    """
    read = [each for each in morphemes if noun.start <= each.start < end]
    if not read or any(each.form == noun.form and each.tag in _JOINED_TAGS for each in read):
        return morphemes, False
    before = [each for each in morphemes if each.start < noun.start]
    behind = [each for each in morphemes if each.start >= end]
    if divided := parts_of(noun.form):
        parts = list[Morpheme]()
        for form, tag in divided:
            start = parts[-1].end if parts else noun.start
            parts.append(Morpheme(form, tag, start, start + len(form)))
        return [*before, *parts, *behind], False
    is_part = read[0].tag in _JOINED_TAGS and len(read[0].form) > 1 and noun.form.startswith(read[0].form)
    return [*before, read[0] if is_part else noun, *behind], is_part


def _term(morpheme: Morpheme) -> str:
    form = morpheme.form.replace(" ", "")  # a user's word may have spaces
    if morpheme.tag[0] == "V" and len(form) > 2 and form[-1] in "하되":
        form = form[:-1]  # Kiwi reads 깨끗하 as one morpheme, but 복잡 + 하 as two: the term of both is the root
    return form[:MAX_TERM_LENGTH]


def _noun_runs(morphemes: Iterable[Morpheme]) -> Iterator[list[Morpheme]]:
    """Yield each run of two or more adjacent nouns and prefixes."""
    run: list[Morpheme] = []
    for morpheme in morphemes:
        if morpheme.tag not in _JOINED_TAGS or (run and run[-1].end != morpheme.start):
            if len(run) > 1:
                yield run
            run = []
        if morpheme.tag in _JOINED_TAGS:
            run.append(morpheme)
    if len(run) > 1:
        yield run


def prepare_for_kiwi(folded: str) -> str:
    """Replace characters that mislead Kiwi, without changing positions.

    After a Greek letter or a percent sign, Kiwi does not recognize a particle (β를 gives the noun 르), nor does it in
    β-카로틴의. So such a character becomes a Latin letter, and such a hyphen becomes a space.
    """
    return _HYPHEN_BEFORE_KOREAN.sub(" ", _READ_AS_SYMBOL.sub("A", folded))


class KoreanMorphemes:
    """Splits text into all its morphemes, including particles, endings and punctuation.

    It serves rules and measures that need the morphemes that an index leaves out. It uses no user dictionary, so that
    its results do not depend on an index.
    """

    def __init__(self) -> None:
        self._shared: SharedKiwi | None = None

    def split(self, text: str) -> list[Morpheme]:
        """Return the morphemes, in order, of a text folded by :func:`shrag.indexing.analysis.analyzer.fold`."""
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
    """Yield pieces of at most :data:`MAX_KIWI_LENGTH` with their offsets, split at a space where possible."""
    start = 0
    while start < len(text):
        end = start + MAX_KIWI_LENGTH
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            end = space if space > start else end
        yield start, text[start:end]
        start = end


class SharedKiwi:
    """Holder of a Kiwi that can be weakly referenced.

    Kiwi's own type does not clear weak references when it is destroyed: following such a reference would crash the
    process.
    """

    def __init__(self, kiwi: Kiwi) -> None:
        self.kiwi = kiwi


_loaded: WeakValueDictionary[str, SharedKiwi] = WeakValueDictionary()
_loading = threading.Lock()


def share_kiwi(dictionary: UserDictionary) -> SharedKiwi:
    """Return the Kiwi that is in use with the same dictionary; load one if there is none.

    So two generations of an index share one Kiwi.
    """
    with _loading:
        shared = _loaded.get(dictionary.fingerprint)
        if shared is None:
            shared = _loaded[dictionary.fingerprint] = SharedKiwi(load_kiwi(dictionary))
        return shared


def load_kiwi(dictionary: UserDictionary = EMPTY_DICTIONARY) -> Kiwi:
    """Load Kiwi with the settings that the analyzer's fingerprint names. This takes over half a second and 250 MB."""
    try:
        from kiwipiepy import Kiwi
    except ImportError as error:
        raise DependencyMissing(Text("Kiwi is not installed ({error}): install SHRAG again.", error=error)) from error
    # Without its dictionaries of names, Kiwi splits compounds as questions do (인공신경망 → 인공 신경망). Right
    # paragraph first without / with them: wiki-ko 0.914 / 0.911, multihop-ko 0.846 / 0.843. Kiwi also loads in 0.6 s
    # instead of 2.1 s.
    kiwi = Kiwi(num_workers=1, load_default_dict=False, load_multi_dict=False)
    for noun in sorted(ADDED_NOUNS):
        kiwi.add_user_word(noun, "NNG")
    for word in DictionaryMatcher(dictionary).korean:
        kiwi.add_user_word(with_standard_spellings(word.word.translate(ASCII_LOWER)), word.tag, word.score)
    kiwi.tokenize("준비")
    return kiwi
