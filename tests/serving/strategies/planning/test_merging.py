from __future__ import annotations

from shrag.serving.engine import Engine
from shrag.serving.request import Request, parse_question
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.strategies.planning.merging import merge
from shrag.serving.strategies.planning.subquery import SubqueryResult, find_all

ONION = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
MARSH = "What do restored salt marshes store?"
WORDS = "ㅁㄴㅇㄹ"


def _merged(demo: Engine, *texts: str, k: int = 10) -> tuple[list[SubqueryResult], RetrievalResult]:
    request = Request(parse_question(texts[0]), k, answered=False)
    found = find_all([parse_question(text) for text in texts], request, demo.resources)
    return found, merge(found, request)


def test_merged_rankings_are_interleaved_and_have_each_record_once(demo: Engine) -> None:
    found, merged = _merged(demo, ONION, MARSH)
    onion, marsh = ([ranked.record.docid for ranked in one.ranking.records] for one in found)
    turns = [docid for pair in zip(onion, marsh, strict=False) for docid in pair]
    ranked = [ranked.record.docid for ranked in merged.ranking.records]
    assert ranked[:4] == list(dict.fromkeys(turns))[:4]
    assert [record.rank for record in merged.ranking.records] == list(range(1, len(ranked) + 1))
    assert len(set(ranked)) == len(ranked) <= 10


def test_the_merged_search_has_the_queries_hits_and_keywords_of_all_searches(demo: Engine) -> None:
    found, merged = _merged(demo, ONION, MARSH)
    assert merged.queries.queries == found[0].queries.queries + found[1].queries.queries
    assert merged.hits.hits == found[0].hits.hits + found[1].hits.hits
    assert set(merged.hits.candidates) == {*found[0].hits.candidates, *found[1].hits.candidates}
    assert [analysed.record.docid for analysed in merged.candidates] == list(merged.hits.candidates)
    texts = [keyword.text for keyword in merged.keywords.keywords]
    assert "도매가격" in texts
    assert "marshes" in texts
    for ranked in merged.ranking.records:
        assert merged.hits.candidates[ranked.candidate_rank - 1] == ranked.record.docid


def test_merging_a_single_search_keeps_its_ranking(demo: Engine) -> None:
    (found,), merged = _merged(demo, MARSH, k=3)
    assert [one.record for one in merged.ranking.records] == [one.record for one in found.ranking.records][:3]


def test_a_search_without_hits_does_not_change_the_others_and_none_with_hits_give_a_reason(demo: Engine) -> None:
    _, merged = _merged(demo, WORDS, MARSH)
    assert merged.ranking.records
    assert merged.ranking.reason == ""
    _, nothing = _merged(demo, WORDS, WORDS)
    assert nothing.ranking.records == ()
    assert nothing.ranking.reason == "no_keywords"
