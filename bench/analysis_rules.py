"""The variants of the analyser that were tried, each as a change of the rules it had first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import Stemmer

from bench.judged_sets import PAIR
from shrag.indexing import words as word_rules
from shrag.indexing.folding import fold
from shrag.indexing.morphemes import KEPT_TAGS, Morpheme, for_kiwi
from shrag.indexing.stopwords import ENGLISH_STOPWORDS, KOREAN_STOPWORDS
from shrag.indexing.words import find_words

Morphemes = Sequence[Morpheme]
RULES_1 = frozenset({*KEPT_TAGS, "XSN"})
KOREAN = re.compile("[\uac00-\ud7a3\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
NOUNS = frozenset({"NNG", "NNP", "NR", "XR", "SH"})


def default_words(text: str) -> Iterable[str]:
    """Return the terms of the words of ``text`` by the rules in use."""
    return [found.term for found in find_words(text)]


_words_cache: dict[str, Iterable[str]] = {}


def known_words(text: str) -> Iterable[str]:
    """Return the terms of the words of ``text`` by the rules in use, each text once."""
    if text not in _words_cache:
        _words_cache[text] = default_words(text)
    return _words_cache[text]


@dataclass(frozen=True)
class Rules:
    """How an eojeol becomes terms; ``extra`` adds to what is kept of its morphemes after ``change``."""

    source: str = "plain"
    tags: frozenset[str] = RULES_1
    korean_stop: frozenset[str] = KOREAN_STOPWORDS
    english_stop: frozenset[str] = ENGLISH_STOPWORDS
    stemmer: str = "english"
    extra: tuple[Callable[[str, Morphemes], Iterable[str]], ...] = ()
    pairs: Callable[[str, Morphemes, str, Morphemes], Iterable[str]] | None = None
    change: Callable[[Morphemes], Morphemes] = lambda morphemes: morphemes
    words: Callable[[str], Iterable[str]] = default_words

    def terms(self, eojeol: str, morphemes: Mapping[str, Morphemes]) -> list[str]:
        """Return the terms of one eojeol, or of a pair, whose folded forms are in ``morphemes``."""
        if PAIR in eojeol:
            if self.pairs is None:
                return []
            first, _, second = eojeol.partition(PAIR)
            if not (KOREAN.search(first) and KOREAN.search(second)):
                return []
            first, second = fold(first), fold(second)
            return list(self.pairs(first, self.change(morphemes[first]), second, self.change(morphemes[second])))
        folded = fold(eojeol)
        found = list(known_words(folded) if self.words is default_words else self.words(folded))
        if KOREAN.search(folded):
            read = self.change(morphemes[folded])
            found += [m.form[:64] for m in read if m.tag in self.tags and m.form not in self.korean_stop]
            for more in self.extra:
                found += more(folded, read)
        return found


# --- ways of calling Kiwi


def mask_symbols(text: str) -> str:
    """Letters Kiwi takes for symbols (β, %, ²) become A where Hangul follows, so that a particle is seen as one."""
    return re.sub(r"[^\s\uac00-\ud7a3A-Za-z0-9)\]}>」』”’'\"\u3400-\u9fff.,·/-](?=[\uac00-\ud7a3])", "A", text)


SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[str], str]]] = {
    "plain": ({}, {}, str),
    "masked": ({}, {}, mask_symbols),
    "cut": ({}, {}, for_kiwi),
    "names": ({"load_default_dict": True, "load_multi_dict": True}, {}, str),
    "default dict": ({"load_default_dict": True}, {}, str),
    "typos": ({}, {"typos": "basic"}, str),
    "oov rule": ({}, {"oov_handling": "rule"}, str),
    "split complex": ({}, {"split_complex": True}, str),
    "cong-global": ({"model_type": "cong-global"}, {}, str),
}


def read_morphemes(source: str, folded: Sequence[str]) -> dict[str, Morphemes]:
    """Return Kiwi's morphemes of each eojeol, Kiwi called the way ``source`` names."""
    from kiwipiepy import Kiwi

    options, calling, prepare = SOURCES[source]
    kiwi = Kiwi(num_workers=1, **({"load_default_dict": False, "load_multi_dict": False} | options))
    found: dict[str, Morphemes] = {}
    for eojeol, tokens in zip(folded, kiwi.tokenize((prepare(e[:200]) for e in folded), **calling), strict=True):
        found[eojeol] = [Morpheme(t.form, t.tag.partition("-")[0], t.start, t.start + t.len) for t in tokens]
    return found


# --- changes


def retag(wanted: Callable[[Morpheme, int, Morphemes], Morpheme | None]) -> Callable[[Morphemes], Morphemes]:
    """Change or drop single morphemes."""

    def change(morphemes: Morphemes) -> Morphemes:
        return [new for n, m in enumerate(morphemes) if (new := wanted(m, n, morphemes)) is not None]

    return change


def joined_prefix(keep_parts: bool) -> Callable[[Morphemes], Morphemes]:
    """Join a prefix to the noun behind it; keep the noun as well if asked."""

    def change(morphemes: Morphemes) -> Morphemes:
        found: list[Morpheme] = []
        n = 0
        while n < len(morphemes):
            m = morphemes[n]
            if m.tag == "XPN" and n + 1 < len(morphemes) and morphemes[n + 1].tag in NOUNS:
                noun = morphemes[n + 1]
                found.append(Morpheme(m.form + noun.form, "NNG", m.start, noun.end))
                if keep_parts:
                    found.append(noun)
                n += 2
            else:
                found.append(m)
                n += 1
        return found

    return change


def joined_suffix(keep_parts: bool, forms: str = "") -> Callable[[Morphemes], Morphemes]:
    """Join a suffix to the noun before it; keep the noun as well if asked."""

    def change(morphemes: Morphemes) -> Morphemes:
        found: list[Morpheme] = []
        for m in morphemes:
            if m.tag == "XSN" and found and found[-1].tag in NOUNS and (not forms or m.form in forms.split()):
                before = found[-1]
                if not keep_parts:
                    found.pop()
                found.append(Morpheme(before.form + m.form, "NNG", before.start, m.end))
            else:
                found.append(m)
        return found

    return change


def runs(morphemes: Morphemes, tags: frozenset[str] = NOUNS) -> list[list[Morpheme]]:
    """Return the runs of morphemes of these tags with nothing between them."""
    found: list[list[Morpheme]] = []
    for m in morphemes:
        if m.tag in tags:
            if found and found[-1][-1].end == m.start:
                found[-1].append(m)
            else:
                found.append([m])
    return found


def noun_pairs(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Give each two neighbouring nouns as one term."""
    for run in runs(morphemes):
        for a, b in pairwise(run):
            yield a.form + b.form


def whole_compound(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Give each run of nouns as one term."""
    for run in runs(morphemes):
        if len(run) > 1:
            yield "".join(m.form for m in run)


def across(tags: frozenset[str] = NOUNS) -> Callable[[str, Morphemes, str, Morphemes], Iterable[str]]:
    """Give the nouns on both sides of a space as one term: 인공 지능."""

    def pairs(first: str, a: Morphemes, second: str, b: Morphemes) -> Iterable[str]:
        before, after = runs(a, tags), runs(b, tags)
        if before and after and before[-1][-1].end == len(first) and after[0][0].start == 0:
            yield "".join(m.form for m in before[-1]) + "".join(m.form for m in after[0])

    return pairs


def compound_all(tags: str) -> Callable[[str, Morphemes], Iterable[str]]:
    """Give each run of nouns and of morphemes of these tags as one term."""
    wide = frozenset(NOUNS | set(tags.split()))

    def extra(_: str, morphemes: Morphemes) -> Iterable[str]:
        for run in runs(morphemes, wide):
            if len(run) > 1:
                yield "".join(m.form for m in run)

    return extra


def short_compound(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Only pairs where one part is a single syllable: what Kiwi splits too finely."""
    for run in runs(morphemes, NOUNS | {"XSN", "XPN"}):
        for a, b in pairwise(run):
            if len(a.form) == 1 or len(b.form) == 1:
                yield a.form + b.form


def eojeol_stem(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """All before the first particle or ending."""
    end = next((m.start for m in morphemes if m.tag[0] in "JE" or m.tag in {"VCP", "XSV", "XSA"}), len(folded))
    if end > 1 and sum(m.end <= end for m in morphemes) > 1:
        yield folded[:end]


def noun_bigrams(shortest: int) -> Callable[[str, Morphemes], Iterable[str]]:
    """Give pairs of letters of nouns of that length or more."""

    def extra(_: str, morphemes: Morphemes) -> Iterable[str]:
        for m in morphemes:
            if m.tag in NOUNS and len(m.form) >= shortest:
                yield from (m.form[n : n + 2] for n in range(len(m.form) - 1))

    return extra


def run_bigrams(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Give pairs of letters of each run of nouns and affixes, apart from all other terms."""
    for run in runs(morphemes, NOUNS | {"XSN", "XPN", "NNB"}):
        text = "".join(m.form for m in run)
        yield from ("+" + text[n : n + 2] for n in range(len(text) - 1))


def hada_words(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Give a root together with its -하다 or -되다."""
    for a, b in pairwise(morphemes):
        if a.tag in NOUNS and b.tag in {"XSV", "XSA"}:
            yield a.form + b.form


def _strip_hada(m: Morpheme, n: int, all_: Morphemes) -> Morpheme:
    if m.tag in {"VV", "VA"} and len(m.form) > 2 and m.form[-1] in "하되":
        return Morpheme(m.form[:-1], "XR", m.start, m.end)
    return m


def units(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """Give a number together with its unit or counter: 30세."""
    for a, b in pairwise(morphemes):
        if a.tag == "SN" and b.tag in {"NNB", "NNG", "NR"} and a.end == b.start:
            yield a.form.replace(",", "") + b.form


def ordinal(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """Give a number together with what stands before and behind it: 제1형."""
    for run in runs(morphemes, frozenset({"XPN", "SN", "NNB", "NNG"})):
        if len(run) > 1 and any(m.tag == "SN" for m in run):
            yield "".join(m.form for m in run)


def latin_hangul(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """Latin letters together with the noun beside them: p값."""
    for a, b in pairwise(morphemes):
        if {a.tag, b.tag} in ({"SL", "NNG"}, {"SL", "NNP"}) and a.end == b.start:
            yield (a.form + b.form).lower()


_PARTICLES = frozenset("은 는 이 가 을 를 의 에 와 과 도 로 으로 및 에서 만 나 이나 라 이라 며 이며".split())


def drop_particle_eojeols(morphemes: Morphemes) -> Morphemes:
    """Drop an eojeol that is nothing but a particle, which a stray space makes."""
    if morphemes and morphemes[-1].end <= 2:
        whole = "".join(m.form for m in morphemes)
        if whole in _PARTICLES or (len(morphemes) == 1 and morphemes[0].form in _PARTICLES):
            return ()
    return morphemes


def drop_short(morphemes: Morphemes) -> Morphemes:
    """Drop nouns of one syllable."""
    return [m for m in morphemes if not (m.tag in {"NNG", "NNP", "NR"} and len(m.form) == 1)]


# --- Latin words


def words_with(
    stem: Callable[[str], str] | None = None,
    stop: frozenset[str] = ENGLISH_STOPWORDS,
    joined: bool = True,
    parts: bool = True,
    inner: bool = True,
) -> Callable[[str], Iterable[str]]:
    """Return find_words with other parts, patched in while the function runs."""
    cache: dict[str, list[str]] = {}
    patched: Any = word_rules

    def words(text: str) -> Iterable[str]:
        if text not in cache:
            cache[text] = list(_patched(text))
        return cache[text]

    def _patched(text: str) -> list[str]:
        old = patched._stem, patched.ENGLISH_STOPWORDS, patched._MOST_JOINED_PARTS
        patched._word_terms.cache_clear()
        patched.ENGLISH_STOPWORDS = stop
        if stem is not None:
            patched._stem = lambda part: stem(part[:64]) if part.isalpha() else part[:64]
        if not joined:
            patched._MOST_JOINED_PARTS = 1
        try:
            found = find_words(text)
        finally:
            patched._stem, patched.ENGLISH_STOPWORDS, patched._MOST_JOINED_PARTS = old
        return [w.term for w in found]

    return words


def s_stem(word: str) -> str:
    """Harman's S stemmer: plurals only."""
    if len(word) > 3 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


_PORTER = Stemmer.Stemmer("porter")
_ENGLISH = Stemmer.Stemmer("english")
LUCENE_STOP = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with".split()
)


def en(**change: Any) -> Rules:  # noqa: ANN401
    """Return the first rules with other words for Latin letters; see words_with."""
    return replace(BASE, words=words_with(**change))


BASE = Rules()


def tags(add: str = "", drop: str = "") -> Rules:
    """Return the first rules with tags added and dropped."""
    return replace(BASE, tags=(BASE.tags | set(add.split())) - set(drop.split()))


def with_extra(*more: Callable[[str, Morphemes], Iterable[str]]) -> Rules:
    """Return the first rules with further terms."""
    return replace(BASE, extra=(*BASE.extra, *more))


ADOPTED = replace(with_extra(compound_all("XPN")), tags=BASE.tags - {"XSN"}, source="cut", change=retag(_strip_hada))

VARIANTS: dict[str, Rules] = {
    "rules 1": BASE,
    "- VV VA": tags(drop="VV VA"),
    "- VV": tags(drop="VV"),
    "- MAG": tags(drop="MAG"),
    "- XSN": tags(drop="XSN"),
    "- NNB": tags(drop="NNB"),
    "- NP": tags(drop="NP"),
    "- NR": tags(drop="NR"),
    "- SH": tags(drop="SH"),
    "+ XPN": tags(add="XPN"),
    "+ MM": tags(add="MM"),
    "+ VX": tags(add="VX"),
    "+ XSV XSA": tags(add="XSV XSA"),
    "nouns only": tags(drop="VV VA MAG NNB NP XSN"),
    "prefix joined, also noun": replace(BASE, change=joined_prefix(True)),
    "prefix joined only": replace(BASE, change=joined_prefix(False)),
    "suffix joined, noun too, no suffix": replace(BASE, change=joined_suffix(True)),
    "suffix joined only": replace(BASE, change=joined_suffix(False)),
    "pairs of nouns too": with_extra(noun_pairs),
    "whole compound too": with_extra(whole_compound),
    "short compounds too": with_extra(short_compound),
    "eojeol stem too": with_extra(eojeol_stem),
    "bigrams of nouns >= 3": with_extra(noun_bigrams(3)),
    "bigrams of nouns >= 4": with_extra(noun_bigrams(4)),
    "bigrams of nouns >= 5": with_extra(noun_bigrams(5)),
    "bigrams of noun runs": with_extra(run_bigrams),
    "root + hada too": with_extra(hada_words),
    "hada cut from VV VA": replace(BASE, change=retag(_strip_hada)),
    "number+unit too": with_extra(units),
    "ordinals too": with_extra(ordinal),
    "Latin+Hangul too": with_extra(latin_hangul),
    "no particle eojeols": replace(BASE, change=drop_particle_eojeols),
    "no 1-syllable nouns": replace(BASE, change=drop_short),
    "no Korean stop words": replace(BASE, korean_stop=frozenset()),
    "masked": replace(BASE, source="masked"),
    "cut": replace(BASE, source="cut"),
    "names": replace(BASE, source="names"),
    "default dict": replace(BASE, source="default dict"),
    "typos": replace(BASE, source="typos"),
    "oov rule": replace(BASE, source="oov rule"),
    "split complex": replace(BASE, source="split complex"),
    "cong-global": replace(BASE, source="cong-global"),
    "no stemming": en(stem=lambda w: w),
    "S stemmer": en(stem=s_stem),
    "Porter 1": en(stem=_PORTER.stemWord),
    "Porter2 of S stem": en(stem=lambda w: _ENGLISH.stemWord(s_stem(w))),
    "no English stop words": en(stop=frozenset()),
    "Lucene's stop words": en(stop=LUCENE_STOP),
    "hyphenated not joined": en(joined=False),
    "whole compound, across eojeols": replace(with_extra(whole_compound), pairs=across()),
    "whole compound, - XSN": replace(with_extra(whole_compound), tags=BASE.tags - {"XSN"}),
    "whole compound with prefix": with_extra(compound_all("XPN")),
    "whole compound with affixes": with_extra(compound_all("XPN XSN")),
    "adopted": ADOPTED,
    "adopted + XSN": replace(ADOPTED, tags=BASE.tags),
    "adopted - NNB": replace(ADOPTED, tags=ADOPTED.tags - {"NNB"}),
    "adopted - MAG": replace(ADOPTED, tags=ADOPTED.tags - {"MAG"}),
    "adopted, symbols as they are": replace(ADOPTED, source="plain"),
}
