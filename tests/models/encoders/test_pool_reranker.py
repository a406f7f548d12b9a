from __future__ import annotations

import numpy as np
import pytest

from shrag.models.encoders.pool_reranker import PoolReranker
from shrag.models.encoders.transformer import TransformerEncoder
from shrag.models.reranker import Passage

pytestmark = pytest.mark.slow

TEXTS = ["그래핀 필름의 전자파 차폐", "soil moisture", ""]
PASSAGES = [Passage("", text, [], []) for text in TEXTS]


def test_scores_are_the_cosines_of_question_and_candidates(transformer: TransformerEncoder) -> None:
    reranker = PoolReranker(transformer)
    scores = reranker.score("graphene film", PASSAGES)
    (question,) = transformer.encode_queries(["graphene film"])
    expected = transformer.encode_passages(PASSAGES).astype(np.float64) @ question.astype(np.float64)
    assert scores == pytest.approx(expected.tolist(), abs=1e-6)
    assert scores[2] == 0.0
    assert (reranker.name, reranker.is_model) == ("tiny-encoder cosine", True)
    assert reranker.score("graphene film", []) == []


def test_inner_products_on_a_device_are_those_of_numpy(transformer: TransformerEncoder) -> None:
    rows = transformer.encode_passages(PASSAGES).astype(np.float16)
    (question,) = transformer.encode_queries(["graphene"])
    found = transformer.inner_products(rows, question)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, rows.astype(np.float64) @ question.astype(np.float64), rtol=0, atol=1e-14)
