from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.indexing.analyzed_record import AnalyzedRecord, RecordStore
from shrag.models.encoders.cross_encoder import CrossEncoderReranker
from shrag.models.reranker import Passage
from shrag.serving.engine import Engine
from shrag.serving.retrieval.rerankers import open_reranker
from shrag.serving.strategies.pipeline import calibration
from shrag.serving.strategies.pipeline.calibration import (
    CHANCE,
    USUAL,
    VERBATIM,
    Calibration,
    Curve,
    calibrate,
    fit,
    learn_curve,
)


class _Counted:
    """Implements :class:`~shrag.models.reranker.Reranker` and counts; a passage scores the terms it shares."""

    is_model = False

    def __init__(self, name: str, factor: float = 1.0) -> None:
        self.name = name
        self.asked = 0
        self._factor = factor

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        self.asked += 1
        wanted = set(question.split())
        return [self._factor * len(wanted & set(passage.text.split())) for passage in passages]


@given(st.floats(0, 0.5), st.floats(0.5, 2), st.floats(-5, 5), st.floats(-5, 5))
def test_a_curve_passes_its_two_points_and_never_falls(
    chance: float, verbatim: float, one: float, other: float
) -> None:
    curve = fit(chance, verbatim)
    assert curve.value(chance) == pytest.approx(CHANCE)
    assert curve.value(verbatim) >= min(VERBATIM, curve.value(chance)) - 1e-9
    assert 0 <= curve.value(min(one, other)) <= curve.value(max(one, other)) <= 1


def test_points_that_do_not_differ_give_the_steepest_curve() -> None:
    assert fit(0.5, 0.5).width == fit(0.9, 0.2).width == 0.01
    assert Curve(0.5, 0.01).value(-math.inf) == pytest.approx(0)


def test_the_curve_of_the_demonstration_is_pinned(demo: Engine) -> None:
    curve = learn_curve(demo.resources.reranker, demo.open_index)
    assert (round(curve.middle, 2), round(curve.width, 2)) == (0.41, 0.13)


def test_calibrated_values_do_not_depend_on_the_scale_of_scores(demo: Engine) -> None:
    question = "그래핀 필름의 차폐 효율"
    worth = [
        calibrate(_Counted(f"times {factor}", factor), demo.open_index).values(question, [factor * 3.0, 0.0])
        for factor in (1.0, 1_000.0)
    ]
    assert worth[0] == pytest.approx(worth[1])
    assert worth[0][0] > worth[0][1]


def test_a_curve_is_cached_by_index_and_reranker(demo: Engine) -> None:
    reranker = _Counted("once")
    calibrate(reranker, demo.open_index)
    asked = reranker.asked
    assert asked > 20
    calibrate(reranker, demo.open_index)
    assert reranker.asked == asked
    calibrate(_Counted("another"), demo.open_index)
    assert len(calibration._learnt_curve.cache) <= 32


def test_the_curve_without_translations_is_not_the_one_with_them(demo: Engine) -> None:
    curves = []
    for resources in (demo.resources, demo.resources.without_glossary()):
        curves.append(calibrate(resources.reranker, resources.index).curve)
        assert curves[-1] == learn_curve(resources.reranker, resources.index)
    assert curves[0] != curves[1]


def test_cosines_are_calibrated_without_division(demo: Engine, tmp_path: Path) -> None:
    reranker = open_reranker("vectors", demo.open_index, tmp_path)
    curve = learn_curve(reranker, demo.open_index)
    assert 0.2 < curve.middle < 0.8
    values = Calibration(reranker, demo.open_index, curve).values("…?!", [curve.middle])
    assert values == pytest.approx([0.5])


@pytest.mark.slow
def test_scores_of_a_cross_encoder_are_unchanged(demo: Engine, cross_encoder: CrossEncoderReranker) -> None:
    calibrated = calibrate(cross_encoder, demo.open_index)
    assert calibrated.curve is None
    assert calibrated.values("anything", [0.25, 0.75]) == [0.25, 0.75]


@pytest.mark.parametrize(("records", "usual"), [(0, True), (19, True), (20, False)])
def test_an_index_too_small_to_learn_from_has_the_usual_curve(demo: Engine, records: int, usual: bool) -> None:
    class _Small:
        def __init__(self, store: RecordStore) -> None:
            self.fetch = store.fetch
            self._records = [analysed for analysed in store.sample(100) if analysed.sentence_terms][:records]

        def sample(self, most: int) -> list[AnalyzedRecord]:
            return self._records[:most]

    small = replace(demo.open_index, store=_Small(demo.open_index.store))
    assert (learn_curve(demo.resources.reranker, small) == USUAL) == usual


def test_scores_are_not_divided_where_the_question_scores_nothing_for_itself(demo: Engine) -> None:
    (value,) = calibrate(demo.resources.reranker, demo.open_index).values("…?!", [0.0])
    assert 0 < value < CHANCE
