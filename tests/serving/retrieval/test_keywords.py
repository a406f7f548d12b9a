from __future__ import annotations

import math

import pytest

from shrag.serving.engine import Engine
from shrag.serving.retrieval.keywords import log_entropy, rank_keywords
from shrag.serving.retrieval.query_terms import QueryTerm


class _Engine:
    """Two documents' worth of statistics: what the formula reads and nothing else."""

    def __init__(self, counts: dict[str, list[int]], documents: int) -> None:
        self.counts = counts
        self.documents = documents

    def statistics(self, terms: tuple[str, ...]) -> object:
        from shrag.indexing.search_engine import FieldStatistics, Statistics

        frequencies = {term: len(self.counts.get(term, [])) for term in terms}
        field = FieldStatistics(self.documents, 1.0, frequencies)
        return Statistics(field, field)

    def frequencies(self, term: str, most: int) -> list[int]:
        return self.counts.get(term, [])[:most]


def _word(text: str, uses: int = 1, idf: float = 1.0) -> QueryTerm:
    return QueryTerm(text, (text,), idf, uses, keyword=True, known=True)


def test_log_entropy_goes_from_one_for_one_document_to_none_for_all_alike() -> None:
    engine = _Engine({"one": [7], "all": [2] * 16, "four": [1] * 4, "uneven": [5, 1, 1, 1]}, 16)
    values = {text: log_entropy(_word(text), engine) for text in ("one", "all", "four", "uneven", "none")}  # type: ignore[arg-type]
    assert values["one"] == 1
    assert values["all"] == pytest.approx(0)
    assert values["four"] == pytest.approx(1 - math.log(4) / math.log(16))
    entropy = -(5 / 8 * math.log(5 / 8) + 3 * (1 / 8) * math.log(1 / 8))
    assert values["uneven"] == pytest.approx(1 - entropy / math.log(16))
    assert values["none"] == 0


def test_a_common_terms_entropy_is_that_of_all_its_documents_though_few_are_read() -> None:
    engine = _Engine({"common": [1] * 20_000}, 40_000)
    assert log_entropy(_word("common"), engine) == pytest.approx(1 - math.log(20_000) / math.log(40_000))  # type: ignore[arg-type]


def test_each_order_ranks_by_what_it_says() -> None:
    engine = _Engine({"a": [1, 1, 1, 1], "b": [4], "c": [1, 1]}, 8)
    words = [_word("a", 1, 3.0), _word("b", 1, 1.0), _word("c", 2, 1.0)]
    by_order = {
        order: [word.text for word, _ in rank_keywords(words, order, engine)]  # type: ignore[arg-type]
        for order in ("model", "tfidf", "entropy")
    }
    assert by_order == {"model": ["a", "b", "c"], "tfidf": ["a", "c", "b"], "entropy": ["c", "b", "a"]}
    assert [weight for _, weight in rank_keywords(words, "model", engine)] == [1, 1 / 2, 1 / 3]  # type: ignore[arg-type]


def test_the_entropy_of_an_index_tells_a_rare_word_from_a_common_one(demo: Engine) -> None:
    result = demo.search("그래핀 연구의 결과", keyword_order="entropy").keywords
    assert (result.order, result.keywords[0].text) == ("entropy", "그래핀")
    assert all(0 <= keyword.weight <= 1 for keyword in result.keywords)
