"""Korean/English analyzer over Kiwi.

Text is analysed one eojeol (space-separated word) at a time and each is analysed once: on 1,500 KorQuAD questions that
ranks as well as whole sentences do, and a word seen before costs a dictionary look-up. Hangul and Hanja go through
Kiwi; Latin and Greek words, numbers and identifiers through :mod:`shrag.indexing.analysis.latin`.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.latin import STEMMER, find_words, plain_word_terms
from shrag.indexing.analysis.morphemes import KEPT_TAGS, Morpheme, for_kiwi, korean_tokens
from shrag.indexing.analysis.normalization import fold_with_offsets
from shrag.indexing.analysis.stopwords import ENGLISH_STOPWORDS, KOREAN_STOPWORDS
from shrag.indexing.analysis.token_store import WordBook
from shrag.indexing.analysis.user_dictionary import NO_WORDS, UserDictionary, UserWords
from shrag.indexing.errors import PartMissing

if TYPE_CHECKING:
    from kiwipiepy import Kiwi

_RULES = 2
"""Raised whenever the same text would give other terms for a reason the rest of the fingerprint does not show."""

_EOJEOL = re.compile(r"\S+")
# No language goes on for longer without a space: what stands behind is passed over, so that the time has a bound.
_LONGEST_UNBROKEN = 20_000
# Folding takes a time that grows with the square of a stretch of combining marks.
_LONGEST_EOJEOL = 500
_KOREAN = re.compile("[\uac00-\ud7a3\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_EDGE = "\"'()[]{}<>.,:;!?·…「」『』《》〈〉“”‘’-~/"

# Kiwi's time grows with the square of an unbroken string: 2,000 letters take 0.1 s, a megabyte half a minute.
_LONGEST_PIECE = 200
_CACHED_WORDS = 400_000


class KoreanEnglishAnalyzer:
    """Implements :class:`~shrag.indexing.analysis.analyzer.Analyzer`. Safe to share between threads."""

    def __init__(
        self,
        book: WordBook | None = None,
        dictionary: UserDictionary = NO_WORDS,
        *,
        kiwi: Kiwi | None = None,
        cached_words: int = _CACHED_WORDS,
        notice: Callable[[tuple[str, tuple[Token, ...]]], None] | None = None,
        before_piece: Callable[[], None] | None = None,
    ) -> None:
        """Analyse with what ``book`` has of an earlier analysis, and with Kiwi, loaded when first needed.

        ``book`` and ``kiwi``, one that is loaded already, have to be of the same ``dictionary``. ``notice`` is called
        with each word that is analysed and not remembered, if it has Korean in it, and its tokens; ``before_piece``
        before each piece of it that Kiwi gets.
        """
        self._book = book
        self._dictionary = dictionary
        self._user_words = UserWords(dictionary)
        self._kiwi = kiwi
        self._shared: _SharedKiwi | None = None
        self._cached_words = cached_words
        self._notice = notice
        self._before_piece = before_piece
        self._cache: dict[str, tuple[Token, ...]] = {}
        self._learned: dict[str, bytes] = {}
        self._word_terms = _WordTerms(self._analyze, cached_words)
        self._loading = threading.Lock()
        self._writing = threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """See :class:`~shrag.indexing.analysis.analyzer.Analyzer`."""
        stop = hashlib.sha256(" ".join(sorted(ENGLISH_STOPWORDS | KOREAN_STOPWORDS)).encode()).hexdigest()[:8]
        return (
            f"rules {_RULES}; kiwipiepy {version('kiwipiepy')}, model {version('kiwipiepy_model')}, "
            f"no name dictionaries; tags {' '.join(KEPT_TAGS)}; "
            f"snowball {STEMMER} (PyStemmer {version('PyStemmer')}); stop words {stop}; "
            f"dictionary {self._dictionary.fingerprint}"
        )

    def prepare(self) -> None:
        """Load Kiwi now (over half a second); otherwise the first Korean word does."""
        self._load()

    def tokens(self, texts: Sequence[str]) -> list[list[Token]]:
        """See :class:`~shrag.indexing.analysis.analyzer.Analyzer`."""
        return [
            [
                Token(token.term, start + token.start, start + token.end, token.kind)
                for start, eojeol in self._eojeols(text)
                for token in self._analyze(eojeol)
            ]
            for text in texts
        ]

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """See :class:`~shrag.indexing.analysis.analyzer.Analyzer`."""
        if self._dictionary.words:
            return [
                [token.term for _, eojeol in self._eojeols(text) for token in self._analyze(eojeol)] for text in texts
            ]
        return [list(chain.from_iterable(map(self._word_terms.__getitem__, text.split()))) for text in texts]

    def _eojeols(self, text: str) -> Sequence[tuple[int, str]]:
        found = eojeols(text)
        return self._user_words.join_phrases(text, found) if self._dictionary.words else found

    def _analyze(self, eojeol: str) -> tuple[Token, ...]:
        known = self._cache.get(eojeol)
        if known is not None:
            return known
        is_korean = _KOREAN.search(eojeol) is not None
        learned = self._learned.pop(eojeol, None)
        if learned is not None:
            known = msgspec.json.decode(learned, type=tuple[Token, ...])
        elif self._book is not None and is_korean and not _SURROGATE.search(eojeol):
            known = self._book.look_up(eojeol)
        if known is None:
            known = self._analyze_new(eojeol)
        if len(eojeol) <= _LONGEST_PIECE:
            with self._writing:
                if len(self._cache) >= self._cached_words:
                    _drop_older_half(self._cache)
                self._cache[eojeol] = known
            if self._notice is not None and learned is None and is_korean:
                self._notice((eojeol, known))
        return known

    def learn(self, words: Iterable[tuple[str, bytes]]) -> None:
        """Take words with their tokens, as JSON, that an analyser of the same fingerprint has met elsewhere."""
        with self._writing:
            if len(self._learned) >= self._cached_words:
                _drop_older_half(self._learned)
            self._learned.update(words)

    def _analyze_new(self, eojeol: str) -> tuple[Token, ...]:
        folded, origins = fold_with_offsets(eojeol)
        found = [Token(*word) for word in find_words(folded)]
        if self._dictionary.words:
            found.extend(token for token in self._user_words.find(folded) if token not in found)
        if _KOREAN.search(folded):
            found.extend(self._morphemes(folded))
        found.sort(key=itemgetter(1, 2))  # by start, then end
        return tuple(Token(term, origins[start], _origin_end(origins, end), kind) for term, start, end, kind in found)

    def _morphemes(self, folded: str) -> Iterator[Token]:
        kiwi = self._load() if self._kiwi is None else self._kiwi
        for begin in range(0, len(folded), _LONGEST_PIECE):
            if self._before_piece is not None:
                self._before_piece()
            piece = folded[begin : begin + _LONGEST_PIECE]
            mixed = bool(self._dictionary.words) and self._user_words.holds_mixed(piece)
            readable = piece.translate(_LOWER) if mixed else for_kiwi(piece)
            morphemes = [
                Morpheme(found.form, found.tag.partition("-")[0], begin + found.start, begin + found.start + found.len)
                for found in kiwi.tokenize(_SURROGATE.sub(" ", readable))
            ]
            yield from korean_tokens(morphemes)

    def _load(self) -> Kiwi:
        if self._kiwi is None:
            with self._loading:
                if self._kiwi is None:
                    self._shared = _shared_kiwi(self._dictionary)
                    self._kiwi = self._shared.kiwi
        return self._kiwi


class KoreanMorphemes:
    """Splits text into all of its morphemes, particles, endings and punctuation too, each with its tag.

    For measures of answers, which count what an index leaves out; it knows no user's words, so that a figure is the
    same whatever index was asked.
    """

    def __init__(self) -> None:
        self._shared: _SharedKiwi | None = None

    def split(self, text: str) -> list[Morpheme]:
        """Return the morphemes of ``text``, which is folded (:func:`shrag.indexing.analysis.normalization.fold`), in its order."""
        if self._shared is None:
            self._shared = _shared_kiwi(NO_WORDS)
        found: list[Morpheme] = []
        for begin, piece in _stretches(_SURROGATE.sub(" ", text)):
            for each in self._shared.kiwi.tokenize(for_kiwi(piece)):
                start, end, tag = begin + each.start, begin + each.start + each.len, each.tag.partition("-")[0]
                # What stands for a sign that Kiwi does not read is the sign again: β, %.
                found.append(Morpheme(text[start:end] if tag == "SL" else each.form, tag, start, end))
        return found


class _WordTerms(dict[str, tuple[str, ...]]):
    """A cache of the terms of space-separated words, with their punctuation, where there is no user dictionary."""

    def __init__(self, analyze: Callable[[str], tuple[Token, ...]], most: int) -> None:
        super().__init__()
        self._analyze, self._most = analyze, most
        self._writing = threading.Lock()

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > _LONGEST_EOJEOL:
            return tuple(token.term for _, core in eojeols(word) for token in self._analyze(core))
        core = word.strip(_EDGE)
        if core.isascii() and core.isalpha():
            terms = plain_word_terms(core)
        else:
            terms = tuple(token.term for token in self._analyze(core)) if core else ()
        if len(word) <= _LONGEST_PIECE:
            with self._writing:
                if len(self) >= self._most:
                    _drop_older_half(self)
                self[word] = terms
        return terms


def _drop_older_half(cache: dict[str, Any]) -> None:
    for old in list(cache)[: len(cache) // 2]:
        del cache[old]


class _SharedKiwi:
    """Holds a Kiwi for those who share it.

    Kiwi's own type leaves weak references to it as they are when it goes, so that following one ends the process; this
    one's are cleared.
    """

    def __init__(self, kiwi: Kiwi) -> None:
        self.kiwi = kiwi


_loaded: WeakValueDictionary[str, _SharedKiwi] = WeakValueDictionary()
_loading = threading.Lock()


def _shared_kiwi(dictionary: UserDictionary) -> _SharedKiwi:
    """Return the Kiwi that another analyser of the same dictionary has, or load one: two generations need but one."""
    with _loading:
        shared = _loaded.get(dictionary.fingerprint)
        if shared is None:
            shared = _loaded[dictionary.fingerprint] = _SharedKiwi(load_kiwi(dictionary))
        return shared


def load_kiwi(dictionary: UserDictionary = NO_WORDS) -> Kiwi:
    """Load Kiwi with the settings this analyser's fingerprint stands for; takes over half a second and 250 MB."""
    try:
        from kiwipiepy import Kiwi
    except ImportError as error:
        raise PartMissing(f"Kiwi is not installed ({error}): run `make setup`.") from error
    # Without its dictionaries of names Kiwi splits compounds as questions do (인공신경망 → 인공 신경망): right
    # paragraph first on wiki-ko 0.914 against 0.911, multihop-ko 0.846 against 0.843; it starts in 0.6 s, not 2.1.
    kiwi = Kiwi(num_workers=1, load_default_dict=False, load_multi_dict=False)
    for word in UserWords(dictionary).korean:
        kiwi.add_user_word(word.word.translate(_LOWER), word.tag, word.score)
    kiwi.tokenize("준비")
    return kiwi


def eojeols(text: str) -> list[tuple[int, str]]:
    """Split at whitespace and drop punctuation at the edges, so that the same word is the same key."""
    found: list[tuple[int, str]] = []
    for match in _EOJEOL.finditer(text):
        eojeol, start = match.group(), match.start()
        if len(eojeol) > _LONGEST_EOJEOL:
            found.extend(_pieces(eojeol, start))
            continue
        core = eojeol.lstrip(_EDGE)
        start += len(eojeol) - len(core)
        if core := core.rstrip(_EDGE):
            found.append((start, core))
    return found


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    """Yield ``text`` in pieces that Kiwi can take, cut at a space where there is one."""
    start = 0
    while start < len(text):
        end = start + _LONGEST_PIECE
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            end = space if space > start else end
        yield start, text[start:end]
        start = end


def _pieces(unbroken: str, start: int) -> Iterator[tuple[int, str]]:
    for begin in range(0, min(len(unbroken), _LONGEST_UNBROKEN), _LONGEST_EOJEOL):
        piece = unbroken[begin : begin + _LONGEST_EOJEOL]
        core = piece.lstrip(_EDGE)
        place = start + begin + len(piece) - len(core)
        if core := core.rstrip(_EDGE):
            yield place, core


def _origin_end(origins: Sequence[int], end: int) -> int:
    """Return where, in the unfolded text, a stretch that ends at ``end`` in the folded one ends."""
    here = origins[end]
    # Inside a character that folded to several (㎏ → kg), the stretch takes the whole of it.
    return here if end == 0 or origins[end - 1] != here else here + 1
