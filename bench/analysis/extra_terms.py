"""Rules for extra terms of an eojeol, besides those of its single morphemes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from bench.analysis.rules import NOUNS, Morphemes
from shrag.indexing.analysis.morphological_analysis import Morpheme


def runs(morphemes: Morphemes, tags: frozenset[str] = NOUNS) -> list[list[Morpheme]]:
    """Return the runs of adjacent morphemes that have one of ``tags``."""
    found: list[list[Morpheme]] = []
    for m in morphemes:
        if m.tag in tags:
            if found and found[-1][-1].end == m.start:
                found[-1].append(m)
            else:
                found.append([m])
    return found


def noun_pairs(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield each pair of adjacent nouns as one term."""
    for run in runs(morphemes):
        for a, b in pairwise(run):
            yield a.form + b.form


def whole_compound(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield each run of nouns as one term."""
    for run in runs(morphemes):
        if len(run) > 1:
            yield "".join(m.form for m in run)


def across(tags: frozenset[str] = NOUNS) -> Callable[[str, Morphemes, str, Morphemes], Iterable[str]]:
    """Return a rule that joins the nouns on both sides of a space: 인공 지능."""

    def pairs(first: str, a: Morphemes, second: str, b: Morphemes) -> Iterable[str]:
        before, after = runs(a, tags), runs(b, tags)
        if before and after and before[-1][-1].end == len(first) and after[0][0].start == 0:
            yield "".join(m.form for m in before[-1]) + "".join(m.form for m in after[0])

    return pairs


def compound_all(tags: str) -> Callable[[str, Morphemes], Iterable[str]]:
    """Return a rule that yields each run of nouns and morphemes with ``tags`` as one term."""
    wide = frozenset(NOUNS | set(tags.split()))

    def extra(_: str, morphemes: Morphemes) -> Iterable[str]:
        for run in runs(morphemes, wide):
            if len(run) > 1:
                yield "".join(m.form for m in run)

    return extra


def short_compound(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield each pair of adjacent nouns if one has a single syllable, since Kiwi splits such words too finely."""
    for run in runs(morphemes, NOUNS | {"XSN", "XPN"}):
        for a, b in pairwise(run):
            if len(a.form) == 1 or len(b.form) == 1:
                yield a.form + b.form


def eojeol_stem(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield the part of an eojeol before its first particle or ending."""
    end = next((m.start for m in morphemes if m.tag[0] in "JE" or m.tag in {"VCP", "XSV", "XSA"}), len(folded))
    if end > 1 and sum(m.end <= end for m in morphemes) > 1:
        yield folded[:end]


def noun_bigrams(shortest: int) -> Callable[[str, Morphemes], Iterable[str]]:
    """Return a rule that yields the syllable bigrams of nouns with at least ``shortest`` syllables."""

    def extra(_: str, morphemes: Morphemes) -> Iterable[str]:
        for m in morphemes:
            if m.tag in NOUNS and len(m.form) >= shortest:
                yield from (m.form[n : n + 2] for n in range(len(m.form) - 1))

    return extra


def run_bigrams(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield the syllable bigrams of each run of nouns and affixes, marked so that they differ from other terms."""
    for run in runs(morphemes, NOUNS | {"XSN", "XPN", "NNB"}):
        text = "".join(m.form for m in run)
        yield from ("+" + text[n : n + 2] for n in range(len(text) - 1))


def hada_words(_: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield a root joined with its -하다 or -되다."""
    for a, b in pairwise(morphemes):
        if a.tag in NOUNS and b.tag in {"XSV", "XSA"}:
            yield a.form + b.form


def units(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield a number joined with its unit or counter: 30세."""
    for a, b in pairwise(morphemes):
        if a.tag == "SN" and b.tag in {"NNB", "NNG", "NR"} and a.end == b.start:
            yield a.form.replace(",", "") + b.form


def ordinal(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield a number joined with its neighbours: 제1형."""
    for run in runs(morphemes, frozenset({"XPN", "SN", "NNB", "NNG"})):
        if len(run) > 1 and any(m.tag == "SN" for m in run):
            yield "".join(m.form for m in run)


def latin_hangul(folded: str, morphemes: Morphemes) -> Iterable[str]:
    """Yield Latin letters joined with an adjacent noun: p값."""
    for a, b in pairwise(morphemes):
        if {a.tag, b.tag} in ({"SL", "NNG"}, {"SL", "NNP"}) and a.end == b.start:
            yield (a.form + b.form).lower()
