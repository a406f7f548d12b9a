from __future__ import annotations

import math

import pytest

from shrag.evaluation.peers.anserini import AnseriniPeer
from shrag.indexing.bm25 import idf


def test_a_score_is_bm25s_with_anserinis_parameters_and_a_repeated_word_counts_again() -> None:
    contents = [("a", "learned networks learn networks"), ("b", "salt marsh"), ("c", "salt")]
    with AnseriniPeer("anserini-en").open(contents) as search:
        (once,), (twice,) = search("the network", 10), search("networks, a network", 10)
    norm = 0.9 * (1 - 0.4 + 0.4 * 4 / (7 / 3))
    assert once.docid == "a"
    assert once.score == pytest.approx(idf(1, 3) * 2 / (2 + norm), rel=1e-6)
    assert twice.score == pytest.approx(2 * once.score, rel=1e-6)


def test_korean_is_pairs_of_letters() -> None:
    contents = [("a", "인공신경망의 학습"), ("b", "공신력"), ("c", "우유 시세")]
    with AnseriniPeer("anserini-ko").open(contents) as search:
        whole, part = search("인공신경망", 10)
    # 인공, 신경 and 경망 are in one record of three, 공신 in two; this one has six terms, the mean is ten thirds.
    norm = 0.9 * (1 - 0.4 + 0.4 * 6 / (10 / 3))
    assert (whole.docid, part.docid) == ("a", "b")
    assert whole.score == pytest.approx((3 * idf(1, 3) + idf(2, 3)) / (1 + norm), rel=1e-6)


def test_a_question_of_thousands_of_words_is_answered() -> None:
    question = " ".join(f"word{number}" for number in range(3_000))
    with AnseriniPeer("anserini-en").open([("a", "word2999"), ("b", "salt")]) as search:
        (found,) = search(question, 10)
    assert found.docid == "a"
    assert math.isfinite(found.score)


def test_there_is_no_other_analyser() -> None:
    with pytest.raises(ValueError, match=r"^name must be one of anserini-ko, anserini-en, got 'nori'$"):
        AnseriniPeer("nori")
