from __future__ import annotations

import random
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.indexing.lexical.calibration import (
    COMPLETE,
    ConfidenceCalibration,
    _fit_weights,
    _questions,
    calibrate,
    fit_calibration,
    read_calibration,
)
from shrag.indexing.lexical.calibration import write_calibration as write
from shrag.indexing.lexical.evidence import NO_EVIDENCE, Evidence
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.serving.engine import Engine


def _evidence(strength: float, chance: random.Random) -> Evidence:
    return Evidence(
        log_score=strength + chance.gauss(0, 0.5),
        words=round(3 * strength + chance.random()),
        lead=2 * strength + chance.random(),
        lead_over_second=0.2 * strength + 0.1 * chance.random(),
        lead_over_fifth=0.4 * strength + 0.1 * chance.random(),
    )


@pytest.fixture(scope="module")
def calibration() -> ConfidenceCalibration:
    chance = random.Random(1)
    answered = [_evidence(2.0, chance) for _ in range(300)]
    return fit_calibration(answered, [_evidence(1.2, chance) for _ in range(300)])


def test_a_confidence_is_the_share_of_answerable_questions_with_no_more_evidence(
    calibration: ConfidenceCalibration,
) -> None:
    chance = random.Random(2)
    values = [calibration.confidence(_evidence(2.0, chance)) for _ in range(1000)]
    for threshold in (0.05, 0.2, 0.5):
        assert sum(value < threshold for value in values) / 1000 == pytest.approx(threshold, abs=0.05)
    assert all(0 <= value <= 1 for value in values)


def test_between_two_quantiles_a_confidence_is_interpolated() -> None:
    quantiles = (0.0, 1.0, 3.0)  # the middle one is half-way
    calibration = ConfidenceCalibration((1.0, 0.0, 0.0, 0.0), (-1.0,), quantiles, (0.0, 0.5, 1.0))
    shares = [calibration.confidence(Evidence(1.0, words, 0.0, 0.0, 0.0)) for words in (0, 1, 2, 3, 4)]
    assert shares == [0.0, 0.5, 0.75, 1.0, 1.0]


def test_questions_that_nothing_answers_have_less_confidence(calibration: ConfidenceCalibration) -> None:
    chance = random.Random(3)
    assert sum(calibration.confidence(_evidence(1.2, chance)) < 0.05 for _ in range(200)) > 150
    assert calibration.confidence(NO_EVIDENCE) == 0.0
    assert calibration.confidence(NO_EVIDENCE, complete=True) == COMPLETE
    assert calibration.confidence(Evidence(9, 30, 40.0, 4.0, 4.0)) == 1.0


def test_a_calibration_is_read_as_it_was_written(calibration: ConfidenceCalibration, tmp_path: Path) -> None:
    write(tmp_path / "calibration.json", calibration)
    assert read_calibration(tmp_path / "calibration.json") == calibration
    write(tmp_path / "none.json", None)
    assert read_calibration(tmp_path / "none.json") is None


def test_a_file_with_another_field_is_no_calibration(calibration: ConfidenceCalibration, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write(path, calibration)
    path.write_bytes(b'{"more": 1, ' + path.read_bytes()[1:])
    with pytest.raises(msgspec.ValidationError, match="unknown field `more`"):
        read_calibration(path)


def test_an_index_is_calibrated_alike_each_time(demo: Engine) -> None:
    index = demo.open_index
    assert isinstance(index.searcher, LuceneSearcher)
    again = calibrate(index.searcher, index.manifest.bm25, index.analyzer, index.glossary)
    assert again is not None
    assert again == index.calibration


def _titled(number: int, title: str, analyzer: KoreanEnglishAnalyzer) -> AnalyzedRecord:
    return analyze_record(Record(str(number), title, f"{title} is told.", "en", complete=True), analyzer)


def test_four_questions_are_made_of_each_title_and_a_fifth_of_all_is_about_nothing(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    titles = [f"{word} films shield radio waves cheaply" for word in ("Copper", "Carbon", "Paper", "Glass")]
    records = [_titled(number, title, analyzer) for number, title in enumerate(titles)]
    questions = list(_questions(records))
    assert [each.docid for each in questions] == ["0", "1", "2", "3", ""] * 4
    words = {word for title in titles for word in title.split()}
    assert all(set(each.text.split()) <= words for each in questions)
    assert len({each.text for each in questions if each.docid == "2"}) > 1


@pytest.mark.parametrize(
    ("title", "text"), [("List", "word{} " * 6_000), ("word{} " * 6_000, "A list."), ("List", "x" * 9_999)]
)
def test_a_title_or_a_sentence_of_thousands_of_words_gives_short_questions(
    analyzer: KoreanEnglishAnalyzer, title: str, text: str
) -> None:
    title, text = (each.format(*range(6_000)).strip() for each in (title, text))
    records = [analyze_record(Record(str(n), title, text, "en", complete=True), analyzer) for n in range(2)]
    questions = list(_questions(records))
    assert max(len(each.text.split()) for each in questions) <= 250
    assert max(len(each.text) for each in questions) <= 2_000


def test_one_title_that_changes_hardly_changes_the_questions_about_others(analyzer: KoreanEnglishAnalyzer) -> None:
    titles = [f"word{n}a word{n}b word{n}c word{n}d" for n in range(200)]
    before = list(_questions([_titled(number, title, analyzer) for number, title in enumerate(titles)]))
    titles[0] += " and five words more"
    after = list(_questions([_titled(number, title, analyzer) for number, title in enumerate(titles)]))
    same = sum(one.text == other.text for one, other in zip(before, after, strict=True))
    assert len(before) == 1_000
    assert same > 950


@pytest.mark.parametrize("distance", [0.0, 1.0, 10.0])
def test_the_weights_are_those_of_the_least_loss_that_scipy_finds(distance: float) -> None:
    drawn = np.random.default_rng(0)
    answered, unanswered = drawn.normal(size=(900, 4)) + distance, drawn.normal(size=(180, 4)) * [1, 2, 3, 4]
    features = np.concatenate([answered, unanswered])
    spread = features.std(axis=0) + 1e-9
    inputs = np.column_stack([np.ones(len(features)), (features - features.mean(axis=0)) / spread])
    signs = np.repeat([1.0, -1.0], [900, 180])
    halves = np.repeat([0.5 / 900, 0.5 / 180], [900, 180])

    def loss(beta: NDArray[np.float64]) -> float:
        return float(halves @ np.logaddexp(0, -signs * (inputs @ beta)) + 0.01 * (beta[1:] @ beta[1:]))

    found = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-6}).x[1:] / spread
    assert _fit_weights(answered, unanswered) == pytest.approx(list(found), rel=1e-3, abs=1e-5)
