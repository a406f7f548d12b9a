"""Korean/English analyzer: Kiwi for Hangul and Hanja, :mod:`shrag.indexing.analysis.latin` for the rest.

The analyzer reads text one eojeol (space-separated word) at a time and caches the results. On 1,500 KorQuAD questions
this ranks as well as reading whole sentences, and a known word costs one dictionary access.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from shrag.indexing.analysis.added_nouns import ADDED_NOUNS
from shrag.indexing.analysis.analyzer import VARIANTS, Token, fold
from shrag.indexing.analysis.irregular_forms import IRREGULAR_FORMS
from shrag.indexing.analysis.latin import STEMMER, find_words, is_all_capitals, plain_word_terms
from shrag.indexing.analysis.misread_nouns import MISREAD_NOUNS, parts_of
from shrag.indexing.analysis.morphological_analysis import (
    ASCII_LOWER,
    INDEXED_TAGS,
    MAX_KIWI_LENGTH,
    SURROGATE,
    SharedKiwi,
    korean_tokens,
    share_kiwi,
)
from shrag.indexing.analysis.spellings.british import RULES
from shrag.indexing.analysis.spellings.loanwords import STANDARD_SPELLINGS
from shrag.indexing.analysis.stopwords import ACRONYMS, ENGLISH_STOPWORDS, KOREAN_STOPWORDS
from shrag.indexing.analysis.token_store import TokenStore, decode_tokens
from shrag.indexing.analysis.user_dictionary import EMPTY_DICTIONARY, DictionaryMatcher, UserDictionary

if TYPE_CHECKING:
    from shrag.indexing.analysis.morphological_analysis import Kiwi

_RULES = 5
"""Version of the rules. Increase it when a change yields other terms and no other part of the fingerprint shows
that.
"""

_EOJEOL = re.compile(r"\S+")
# Most characters of a string without spaces that are analyzed, to bound the time. The rest is skipped.
_MAX_UNBROKEN = 20_000
# A longer eojeol is split, because folding a run of combining marks takes quadratic time.
_MAX_EOJEOL = 500
# Characters that compose under NFKC: conjoining, compatibility and half-width letters of Hangul, and a base character
# with its combining marks. They are folded together.
_CLUSTER = re.compile(
    "[\u1100-\u11ff\u3131-\u318e\uffa0-\uffdc]+|.[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff]*", re.DOTALL
)
_KOREAN = re.compile("[\uac00-\ud7a3\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_EDGE = "\"'()[]{}<>.,:;!?·…「」『』《》〈〉“”‘’-~/"

_MAX_CACHED_WORDS = 400_000


def analyzer_fingerprint(dictionary: UserDictionary = EMPTY_DICTIONARY) -> str:
    """Return the fingerprint of an analyzer with a user dictionary, without creating one."""
    stop = _short_hash(ENGLISH_STOPWORDS | KOREAN_STOPWORDS | ACRONYMS)
    added = _short_hash(ADDED_NOUNS)
    misread = _short_hash(f"{noun} {parts_of(noun)}" for noun in MISREAD_NOUNS)
    loanwords = _short_hash(map(":".join, STANDARD_SPELLINGS.items()))
    irregular = _short_hash(map(":".join, IRREGULAR_FORMS.items()))
    british = _short_hash(f"{rule.pattern}:{american}" for rule, american in RULES)
    return (
        f"rules {_RULES}; kiwipiepy {version('kiwipiepy')}, model {version('kiwipiepy_model')}, "
        f"no name dictionaries; tags {' '.join(INDEXED_TAGS)}; "
        f"snowball {STEMMER} (PyStemmer {version('PyStemmer')}); stop words {stop}; "
        f"added nouns {added}; misread nouns {misread}; loanwords {loanwords}; "
        f"irregular forms {irregular}; British spellings {british}; "
        f"dictionary {dictionary.fingerprint}"
    )


def _short_hash(words: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(sorted(words)).encode()).hexdigest()[:8]


class KoreanEnglishAnalyzer:
    """Implements :class:`~shrag.indexing.analysis.analyzer.Analyzer`. Thread-safe."""

    def __init__(
        self,
        store: TokenStore | None = None,
        dictionary: UserDictionary = EMPTY_DICTIONARY,
        *,
        kiwi: Kiwi | None = None,
        cached_words: int = _MAX_CACHED_WORDS,
        on_new_word: Callable[[tuple[str, tuple[Token, ...]]], None] | None = None,
        before_kiwi: Callable[[], None] | None = None,
    ) -> None:
        """Create an analyzer; Kiwi is loaded when it is first needed.

        Args:
            store: Stored tokens of words, made by the same analyzer with the same dictionary.
            dictionary: The user's words.
            kiwi: A loaded Kiwi with the same dictionary.
            cached_words: The most words in the cache.
            on_new_word: Called with each Korean word that was not cached and its tokens, as a pair.
            before_kiwi: Called before each call of Kiwi.
        """
        self._store = store
        self._dictionary = dictionary
        self._matcher = DictionaryMatcher(dictionary)
        self._kiwi = kiwi
        self._shared: SharedKiwi | None = None
        self._cached_words = cached_words
        self._on_new_word = on_new_word
        self._before_kiwi = before_kiwi
        self._cache: dict[str, tuple[Token, ...]] = {}
        self._added_tokens: dict[str, bytes] = {}
        self._word_terms = _WordTerms(self._analyze, cached_words)
        self._loading = threading.Lock()
        self._cache_lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """See :class:`~shrag.indexing.analysis.analyzer.Analyzer`."""
        return analyzer_fingerprint(self._dictionary)

    def prepare(self) -> None:
        """Load Kiwi now, which takes over half a second. Otherwise the first Korean word loads it."""
        self._load()

    def tokens(self, texts: Sequence[str]) -> list[list[Token]]:
        """See :class:`~shrag.indexing.analysis.analyzer.Analyzer`."""
        return [
            [
                Token(token.term, start + token.start, start + token.end, token.kind)
                for start, eojeol in self._eojeols(text)
                for token in self._analyze(eojeol)
            ]
            for text in map(_without_capitals, texts)
        ]

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """See :class:`~shrag.indexing.analysis.analyzer.Analyzer`."""
        texts = [_without_capitals(text) for text in texts]
        if self._dictionary.words:
            return [
                [token.term for _, eojeol in self._eojeols(text) for token in self._analyze(eojeol)] for text in texts
            ]
        return [list(chain.from_iterable(map(self._word_terms.__getitem__, text.split()))) for text in texts]

    def _eojeols(self, text: str) -> Sequence[tuple[int, str]]:
        found = eojeols(text)
        return self._matcher.join_phrases(text, found) if self._dictionary.words else found

    def _analyze(self, eojeol: str) -> tuple[Token, ...]:
        known = self._cache.get(eojeol)
        if known is not None:
            return known
        is_korean = _KOREAN.search(eojeol) is not None
        added = self._added_tokens.pop(eojeol, None)
        if added is not None:
            known = decode_tokens(added)
        elif self._store is not None and is_korean and not SURROGATE.search(eojeol):
            known = self._store.get(eojeol)
        if known is None:
            known = self._analyze_new(eojeol)
        if len(eojeol) <= MAX_KIWI_LENGTH:
            with self._cache_lock:
                if len(self._cache) >= self._cached_words:
                    _evict_half(self._cache)
                self._cache[eojeol] = known
            if self._on_new_word is not None and added is None and is_korean:
                self._on_new_word((eojeol, known))
        return known

    def add_tokens(self, words: Iterable[tuple[str, bytes]]) -> None:
        """Add words to the cache, with their tokens (as JSON) from another analyzer of the same fingerprint."""
        with self._cache_lock:
            if len(self._added_tokens) >= self._cached_words:
                _evict_half(self._added_tokens)
            self._added_tokens.update(words)

    def _analyze_new(self, eojeol: str) -> tuple[Token, ...]:
        folded, starts, ends = fold_with_offsets(eojeol)
        found = find_words(folded)
        if self._dictionary.words:
            found.extend(token for token in self._matcher.find(folded) if token not in found)
        if _KOREAN.search(folded):
            kiwi = self._load() if self._kiwi is None else self._kiwi
            matcher = self._matcher if self._dictionary.words else None
            found.extend(korean_tokens(folded, kiwi, matcher, self._before_kiwi))
        found.sort(key=itemgetter(1, 2))  # by start, then end
        return tuple(Token(term, starts[start], ends[end], kind) for term, start, end, kind in found)

    def _load(self) -> Kiwi:
        if self._kiwi is None:
            with self._loading:
                if self._kiwi is None:
                    self._shared = share_kiwi(self._dictionary)
                    self._kiwi = self._shared.kiwi
        return self._kiwi


class _WordTerms(dict[str, tuple[str, ...]]):
    """Cache of the terms of space-separated words with their punctuation.

    A missing word is analyzed on access. The cache is used only without a user dictionary, whose words may have spaces.
    """

    def __init__(self, analyze: Callable[[str], tuple[Token, ...]], most: int) -> None:
        super().__init__()
        self._analyze, self._most = analyze, most
        self._cache_lock = threading.Lock()

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > _MAX_EOJEOL:
            return tuple(token.term for _, core in eojeols(word) for token in self._analyze(core))
        core = word.strip(_EDGE)
        if core.isascii() and core.isalpha():
            terms = plain_word_terms(core)
        else:
            terms = tuple(token.term for token in self._analyze(core)) if core else ()
        if len(word) <= MAX_KIWI_LENGTH:
            with self._cache_lock:
                if len(self) >= self._most:
                    _evict_half(self)
                self[word] = terms
        return terms


def _without_capitals(text: str) -> str:
    """Return a text in lower case if it is all in capitals, so that none of its stop words reads as an acronym."""
    return text.translate(ASCII_LOWER) if is_all_capitals(text) else text


def _evict_half(cache: dict[str, Any]) -> None:
    """Drop the older half of a full cache. Frequent words soon return to it."""
    for old in list(cache)[: len(cache) // 2]:
        del cache[old]


def eojeols(text: str) -> list[tuple[int, str]]:
    """Split a text at white space and strip punctuation from each word; return offsets and words."""
    found: list[tuple[int, str]] = []
    for match in _EOJEOL.finditer(text):
        eojeol, start = match.group(), match.start()
        if len(eojeol) > _MAX_EOJEOL:
            found.extend(_split_unbroken(eojeol, start))
            continue
        core = eojeol.lstrip(_EDGE)
        start += len(eojeol) - len(core)
        if core := core.rstrip(_EDGE):
            found.append((start, core))
    return found


def _split_unbroken(unbroken: str, start: int) -> Iterator[tuple[int, str]]:
    for begin in range(0, min(len(unbroken), _MAX_UNBROKEN), _MAX_EOJEOL):
        piece = unbroken[begin : begin + _MAX_EOJEOL]
        core = piece.lstrip(_EDGE)
        offset = start + begin + len(piece) - len(core)
        if core := core.rstrip(_EDGE):
            yield offset, core


def fold_with_offsets(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Fold ``text`` as :func:`~shrag.indexing.analysis.analyzer.fold` does, with offsets into the original.

    Returns:
        The folded text and two sequences of offsets into ``text``, with an entry for each position in the folded text.
        The first sequence says where a range that begins at a position begins in ``text``. The second says where a
        range that ends at a position ends in ``text``. If a character folds to several, a range that ends inside them
        includes the whole character.

    >>> fold_with_offsets("a㎏b")
    ('akgb', [0, 1, 1, 2, 3], [0, 1, 2, 2, 3])
    """
    if text.isascii() or (unicodedata.is_normalized("NFKC", text) and text.translate(VARIANTS) == text):
        return text, range(len(text) + 1), range(len(text) + 1)
    folded: list[str] = []
    starts: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        part = fold(cluster.group())
        folded.append(part)
        starts.extend([cluster.start()] * len(part))
    starts.append(len(text))
    ends = [start + (position > 0 and starts[position - 1] == start) for position, start in enumerate(starts)]
    return "".join(folded), starts, ends
