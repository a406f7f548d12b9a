"""Edits of Kiwi's morphemes before terms are made of them."""

from __future__ import annotations

from collections.abc import Callable

from bench.analysis.rules import NOUNS, Morphemes
from shrag.indexing.analysis.morphological_analysis import Morpheme

_PARTICLES = frozenset("은 는 이 가 을 를 의 에 와 과 도 로 으로 및 에서 만 나 이나 라 이라 며 이며".split())


def edit_each(edit: Callable[[Morpheme, int, Morphemes], Morpheme | None]) -> Callable[[Morphemes], Morphemes]:
    """Return an edit that replaces each morpheme by ``edit``'s result, or drops it if that is None."""

    def change(morphemes: Morphemes) -> Morphemes:
        return [new for n, m in enumerate(morphemes) if (new := edit(m, n, morphemes)) is not None]

    return change


def joined_prefix(keep_parts: bool) -> Callable[[Morphemes], Morphemes]:
    """Return an edit that joins a prefix with the noun after it; with ``keep_parts`` the noun remains too."""

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


def joined_suffix(keep_parts: bool) -> Callable[[Morphemes], Morphemes]:
    """Return an edit that joins a suffix with the noun before it; with ``keep_parts`` the noun remains too."""

    def change(morphemes: Morphemes) -> Morphemes:
        found: list[Morpheme] = []
        for m in morphemes:
            if m.tag == "XSN" and found and found[-1].tag in NOUNS:
                before = found[-1]
                if not keep_parts:
                    found.pop()
                found.append(Morpheme(before.form + m.form, "NNG", before.start, m.end))
            else:
                found.append(m)
        return found

    return change


def strip_hada(m: Morpheme, _: int, __: Morphemes) -> Morpheme:
    """Turn a verb or adjective in -하 or -되 into its root."""
    if m.tag in {"VV", "VA"} and len(m.form) > 2 and m.form[-1] in "하되":
        return Morpheme(m.form[:-1], "XR", m.start, m.end)
    return m


def drop_particle_eojeols(morphemes: Morphemes) -> Morphemes:
    """Drop an eojeol that is only a particle, which a misplaced space has split off."""
    if morphemes and morphemes[-1].end <= 2:
        joined = "".join(m.form for m in morphemes)
        if joined in _PARTICLES or (len(morphemes) == 1 and morphemes[0].form in _PARTICLES):
            return ()
    return morphemes


def drop_short(morphemes: Morphemes) -> Morphemes:
    """Drop nouns of one syllable."""
    return [m for m in morphemes if not (m.tag in {"NNG", "NNP", "NR"} and len(m.form) == 1)]
