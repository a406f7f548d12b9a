from __future__ import annotations

from shrag.indexing.glossary.alignment import Bitext, align_terms, log_likelihood_ratio


def test_terms_are_aligned_with_their_best_translation() -> None:
    # Every text has "study"; only the right term turns up whenever its Korean one does.
    bitexts = [
        Bitext(frozenset({"우유", "품질"}), frozenset({"milk", "qualiti", "studi"})),
        Bitext(frozenset({"우유", "가격"}), frozenset({"milk", "price", "studi"})),
        Bitext(frozenset({"치즈", "가격"}), frozenset({"chees", "price", "studi"})),
        Bitext(frozenset({"치즈", "품질"}), frozenset({"chees", "qualiti", "studi"})),
    ]
    pairs = align_terms(bitexts)
    best = {korean: max((p.share, p.english) for p in pairs if p.korean == korean)[1] for korean in ("우유", "가격")}
    assert best == {"우유": "milk", "가격": "price"}


def test_shares_and_ratios_count_a_text_as_often_as_it_has_records() -> None:
    bitexts = [
        Bitext(frozenset({"우유", "품질"}), frozenset({"milk", "qualiti", "studi"})),
        Bitext(frozenset({"우유", "가격"}), frozenset({"milk", "price", "studi"})),
        Bitext(frozenset({"치즈", "가격"}), frozenset({"chees", "price", "studi"}), 3),
        Bitext(frozenset({"치즈", "품질"}), frozenset({"chees", "qualiti", "studi"})),
    ]
    found = {
        (pair.korean, pair.english): (
            *(round(float(each), 3) for each in (pair.share, pair.back_share, pair.association)),
            pair.together,
        )
        for pair in align_terms(bitexts)
    }
    assert found == {
        ("우유", "milk"): (0.804, 1.0, 7.638, 2),
        ("품질", "qualiti"): (0.804, 1.0, 7.638, 2),
        ("가격", "price"): (0.505, 0.932, 7.638, 4),
        ("치즈", "chees"): (0.505, 0.932, 7.638, 4),
        # In every text, so that it is no evidence for any.
        ("가격", "studi"): (0.229, 0.412, 0.0, 4),
        ("치즈", "studi"): (0.229, 0.412, 0.0, 4),
    }


def test_a_pair_of_one_text_is_dropped() -> None:
    assert align_terms([Bitext(frozenset({"우유"}), frozenset({"milk"}))]) == []
    assert len(align_terms([Bitext(frozenset({"우유"}), frozenset({"milk"}), 2)])) == 1
    assert align_terms([]) == []
    assert align_terms([Bitext(frozenset(), frozenset({"milk"}))]) == []


def test_the_ratio_is_dunnings() -> None:
    # 2 Σ O ln(O / E) over the table 10, 20, 30, 940.
    assert round(log_likelihood_ratio(10, 30, 40, 1000), 3) == 30.069
    assert log_likelihood_ratio(1, 100, 10, 1000) == 0
    assert round(log_likelihood_ratio(6, 10, 10, 20), 3) == 0.805
    assert log_likelihood_ratio(4, 10, 10, 20) == 0
