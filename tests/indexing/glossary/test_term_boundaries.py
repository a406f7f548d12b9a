"""Choice of the Korean term that stands before a translation in brackets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.indexing.analysis.analyzer import Token, TokenKind
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.term_boundaries import (
    Candidate,
    choose_term,
    count_candidates,
    mean_confidence,
    phrase_words,
)


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("빠르게 성장하는 수직 농장", 2),
        ("은닉 마르코프 모델", 3),
        ("배터리의 열폭주", 1),
        ("제안한 신경망", 1),
        ("위한 모델", 1),
        ("재고", 1),
        ("이를 위해", 0),
    ],
)
def test_the_words_of_a_phrase_are_counted_back_to_a_particle_or_an_ending(
    analyzer: KoreanEnglishAnalyzer, words: str, size: int
) -> None:
    split = words.split()
    assert phrase_words(split, analyzer.tokens(split)) == size


@pytest.mark.parametrize(
    ("kinds", "size"),
    [
        (("noun", "noun"), 2),
        (("modifier", "noun"), 1),  # only the last word may be without a noun
        (("noun", "modifier"), 2),
        (("noun", "predicate"), 0),
        (("predicate", "noun"), 1),
        (("noun", None), 0),
    ],
)
def test_a_phrase_has_no_predicate_and_a_noun_in_each_word_but_the_last(
    kinds: Sequence[TokenKind | None], size: int
) -> None:
    words = ["가나", "다라"]
    tokens = [[] if kind is None else [Token(word, 0, 2, kind)] for word, kind in zip(words, kinds, strict=True)]
    assert phrase_words(words, tokens) == size
    assert phrase_words(words[1:], [[Token("다", 0, 1, "noun")]]) == 0  # a particle follows
    assert phrase_words(['"다라".'], [[Token("다라", 1, 3, "noun")]]) == 1  # only punctuation follows


def test_every_ending_of_the_phrases_is_counted_and_beginnings_where_they_are_closed() -> None:
    chains = {(("은닉", "마르코프", "모델"), True): 3, (("마르코프", "모델"), False): 2, (("모델",), True): 1}
    assert count_candidates(chains, lambda words: words) == [
        Candidate(("모델",), ("모델",), 6, 1),
        Candidate(("마르코프", "모델"), ("마르코프", "모델"), 5, 0),
        Candidate(("은닉", "마르코프", "모델"), ("은닉", "마르코프", "모델"), 3, 3),
    ]


def _confidence(korean: str, english: str) -> float:
    return {("은닉", "hidden"): 1.0, ("마르코프", "markov"): 1.0, ("모델", "model"): 0.5}.get((korean, english), 0.0)


def test_the_candidate_that_translates_every_word_is_chosen() -> None:
    words = ("은닉", "마르코프", "모델")
    candidates = [Candidate(words[-size:], words[-size:], 10, 5) for size in (1, 2, 3)]
    assert choose_term(candidates, ["hidden", "markov", "model"], 10, _confidence) == candidates[2]
    assert mean_confidence(words, ["hidden", "markov", "model"], _confidence) == pytest.approx(5 / 6)
    assert choose_term(candidates, ["model"], 10, _confidence) == candidates[0]
    assert choose_term([Candidate(("것",), (), 10, 5)], ["model"], 10, _confidence) is None
    assert choose_term([], ["model"], 10, _confidence) is None


def test_of_terms_that_nothing_translates_the_one_of_as_many_words_in_most_contexts_is_chosen() -> None:
    words = ("가", "나", "다")
    candidates = [Candidate(words[-size:], words[-size:], 10, 5) for size in (1, 2, 3)]
    for size in (1, 2, 3):
        assert choose_term(candidates, ["x"] * size, 10, lambda *_: 0.5) == candidates[size - 1]
    often = candidates[0]._replace(contexts=9, beginnings=4)
    assert choose_term([often._replace(contexts=8), often], ["x"], 10, lambda *_: 0.5) == often
    begins = often._replace(beginnings=5)
    assert choose_term([often, begins], ["x"], 10, lambda *_: 0.5) == begins
    # A second Korean word that translates nothing costs more than an English word that nothing translates.
    assert choose_term(candidates[:2], ["x", "y"], 10, lambda korean, _: float(korean == "다")) == candidates[0]


def test_the_mean_counts_the_terms_of_both_sides() -> None:
    assert mean_confidence(["은닉", "모델"], ["hidden"], _confidence) == pytest.approx(2 / 3)
    assert mean_confidence([], [], _confidence) == 0.0
