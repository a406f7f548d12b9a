from __future__ import annotations

import pytest

from shrag.indexing.analysis.latin import find_words

# Written out, so that a change of the module's own is noticed.
MAX_TERM_LENGTH = 64


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("GPT-4", ["gpt", "gpt4", "4"]),
        ("GPT4", ["gpt4", "gpt"]),
        ("COVID-19 and COVID19", ["covid", "covid19", "19", "covid19", "covid"]),
        ("H2O", ["h2o"]),
        ("CO2", ["co2", "co"]),
        ("5G", ["5g"]),
        ("A3", ["a3"]),
        ("TNF-α", ["tnf", "tnfalpha", "alpha"]),
        ("β-carotene", ["beta", "betacaroten", "caroten"]),
        ("SARS-CoV-2", ["sar", "sarscov2", "cov", "2"]),
        ("1,200 and 3.14 but 3.1.4", ["1200", "3.14", "3", "314", "1", "4"]),
        ("10km", ["10km", "km"]),
        ("C++ C# .NET Node.js", ["c++", "c#", "net", "node", "nodej", "js"]),
        ("state-of-the-art", ["state", "stateoftheart", "art"]),
        ("the networks' patient's learning", ["network", "patient", "learn"]),
        ("Poincaré naïve", ["poincar", "naiv"]),
        ("λόγος", ["λογος"]),
        ("Nguyễn Saṃsāra ἄνθρωπος", ["nguyen", "samsara", "ανθρωπος"]),
        ("İstanbul İzmir's", ["istanbul", "izmir"]),
        ("p<0.05", ["p", "0.05"]),
        ("IT, WHO and US-based; it is who we are", ["it", "who", "us", "usbas", "base"]),
        ("u-IT's ITS", ["u", "it", "uit", "its"]),
        ("NOT, AND, OR, THE, It", []),
        ("", []),
        ("한글 … !?", []),
    ],
)
def test_words_and_identifiers_have_these_terms(text: str, terms: list[str]) -> None:
    assert sorted(word.term for word in find_words(text)) == sorted(terms)


def test_spellings_of_one_identifier_share_a_term() -> None:
    for forms in (("GPT-4", "GPT4"), ("COVID-19", "covid19"), ("TNF-α", "TNF-alpha"), ("e-learning", "elearning")):
        shared = set.intersection(*({word.term for word in find_words(form)} for form in forms))
        assert shared, forms


def test_terms_have_offsets_and_kinds() -> None:
    assert [(word.start, word.end, word.kind) for word in find_words("of IL-6, 12")] == [
        (3, 5, "foreign"),
        (6, 7, "number"),
        (3, 7, "foreign"),
        (9, 11, "number"),
    ]


def test_a_chain_of_many_parts_is_not_joined_and_a_long_word_is_cut() -> None:
    assert {word.term for word in find_words("http://a1.b2.c3.d4.e5/f6")} == {
        "http",
        "a1",
        "b2",
        "c3",
        "d4",
        "e5",
        "f6",
    }
    (word,) = find_words("x" * 100_000)
    assert len(word.term) == MAX_TERM_LENGTH
