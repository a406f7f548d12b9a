from __future__ import annotations

from dataclasses import replace
from statistics import correlation, mean, pstdev

import pytest

from shrag.indexing.analyzed_record import to_passage
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.serving.engine import Engine
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Ranking
from shrag.serving.request import Request, parse_question
from shrag.serving.retrieval.ranking import reciprocal_rank_fusion
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.shrag import hybrid_strategy
from tests.support.scripted_models import ScriptedModel, listed

# Written out, so that a change of the module's own is noticed.
LSA_COSINE_WEIGHT = 0.1

QUESTION = "LSTM으로 양파 도매가격을 예측하면 ARIMA보다 오차가 얼마나 줄어드는가?"


def test_the_candidates_of_words_and_of_vectors_are_fused_by_reciprocal_ranks(demo: Engine) -> None:
    hits = demo.search(QUESTION, strategy="hybrid").hits
    lexical = demo.search(QUESTION).hits
    assert hits.hits == lexical.hits
    assert len(hits.dense) == 10
    lists = [[hit.docid for found in hits.hits for hit in found], [hit.docid for hit in hits.dense]]
    fused = [docid for docid, _ in reciprocal_rank_fusion(lists)]
    assert [docid for docid in fused if docid not in hits.incomplete] == list(hits.candidates)
    assert len(set(hits.candidates)) == len(hits.candidates)


def test_the_ranking_is_the_rerankers_score_and_the_cosine(demo: Engine) -> None:
    dense = demo.open_index.dense
    assert dense is not None
    hybrid = demo.search(QUESTION, k=200, strategy="hybrid", every_record=True).ranking.records
    docids = [ranked.record.docid for ranked in hybrid]
    index = demo.open_index
    passages = [to_passage(found) for found in index.store.fetch(docids) if found]
    words = LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25, index.glossary).score(
        QUESTION, passages
    )
    cosines = dense.cosines(dense.encode(QUESTION), docids)
    languages = [passage.language for passage in passages]
    assert set(languages) == {"ko", "en"}
    means = dense.language_means(dense.encode(QUESTION))
    above = [cosine - means[language] for cosine, language in zip(cosines, languages, strict=True)]
    spread = LSA_COSINE_WEIGHT * pstdev(words) / pstdev(above)
    expected = [word + spread * (value - mean(above)) for word, value in zip(words, above, strict=True)]
    assert [ranked.score for ranked in hybrid] == pytest.approx(expected)
    assert expected == sorted(expected, reverse=True)


def test_beside_vectors_of_a_model_the_words_count_as_much_as_the_cosine(demo: Engine) -> None:
    dense = demo.open_index.dense
    assert dense is not None
    by_cosine = replace(demo.resources, reranker=VectorReranker(dense))
    request = Request(parse_question(QUESTION), 100, answered=False, every_record=True)
    events = hybrid_strategy(1.0).run(request, by_cosine)
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    assert ranking.reranker == "BM25 + best sentence + 1 × LSA cosine"
    docids = [ranked.record.docid for ranked in ranking.records]
    index = demo.open_index
    passages = [to_passage(found) for found in index.store.fetch(docids) if found]
    words = LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25, index.glossary)
    by_words = dict(zip(docids, words.score(QUESTION, passages), strict=True))
    cosines = dict(zip(docids, dense.cosines(dense.encode(QUESTION), docids), strict=True))
    scores = {ranked.record.docid: ranked.score for ranked in ranking.records}
    assert correlation(list(scores.values()), list(by_words.values())) > 0.5
    assert correlation(list(scores.values()), [cosines[docid] for docid in scores]) > 0.5


def test_the_events_name_the_encoder_and_the_reranker(demo: Engine) -> None:
    result = demo.search(QUESTION, strategy="hybrid")
    assert (result.hits.encoder, result.hits.encoder_is_model) == ("LSA", False)
    assert result.ranking.reranker == "BM25 + best sentence + 0.1 × LSA cosine"
    assert not result.ranking.reranker_is_model
    assert "vectors" in result.timings.seconds
    plain = demo.search(QUESTION)
    assert (plain.hits.dense, plain.hits.encoder) == ((), "")
    assert "vectors" not in plain.timings.seconds
    assert plain.keywords.model == ""


def test_the_keywords_name_the_model_that_chose_them(demo: Engine) -> None:
    engine = Engine(demo.open_index, ScriptedModel(listed("양파 가격"), listed("onion price")))
    assert engine.search(QUESTION).keywords.model == "scripted"


def test_a_record_without_a_word_of_the_question_is_found_by_its_vector(demo: Engine) -> None:
    found = demo.search("restored salt marsh", strategy="hybrid").hits
    by_words = {hit.docid for hits in found.hits for hit in hits}
    # Which records these are depends on the last bits of the decomposition, and so on the processor.
    by_vectors = {hit.docid for hit in found.dense} - by_words
    assert by_vectors
    assert by_vectors <= {*found.candidates, *found.incomplete}


def test_hybrid_without_vectors_says_how_to_build_them(demo: Engine) -> None:
    bare = Engine(replace(demo.open_index, dense=None))
    with pytest.raises(StrategyUnavailable, match=r"Index demo has no vectors.*`shrag index demo --encoder lsa`"):
        bare.search(QUESTION, strategy="hybrid")


def test_an_index_without_vectors_is_searched_by_words_unless_vectors_are_asked_for(demo: Engine) -> None:
    bare = Engine(replace(demo.open_index, dense=None))
    assert bare.search(QUESTION).ranking.records[0].record.docid == "DEMO-AGR-002"
    for candidates in ("dense", "hybrid"):
        with pytest.raises(StrategyUnavailable, match=r"Index demo has no vectors, which the strategy shrag needs"):
            bare.search(QUESTION, settings=SearchSettings.from_mapping({"candidates": candidates}))


def test_a_further_page_begins_where_the_first_ends_and_the_first_says_whether_there_is_one(demo: Engine) -> None:
    first, second = (demo.search("effects on growth", k=5, offset=offset) for offset in (0, 5))
    assert [each.rank for each in second] == [6, 7, 8, 9, 10]
    assert not {each.record.docid for each in first} & {each.record.docid for each in second}
    assert first.ranking.confidence == second.ranking.confidence
    assert (first.ranking.more, second.ranking.more) == (True, True)
    rare = demo.search("niacin", k=50)
    assert 0 < len(list(rare)) < 50
    assert not rare.ranking.more


def test_records_that_say_what_something_is_come_first_where_that_is_asked(demo: Engine) -> None:
    found = demo.search("모형이란 무엇인가?").ranking
    first, second = found.records[:2]
    assert (first.record.docid, first.score > second.score) == ("DEMO-EDU-002", True)
    assert found.confidence is not None
    assert (found.confidence.value, found.confidence.level) == (0.2, "medium")
    assert demo.search("모형").ranking.records[0].record.docid != "DEMO-EDU-002"
    deeper = demo.search("모형이란 무엇인가?", k=5, offset=5).ranking.records
    assert not {each.record.docid for each in deeper} & {each.record.docid for each in found.records[:5]}
