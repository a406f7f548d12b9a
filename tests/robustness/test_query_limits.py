"""R21: a question of any words is answered or refused, fast; none of its words vanishes unsaid.

Questions are no query language: brackets and operators in them are only characters.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence

import pytest

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.query import any_of
from shrag.serving.engine import Engine
from shrag.serving.request import MOST_TURNS
from shrag.serving.retrieval.follow_up import READ_CHARACTERS
from tests.support.live import QUESTION, Live, live

pytestmark = pytest.mark.slow

LONGEST = 2_000


@pytest.fixture(scope="module")
def server(demo: Engine) -> Iterator[Live]:
    with live(demo) as running:
        yield running


def test_an_or_of_5000_terms_finds_what_its_one_known_term_finds(demo: Engine) -> None:
    (terms,) = demo.open_index.analyzer.terms(["재택근무"])
    alone = any_of(terms)
    many = any_of([*(f"없는낱말{number}" for number in range(5_000)), *terms])
    (few, found) = demo.open_index.searcher.search([alone, many], 10)
    assert len(found) >= 1
    assert [hit.docid for hit in found] == [hit.docid for hit in few]


def test_an_or_of_5000_terms_that_the_index_has_is_answered(demo: Engine) -> None:
    found = demo.search(QUESTION, k=235).ranking.records
    many = sorted({term for one in found for term in _terms(demo, one.record.text)})
    assert len(many) > 1_024
    repeated = any_of(many[place % len(many)] for place in range(5_000))
    (hits,) = demo.open_index.searcher.search([repeated], 10)
    assert len(hits) == 10


def _terms(demo: Engine, text: str) -> list[str]:
    (terms,) = demo.open_index.analyzer.terms([text])
    return list(terms)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(" ".join(f"낱말{number}" for number in range(400))[:LONGEST], id="400 words"),
        pytest.param("(" * 1000 + "갈등" + ")" * 998, id="brackets"),
        pytest.param("갈등 OR " * 250, id="operators"),
        pytest.param("가" * LONGEST, id="one syllable"),
        pytest.param("a" * LONGEST, id="one letter"),
        pytest.param("\u0300" * 1_999 + "갈", id="combining marks"),
        pytest.param('+-&&||!(){}[]^"~*?:\\/' * 95, id="a query language's signs"),
    ],
)
def test_a_question_of_2000_characters_is_answered_or_says_what_is_wrong(server: Live, question: str) -> None:
    for path in ("/v1/search", "/v1/ask"):
        started = time.perf_counter()
        status, _, body = server.ask("POST", path, {"question": question})
        assert status == 200 or json.loads(body)["code"] == "question_empty"
        assert time.perf_counter() - started < 10


@pytest.mark.parametrize("question", ["가" * 2_001, "(" * 10_000, " OR ".join(["a"] * 5_000), "가 " * 300_000])
def test_a_longer_one_is_refused_before_any_work(server: Live, question: str) -> None:
    started = time.perf_counter()
    assert server.ask("GET", "/health/live")[0] == 200
    alone = time.perf_counter() - started
    started = time.perf_counter()
    status, _, body = server.ask("POST", "/v1/search", {"question": question})
    took = time.perf_counter() - started
    told = json.loads(body)["code"]
    assert (status, told) == ((422, "question_too_long") if len(question) < 500_000 else (413, "body_too_large"))
    assert took < max(1, 5 * alone)
    assert server.service.in_flight == 0


@pytest.mark.parametrize("length", [LONGEST, 60, 7])
@pytest.mark.parametrize("words", ["낱말{n} 이것은 왜?", "Heat stress {n} 그럼"])
def test_of_many_earlier_questions_few_are_analyzed_and_each_once(
    server: Live, words: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyzed: list[str] = []
    tokens = KoreanEnglishAnalyzer.tokens

    def record(analyzer: KoreanEnglishAnalyzer, texts: Sequence[str]) -> list[list[Token]]:
        analyzed.extend(texts)
        return tokens(analyzer, texts)

    monkeypatch.setattr(KoreanEnglishAnalyzer, "tokens", record)
    asked = [f"{number} {words.format(n=number)} " * LONGEST for number in range(MOST_TURNS)]
    history = [{"question": text[:length].strip()} for text in asked]
    status, _, _ = server.ask("POST", "/v1/search", {"question": "왜?", "history": history})
    earlier = [text for text in analyzed if {"question": text} in history]
    assert status == 200
    assert 1 <= len(earlier) == len(set(earlier))
    assert sum(map(len, earlier)) <= READ_CHARACTERS
