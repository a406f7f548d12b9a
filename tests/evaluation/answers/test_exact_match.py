from __future__ import annotations

from shrag.evaluation.answers.exact_match import exact_match
from shrag.indexing.korean import KoreanMorphemes

SPLIT = KoreanMorphemes().split


def test_one_of_the_references_is_enough() -> None:
    assert exact_match("The Seine.", ["Thames", "seine"]) == 1.0
    assert exact_match("Seine river", ["Thames", "seine"]) == 0.0


def test_particles_are_no_difference_only_where_morphemes_are_split() -> None:
    assert exact_match("서울이다", ["서울"]) == 0.0
    assert exact_match("서울이다.", ["서울"], SPLIT) == 1.0
    assert exact_match("서울", ["서울에서"], SPLIT) == 1.0
    assert exact_match("회", ["회의"], SPLIT) == 0.0


def test_nothing_matches_nothing() -> None:
    assert exact_match("", [""]) == 0.0
    assert exact_match("...", ["the"]) == 0.0
    assert exact_match("a", []) == 0.0
