from __future__ import annotations

import random

import pytest

from shrag.evaluation.measures.risk_coverage import RiskPoint, area_under_risk, risk_coverage, thin_curve

FOUR = [(0.6, False), (0.9, True), (0.7, True), (0.8, False)]


def test_the_curve_answers_the_most_confident_questions_first() -> None:
    curve = risk_coverage(FOUR)
    assert curve == [(0.25, 0.9, 1, 0), (0.5, 0.8, 2, 1), (0.75, 0.7, 3, 1), (1.0, 0.6, 4, 2)]
    assert [point.risk for point in curve] == [0.0, 0.5, pytest.approx(1 / 3), 0.5]


def test_the_area_is_the_mean_risk_over_all_coverages() -> None:
    # (0 + 1/2 + 1/3 + 1/2) / 4
    assert area_under_risk(risk_coverage(FOUR)) == pytest.approx(1 / 3)
    # The best order of two right and two wrong answers: (0 + 0 + 1/3 + 1/2) / 4, the worst: (1 + 1 + 2/3 + 1/2) / 4.
    assert area_under_risk(risk_coverage([(4, True), (3, True), (2, False), (1, False)])) == pytest.approx(5 / 24)
    assert area_under_risk(risk_coverage([(4, False), (3, False), (2, True), (1, True)])) == pytest.approx(19 / 24)


def test_equal_confidences_share_a_point_and_count_with_the_expected_risk() -> None:
    tied = [(0.5, True), (0.5, False), (0.5, True), (0.5, True)]
    assert risk_coverage(tied) == [(1.0, 0.5, 4, 1)]
    assert area_under_risk(risk_coverage(tied)) == pytest.approx(1 / 4)
    # 0.9 right, then two tied of which one is right: (0 + (1/2)/2 + 1/3) / 3.
    assert area_under_risk(risk_coverage([(0.9, True), (0.1, True), (0.1, False)])) == pytest.approx(
        (1 / 4 + 1 / 3) / 3
    )


def test_the_order_of_the_questions_makes_no_difference() -> None:
    draw = random.Random(3)
    outcomes = [(draw.randrange(5) / 5, draw.random() < 0.5) for _ in range(60)]
    areas = {area_under_risk(risk_coverage(draw.sample(outcomes, len(outcomes)))) for _ in range(20)}
    assert len(areas) == 1


def test_without_questions_there_is_neither_curve_nor_area() -> None:
    assert risk_coverage([]) == []
    assert area_under_risk([]) is None
    assert thin_curve([]) == []


def test_a_curve_of_many_points_is_cut_to_equal_steps_of_coverage() -> None:
    curve = risk_coverage((1 - number / 30, number % 2 == 0) for number in range(30))
    assert [point.answered for point in thin_curve(curve)] == list(range(3, 31, 3))
    assert [point.answered for point in thin_curve(curve, 4)] == [8, 15, 23, 30]
    # The eight questions of one confidence reach the steps from the second to the ninth, with one point.
    tied = risk_coverage([(0.9, True), *[(0.5, True)] * 8, (0.1, True)])
    assert [point.answered for point in thin_curve(tied)] == [1, 9, 10]
    assert thin_curve(risk_coverage([(0.5, True)] * 7)) == [RiskPoint(1.0, 0.5, 7, 0)]
