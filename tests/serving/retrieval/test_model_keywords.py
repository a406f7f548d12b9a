"""Keyword extraction, weighting and exclusion."""

from __future__ import annotations

import math

import pytest

from shrag.models.chat.structured_output import output_schema
from shrag.serving.engine import Engine
from shrag.serving.results import SearchResult
from shrag.serving.retrieval.model_keywords import KeywordList
from shrag.serving.retrieval.query_terms import QueryTerm, log_entropy, rank_keywords
from shrag.serving.search_settings import SearchSettings
from tests.support.scripted_models import ScriptedModel, listed


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


QUESTION = "그래핀을 제외한 전자파 차폐 소재는?"


def _search(demo: Engine, korean: str, english: str) -> SearchResult:
    return Engine(demo.open_index, ScriptedModel(korean, english)).search(QUESTION, k=100)


def _keywords(result: SearchResult) -> list[str]:
    return [keyword.text for keyword in result.keywords.keywords]


def test_what_a_model_excludes_is_no_keyword_and_left_out_of_every_query(demo: Engine) -> None:
    plain = _search(demo, listed("그래핀", "전자파 차폐"), listed("graphene", "shielding"))
    assert [ranked.record.docid for ranked in plain.ranking.records[:2]] == ["DEMO-MAT-001", "DEMO-MAT-012"]
    assert "그래핀" in _keywords(plain)
    result = _search(
        demo,
        listed("그래핀", "전자파 차폐", excluded=["그래핀"]),
        listed("graphene", "shielding", excluded=["graphene"]),
    )
    assert not {"그래핀", "graphene"} & set(_keywords(result))
    assert len(result.queries.queries) > 2
    assert all(query[-2:] == ("− 그래핀", "− graphene") for query in result.queries.queries)
    assert not any({"그래핀", "graphene"} & set(query) for query in result.queries.queries)
    assert result.ranking.records
    for ranked in result.ranking.records:
        assert "그래핀" not in ranked.record.text
        assert "graphene" not in ranked.record.text.lower()


def test_a_translation_of_what_is_excluded_is_left_out_too(demo: Engine) -> None:
    result = _search(demo, listed("전자파", excluded=["그래핀"]), listed("shielding"))
    texts = [ranked.record.text for ranked in result.ranking.records]
    assert texts
    assert not [text for text in texts if "그래핀" in text or "graphene" in text.lower()]


def test_an_empty_list_of_exclusions_is_as_none(demo: Engine) -> None:
    without = _search(demo, listed("그래핀", "전자파 차폐"), listed("shielding"))
    empty = _search(demo, listed("그래핀", "전자파 차폐", excluded=[]), listed("shielding", excluded=[]))
    assert (without.keywords, without.queries, without.ranking) == (empty.keywords, empty.queries, empty.ranking)


@pytest.mark.parametrize("excluded", [["그래핀 쀍뛟"], ["전자파", "차폐", "shielding"], ["…?!"]])
def test_a_phrase_that_the_index_lacks_or_that_leaves_no_keyword_excludes_nothing(
    demo: Engine, excluded: list[str]
) -> None:
    without = _search(demo, listed("전자파 차폐"), listed("shielding"))
    result = _search(demo, listed("전자파 차폐", excluded=excluded), listed("shielding"))
    assert (without.keywords, without.queries, without.ranking) == (result.keywords, result.queries, result.ranking)


@pytest.mark.parametrize("excluded", [["그래핀"] * 6, [""], ["그" * 61]])
def test_exclusions_out_of_bounds_are_no_valid_answer(demo: Engine, excluded: list[str]) -> None:
    result = _search(demo, listed("전자파", excluded=excluded), listed("shielding"))
    assert [(fallback.stage, fallback.cause) for fallback in result.fallbacks] == [("keywords", "invalid_output")]
    assert result.queries.queries == demo.search(QUESTION, k=100).queries.queries


def test_an_engine_that_constrains_what_a_model_writes_is_given_both_lists() -> None:
    schema = output_schema(KeywordList)
    assert schema["required"] == ["keywords", "excluded"]
    assert schema["properties"]["excluded"]["maxItems"] == 5


def _scripted(
    demo: Engine, korean: str, english: str, question: str = "그래핀 전자파 차폐?", **settings: object
) -> SearchResult:
    engine = Engine(demo.open_index, ScriptedModel(korean, english))
    return engine.search(question, settings=SearchSettings.from_mapping({"keyword_order": "model", **settings}))


TEN = (
    listed("그래핀 에어로겔", "전자파 차폐", "밀도"),
    listed("graphene aerogel", "shielding effectiveness", "foam density"),
)


@pytest.mark.parametrize("k", [5, 10, 100])
def test_with_a_model_there_are_at_most_ten_queries_of_ten_hits_and_no_others(demo: Engine, k: int) -> None:
    engine = Engine(demo.open_index, ScriptedModel(*TEN))
    result = engine.search("그래핀 에어로겔은 전자파를 얼마나 차폐하는가?", k=k)
    assert [len(query) for query in result.queries.queries] == list(range(10, 0, -1))
    longest = result.queries.queries[0]
    assert result.queries.queries == tuple(longest[:size] for size in range(10, 0, -1))
    assert {"그래핀", "graphene"} <= set(longest)
    assert result.hits.depth == 10
    assert max(map(len, result.hits.hits)) == 10


def test_queries_beyond_the_papers_are_there_where_they_are_asked_for(demo: Engine) -> None:
    def queries(extra: str) -> tuple[tuple[str, ...], ...]:
        return _scripted(demo, listed("차폐"), listed("shielding"), extra_queries=extra).queries.queries

    reduced = (("차폐", "shielding"), ("차폐",))
    assert queries("auto") == queries("none") == reduced
    assert queries("translated") == (*reduced, ("shielding", "shielding"), ("shielding",))
    assert queries("question") == (*reduced, ("그래핀", "전자파 차폐"))
    assert len(queries("all")) == 5


def test_a_models_keyword_is_split_at_blanks_or_into_morphemes(demo: Engine) -> None:
    def keywords(words: str) -> list[str]:
        return _keywords(_scripted(demo, listed("양파도매가격 예측", "강화학습"), listed("onion price"), words=words))

    assert keywords("blanks") == keywords("auto") == ["양파도매가격", "예측", "onion", "price", "강화학습"]
    assert keywords("morphemes") == ["양파", "도매", "가격", "예측", "onion", "price", "강화", "학습"]
    assert keywords("known") == ["양파", "도매", "가격", "예측", "onion", "price", "강화학습"]
    assert keywords("compound") == ["양파 도매 가격 예측", "onion price", "강화 학습"]


def test_all_morphemes_of_what_blanks_separate_must_match(demo: Engine) -> None:
    found = _scripted(demo, listed("전자파차폐"), listed("onion"), languages="ko").hits.hits[0]
    assert found
    for hit in found:
        record = demo.document(hit.docid)
        assert record is not None
        assert all(part in f"{record.title} {record.text}" for part in ("전자파", "차폐"))


@pytest.mark.parametrize(
    ("languages", "queries"), [("ko", (("차폐",),)), ("en", (("shielding", "graphene"), ("shielding",)))]
)
def test_a_models_keywords_of_one_language_make_their_own_reduced_queries(
    demo: Engine, languages: str, queries: tuple[tuple[str, ...], ...]
) -> None:
    for question in ("그래핀 전자파 차폐?", "How does graphene shield?"):
        result = _scripted(demo, listed("차폐"), listed("shielding", "graphene"), question, languages=languages)
        assert result.queries.queries == queries
