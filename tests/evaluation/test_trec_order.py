from __future__ import annotations

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.runs import RunLine
from shrag.evaluation.trec_order import trec_order


def _run(*scored: tuple[str, float]) -> list[RunLine]:
    return [RunLine("q", docid, rank, score, "t") for rank, (docid, score) in enumerate(scored, 1)]


def test_scores_decide_and_ranks_do_not() -> None:
    assert trec_order(_run(("a", 1.0), ("b", 3.0), ("c", -2.0))) == {"q": ["b", "a", "c"]}


def test_ties_stand_in_falling_order_of_identifiers_and_32_bits_decide_what_is_a_tie() -> None:
    assert trec_order(_run(("a", 3.0), ("c", 3.0), ("b", 3.0000001))) == {"q": ["c", "b", "a"]}
    assert trec_order(_run(("가", 1.0), ("a", 1.0), ("나", 1.0))) == {"q": ["나", "가", "a"]}


def test_scores_beyond_32_bits_are_infinite_and_tied() -> None:
    assert trec_order(_run(("a", 1e39), ("b", 1e40), ("c", 1e38), ("d", float("inf")))) == {"q": ["d", "b", "a", "c"]}


def test_topics_are_apart_and_no_run_has_none() -> None:
    lines = [RunLine("q1", "a", 1, 1.0, "t"), RunLine("q2", "a", 1, 1.0, "t")]
    assert trec_order(lines) == {"q1": ["a"], "q2": ["a"]}
    assert trec_order([]) == {}


def test_a_document_twice_or_a_score_that_is_no_number_is_named() -> None:
    with pytest.raises(EvaluationError, match="Topic q has b twice in the run"):
        trec_order(_run(("a", 1.0), ("b", 2.0), ("b", 1.0)))
    with pytest.raises(EvaluationError, match="Topic q gives b a score that is no number"):
        trec_order(_run(("a", 1.0), ("b", float("nan"))))
