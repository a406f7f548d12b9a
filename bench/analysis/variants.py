"""The variants of the analyzer that were measured, each a change of its first rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from bench.analysis.extra_terms import (
    across,
    compound_all,
    eojeol_stem,
    hada_words,
    latin_hangul,
    noun_bigrams,
    noun_pairs,
    ordinal,
    run_bigrams,
    short_compound,
    units,
    whole_compound,
)
from bench.analysis.morpheme_edits import (
    drop_particle_eojeols,
    drop_short,
    edit_each,
    joined_prefix,
    joined_suffix,
    strip_hada,
)
from bench.analysis.rules import Morphemes, Rules
from bench.analysis.stemmers import ENGLISH, LUCENE_STOP, PORTER, find_words_with, harman_s_stem


def latin(**change: Any) -> Rules:  # noqa: ANN401
    """Return the first rules with another analysis of Latin words (:func:`find_words_with`)."""
    return replace(BASE, words=find_words_with(**change))


BASE = Rules()


def tags(add: str = "", drop: str = "") -> Rules:
    """Return the first rules with tags added and dropped."""
    return replace(BASE, tags=(BASE.tags | set(add.split())) - set(drop.split()))


def with_extra(*more: Callable[[str, Morphemes], Iterable[str]]) -> Rules:
    """Return the first rules with extra terms."""
    return replace(BASE, extra=(*BASE.extra, *more))


ADOPTED = replace(with_extra(compound_all("XPN")), tags=BASE.tags - {"XSN"}, source="cut", change=edit_each(strip_hada))

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
    "hada cut from VV VA": replace(BASE, change=edit_each(strip_hada)),
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
    "no stemming": latin(stem=lambda w: w),
    "S stemmer": latin(stem=harman_s_stem),
    "Porter 1": latin(stem=PORTER.stemWord),
    "Porter2 of S stem": latin(stem=lambda w: ENGLISH.stemWord(harman_s_stem(w))),
    "no English stop words": latin(stop=frozenset()),
    "Lucene's stop words": latin(stop=LUCENE_STOP),
    "hyphenated not joined": latin(joined=False),
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
