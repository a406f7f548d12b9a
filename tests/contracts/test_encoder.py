"""Contract of encoders."""

from __future__ import annotations

import numpy as np
import pytest

from shrag.models.encoder import Encoder
from shrag.models.encoders.choice import LsaOptions
from shrag.models.encoders.lsa import fit_lsa
from shrag.models.reranker import Passage
from shrag.serving.engine import Engine

pytestmark = pytest.mark.slow

ENCODERS = ["lsa", "lsa of an index", "transformer"]

TEXTS = [
    "그래핀 필름의 전자파 차폐",
    "graphene film shielding",
    "사과 과원의 토양 수분",
    "soil moisture of apple orchards",
]


@pytest.fixture(params=ENCODERS)
def encoder(request: pytest.FixtureRequest, demo: Engine) -> Encoder:
    """Return each encoder."""
    terms = demo.open_index.analyzer.terms
    dense = demo.open_index.dense
    assert dense is not None
    if request.param == "transformer":
        made: Encoder = request.getfixturevalue("transformer")
        return made
    if request.param == "lsa":
        return fit_lsa(terms(TEXTS), terms, LsaOptions(dimension=4))
    return dense.encoder


def _passages(demo: Engine, texts: list[str]) -> list[Passage]:
    return [Passage("", text, [], demo.open_index.analyzer.terms([text])) for text in texts]


def test_rows_are_single_precision_and_of_unit_length(encoder: Encoder, demo: Engine) -> None:
    for vectors in (encoder.encode_queries(TEXTS), encoder.encode_passages(_passages(demo, TEXTS))):
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), encoder.dimension)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_a_row_does_not_depend_on_the_rows_beside_it(encoder: Encoder, demo: Engine) -> None:
    passages = _passages(demo, TEXTS)
    together = encoder.encode_passages(passages)
    alone = np.concatenate([encoder.encode_passages([passage]) for passage in passages])
    questions = encoder.encode_queries(TEXTS[::-1])
    # A network sums in another order for another shape of batch.
    rounding = 1e-6 if encoder.is_model else 0
    np.testing.assert_allclose(together, alone, rtol=0, atol=rounding)
    np.testing.assert_allclose(questions[::-1], encoder.encode_queries(TEXTS), rtol=0, atol=rounding)


def test_the_passage_about_the_question_is_nearest(encoder: Encoder, demo: Engine) -> None:
    if encoder.name == "tiny-encoder":
        pytest.skip("random weights know nothing of graphene or of apples")
    passages = encoder.encode_passages(_passages(demo, TEXTS))
    nearest = (encoder.encode_queries(["그래핀 차폐", "apple orchards"]) @ passages.T).argmax(axis=1)
    assert [TEXTS[place] for place in nearest // 2 * 2] == [TEXTS[0], TEXTS[2]]  # in whichever language


def test_nothing_is_zero_rows_or_none(encoder: Encoder) -> None:
    assert not encoder.encode_queries(["", " \n"]).any()
    assert not encoder.encode_passages([Passage("", "", [], [])]).any()
    assert encoder.encode_queries([]).shape == encoder.encode_passages([]).shape == (0, encoder.dimension)


def test_it_says_what_it_is(encoder: Encoder) -> None:
    assert encoder.name
    assert encoder.settings
    assert len(encoder.digest) == 64
    assert encoder.batch_rows > 0
    assert encoder.is_model == (encoder.name != "LSA")
