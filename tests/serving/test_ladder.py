from __future__ import annotations

from shrag.indexing.carrying import Way
from shrag.indexing.query import Best, Or, Weighted, any_of
from shrag.serving.ladder import build_carried, choose_carried
from shrag.serving.words import Word, matched_share


def _word(text: str, *ways: Way) -> Word:
    return Word(text, (text.lower(),), 1.0, 1, keyword=True, known=True, ways=ways)


MILK = Way("milk", ("milk",), 1.0)
MARKET = Way("market price", ("market", "price"), 0.5)


def test_the_other_languages_queries_have_what_was_carried_over_or_is_written_alike() -> None:
    words = [_word("우유", MILK), _word("동향"), _word("LSTM"), _word("시세", MARKET)]
    rungs = choose_carried(words, "ko")
    assert [[word.text for word in rung] for rung in rungs] == [["우유", "LSTM", "시세"], ["우유", "LSTM"], ["우유"]]
    assert build_carried(rungs, "ko")[0] == Or(
        (
            Best((Weighted(any_of(["milk"]), 1.0),)),
            Best((any_of(["lstm"]),)),
            Best((Weighted(any_of(["market", "price"]), 0.5),)),
        )
    )


def test_without_a_translation_there_is_no_such_query() -> None:
    assert choose_carried([_word("LSTM"), _word("동향")], "ko") == []
    assert choose_carried([], "ko") == []


def test_an_english_word_is_not_taken_for_a_name() -> None:
    words = [_word("milk", Way("우유", ("우유",), 1.0)), _word("price"), _word("ChatGPT")]
    assert [word.text for word in choose_carried(words, "en")[0]] == ["milk", "ChatGPT"]


def test_a_translation_stands_in_a_text_where_all_its_terms_do() -> None:
    words = [_word("우유", MILK), _word("시세", MARKET)]
    texts: list[set[str]] = [{"milk"}, {"market"}, {"market", "price"}, {"우유", "price"}]
    assert [matched_share(words, terms) for terms in texts] == [
        0.5, 0.0, 0.5, 0.5,
    ]  # fmt: skip
