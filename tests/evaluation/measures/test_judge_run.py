"""Judgements and runs, each empty, partial and full."""

from __future__ import annotations

import pytest

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.judge_run import evaluate, judge
from shrag.evaluation.measures.trec_run import RunLine

QRELS = [Qrel("q1", "a", 1), Qrel("q1", "b", 0), Qrel("q2", "c", 2)]
RUN = [
    RunLine("q1", "b", 1, 3.0, "t"),
    RunLine("q1", "a", 2, 2.0, "t"),
    RunLine("q2", "c", 1, 1.0, "t"),
]


def test_measures_are_those_of_the_field() -> None:
    found = evaluate(QRELS, RUN, ["RR@10", "R@1", "Success@1", "nDCG@10"])
    assert found == {
        "RR@10": pytest.approx(0.75),
        "R@1": pytest.approx(0.5),
        "Success@1": pytest.approx(0.5),
        "nDCG@10": pytest.approx((0.6309297535714575 + 1) / 2),
    }


def test_a_topic_the_run_lacks_scores_zero_and_stays_in_the_mean() -> None:
    assert evaluate(QRELS, RUN[:2], ["RR@10"]) == {"RR@10": pytest.approx(0.25)}
    assert evaluate(QRELS, [], ["RR@10", "nDCG@10"]) == {"RR@10": 0.0, "nDCG@10": 0.0}


def test_topics_without_judgements_do_not_count() -> None:
    assert evaluate(QRELS[2:], RUN, ["RR@10"]) == {"RR@10": 1.0}


@pytest.mark.parametrize("name", ["nDCG@ten", "Nope@10", "", "__import__('os')"])
def test_what_is_no_measure_is_refused_with_examples(name: str) -> None:
    with pytest.raises(EvaluationError, match="is not a measure: write it as ir-measures does, such as nDCG@10"):
        evaluate(QRELS, RUN, [name])


def test_the_least_grade_holds_for_measures_that_have_one_and_name_none() -> None:
    qrels = [Qrel("q", "a", 1), Qrel("q", "b", 2)]
    run = [RunLine("q", "a", 1, 2.0, "t"), RunLine("q", "b", 2, 1.0, "t")]
    found = judge(qrels, run, ["Success@1", "Success(rel=1)@1", "RR", "QSR@1", "nDCG@2"], min_grade=2)
    assert {name: values["q"] for name, values in found.items()} == {
        "Success@1": 0.0,
        "Success(rel=1)@1": 1.0,
        "RR": 0.5,
        "QSR@1": 0.0,
        "nDCG@2": judge(qrels, run, ["nDCG@2"])["nDCG@2"]["q"],
    }
