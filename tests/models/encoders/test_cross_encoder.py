from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from shrag.models.encoders.catalog import read_catalog
from shrag.models.encoders.cross_encoder import CrossEncoderReranker, load_cross_encoder
from shrag.models.errors import WeightsMissing, WeightsRejected
from shrag.models.reranker import Passage
from tests.support.checkpoints import POSITIONS, SENTENCES, make_reranker, reference_score, tokeniser

pytestmark = pytest.mark.slow

WEIGHTS = os.environ.get("SHRAG_WEIGHTS")


def _passages(texts: list[str]) -> list[Passage]:
    return [Passage("", text, [], []) for text in texts]


def test_scores_equal_the_reference(cross_encoder: CrossEncoderReranker, reranker_folder: Path) -> None:
    scores = cross_encoder.score(SENTENCES[0], _passages(SENTENCES))
    tokens = tokeniser(reranker_folder)
    outputs = [reference_score(reranker_folder, tokens.encode(SENTENCES[0], text).ids) for text in SENTENCES]
    assert scores == pytest.approx([1 / (1 + math.exp(-output)) for output in outputs], abs=1e-5)
    assert max(scores) - min(scores) > 0.05


def test_a_passage_is_read_as_title_and_text(cross_encoder: CrossEncoderReranker) -> None:
    (one,) = cross_encoder.score("film", [Passage("graphene film", "waves", [], [])])
    (same,) = cross_encoder.score("film", [Passage("", "graphene film waves", [], [])])
    assert one == pytest.approx(same, abs=1e-6)


def test_scores_below_the_threshold_are_minus_infinity(reranker_folder: Path) -> None:
    plain = load_cross_encoder(str(reranker_folder), reranker_folder.parent, device="cpu")
    scores = plain.score("film", _passages(SENTENCES))
    threshold = sorted(scores)[2] - 1e-4
    strict = load_cross_encoder(str(reranker_folder), reranker_folder.parent, threshold, "cpu")
    assert strict.score("film", _passages(SENTENCES)) == [
        pytest.approx(score, abs=1e-6) if score >= threshold else -math.inf for score in scores
    ]
    assert strict.name == f"tiny-reranker ≥ {threshold:g}"
    assert strict.is_model
    with pytest.raises(ValueError, match=r"from 0 to 1, got 1\.5"):
        CrossEncoderReranker("x", plain._model, plain._tokeniser, 1.5)


def test_models_that_are_no_reranker_are_rejected(tmp_path: Path, encoder_folder: Path) -> None:
    with pytest.raises(WeightsMissing, match="The catalogue has no re-ranker 'gte'"):
        load_cross_encoder("gte", tmp_path)
    with pytest.raises(WeightsMissing, match="copy the folder of BAAI/bge-reranker-v2-m3"):
        load_cross_encoder("bge-reranker-v2-m3", tmp_path)
    two = make_reranker(tmp_path / "two", labels=2)
    with pytest.raises(WeightsRejected, match="gives 2 numbers for a pair"):
        load_cross_encoder(str(two), tmp_path, device="cpu")
    encoder = shutil.copytree(encoder_folder, tmp_path / "encoder")
    with pytest.raises(WeightsRejected):  # it has no layers for a score
        load_cross_encoder(str(encoder), tmp_path, device="cpu")


def test_a_folder_without_a_card_reads_as_many_tokens_as_its_model_has_positions(
    cross_encoder: CrossEncoderReranker,
) -> None:
    longest = cross_encoder._tokeniser.pairs("film", ["graphene " * POSITIONS])
    assert [len(tokens) for tokens in longest] == [POSITIONS]


def test_a_network_with_nan_scores_is_rejected(tmp_path: Path) -> None:
    folder = make_reranker(tmp_path / "nan")
    tensors = load_file(folder / "model.safetensors")
    tensors["classifier.bias"][0] = float("nan")
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(WeightsRejected, match="scores wrongly"):
        load_cross_encoder(str(folder), tmp_path, device="cpu")


@pytest.mark.skipif(not WEIGHTS, reason="SHRAG_WEIGHTS names no folder with gte-multilingual-reranker-base in it")
def test_the_real_reranker_puts_the_planet_first() -> None:
    reranker = load_cross_encoder("gte-reranker", Path(str(WEIGHTS)))
    golden = read_catalog().encoders[0].golden
    assert golden is not None
    scores = reranker.score(golden.question, _passages(list(golden.passages)))
    assert scores.index(max(scores)) == 1
