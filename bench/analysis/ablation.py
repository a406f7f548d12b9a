"""Ablation of the analyzer: python -m bench.analysis.ablation [VARIANT...] [--sets A,B] [--data DIR].

Every variant changes rules of the first version (``rules 1``). ``adopted`` is the current analyzer, which the last line
of output checks. Kiwi analyzes each eojeol (a word between spaces) once per set of options, and all variants are
derived from these morphemes. The output for each set is nDCG@10, how many questions gained and lost in it, and R@100.
``*`` and ``!`` mark p ≤ 0.05 and p ≤ 0.01 of a paired randomization test.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.analysis.judged_sets import PAIR, Quality, Vocabulary, judge, read_sets, term_table
from bench.analysis.kiwi_options import read_morphemes
from bench.analysis.rules import KOREAN, Morphemes
from bench.analysis.variants import ADOPTED, VARIANTS
from bench.data import DATA
from shrag.indexing.analysis.analyzer import fold
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.morphological_analysis import Morpheme
from shrag.indexing.bm25 import Bm25


def p_value(change: np.ndarray[Any, Any], rounds: int = 2_000) -> float:
    """Return the two-sided p of a paired randomization test by random signs."""
    moved = change[change != 0]
    if not len(moved):
        return 1.0
    rng = np.random.default_rng(7)
    signs = rng.integers(0, 2, (rounds, len(moved)), dtype=np.int8) * 2 - 1
    return float((np.abs(signs @ moved) >= abs(moved.sum()) - 1e-9).mean())


def check_adopted(vocabulary: Vocabulary, morphemes: Mapping[str, Morphemes]) -> None:
    """Print how many sampled eojeols have the same terms by ``adopted`` and by the analyzer."""
    sample = [eojeol for eojeol in vocabulary.numbers if PAIR not in eojeol and len(eojeol) <= 200][::50]
    ours = KoreanEnglishAnalyzer().terms(sample)
    same = sum(
        sorted(terms) == sorted(ADOPTED.terms(eojeol, morphemes)) for eojeol, terms in zip(sample, ours, strict=True)
    )
    print(f"adopted equals the analyzer on {same} of {len(sample)} eojeols")


def main() -> None:
    """Print one line for each variant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sets", default="")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path)
    args = parser.parse_args()
    vocabulary = Vocabulary()
    started = time.monotonic()
    sets = [
        vocabulary.bags(judged)
        for judged in read_sets(args.data)
        if not args.sets or judged.name.startswith(tuple(args.sets.split(",")))
    ]
    folded = sorted({f for e in vocabulary.numbers if PAIR not in e and KOREAN.search(f := fold(e))})
    print(
        f"{len(vocabulary.numbers)} eojeols, {len(folded)} Korean, {time.monotonic() - started:.0f} s", file=sys.stderr
    )
    raw: dict[str, Mapping[str, Morphemes]] = {}

    def source(name: str) -> Mapping[str, Morphemes]:
        if name not in raw:
            path = args.cache and args.cache / f"{name.replace(' ', '_')}.json"
            if path and path.exists():
                raw[name] = msgspec.json.decode(path.read_bytes(), type=dict[str, list[Morpheme]])
            if name not in raw or any(f not in raw[name] for f in folded):
                t = time.monotonic()
                raw[name] = read_morphemes(name, folded)
                print(f"{name}: {time.monotonic() - t:.0f} s in Kiwi", file=sys.stderr)
                if path:
                    path.write_bytes(msgspec.json.encode(raw[name]))
        return raw[name]

    base: list[Quality] = []
    print(f"{'':<32}" + "".join(f"{s.judged.name:>24}" for s in sets))
    for name in ["rules 1", *[n for n in (args.names or VARIANTS) if n != "rules 1"]]:
        rules = VARIANTS[name]
        table = term_table(vocabulary, partial(rules.terms, morphemes=source(rules.source)))
        if rules.source != "plain":
            raw.pop(rules.source, None)
        found = [judge(bags, table, Bm25()) for bags in sets]
        base = base or found
        cells = []
        for q, b in zip(found, base, strict=True):
            change = q.ndcg - b.ndcg
            p = p_value(change)
            mark = " " if p > 0.05 else "*" if p > 0.01 else "!"
            cells.append(
                f"{q.ndcg.mean():.4f}{mark}{(change > 0).sum():>4}/{(change < 0).sum():<4}{q.recall.mean():.4f} "
            )
        print(f"{name:<32}" + "".join(f"{c:>24}" for c in cells), flush=True)
    check_adopted(vocabulary, source("cut"))


if __name__ == "__main__":
    main()
