from __future__ import annotations

from collections.abc import Sequence

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.engine import Engine
from shrag.serving.events import Hits, Keyword, Keywords, Queries, RankedRecord, Ranking, ScoredDoc
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


def _found(page: str, further: str = "", *, more: bool = False, name: str = "q", dense: bool = False) -> SubqueryResult:
    """Return a search that ranked the records of ``page`` first and those of ``further`` behind them."""
    records = [Record(docid, "T", "It.", "en", complete=True) for docid in page + further]
    ranked = [RankedRecord(rank, rank, 9.0, record) for rank, record in enumerate(records, 1)]
    return SubqueryResult(
        terms=(),
        keywords=Keywords((Keyword("k", ("k",), 1.0), Keyword(name, (name,), 1.0)), ("u", name), model=f"m{name}"),
        queries=Queries(((name,),)),
        hits=Hits(
            ((ScoredDoc(page[:1], 1.0),),),
            tuple(page + further),
            ("i", name),
            (ScoredDoc("v", 1.0),) if dense else (),
            "lsa" if dense else "",
            encoder_is_model=dense,
            depth=len(page),
        ),
        ranking=Ranking(
            tuple(ranked[: len(page)]), "r", reranker_is_model=True, reason="" if page else "nothing_found", more=more
        ),
        candidates=[AnalyzedRecord(record, "", ()) for record in records],
        question=parse_question(name),
        model_events=(),
        further=tuple(ranked[len(page) :]),
    )


def _order(found: Sequence[SubqueryResult], k: int = 10, sources: Sequence[str] = (), offset: int = 0) -> str:
    request = Request(parse_question("?"), k, answered=False, offset=offset)
    return "".join(each.record.docid for each in merge(found, request, sources).ranking.records)


def test_records_of_answers_follow_the_first_and_further_pages_follow_the_first_ones() -> None:
    both = [_found("abc", "fg"), _found("xb", "yd")]
    assert _order(both) == "axbcfygd"
    assert _order(both, sources=["d", "c", "nowhere", "a"]) == "adcxbfyg"
    assert _order(both, k=2) == "ax"
    assert _order(both, k=2, offset=2) == "axbc"
    assert _order([_found(""), _found("xb")]) == "xb"
    assert _order([_found("abc", "fg")], k=2) == "abcfg"


def test_a_merged_record_has_one_over_its_rank_and_its_place_among_all_candidates() -> None:
    merged = merge([_found("ab"), _found("xb")], Request(parse_question("?"), 10, answered=False))
    assert [(each.record.docid, each.score, each.candidate_rank) for each in merged.ranking.records] == [
        ("a", 1.0, 1),
        ("x", 1 / 2, 3),
        ("b", 1 / 3, 2),
    ]
    assert merged.hits.candidates == ("a", "b", "x")
    assert (merged.ranking.reranker, merged.ranking.reranker_is_model, merged.merged) == ("r", True, True)


def test_there_is_more_if_a_page_is_full_or_a_search_says_so() -> None:
    request = Request(parse_question("?"), 3, answered=False)
    assert merge([_found("ab"), _found("xb")], request).ranking.more is False
    assert merge([_found("ab"), _found("xyb")], request).ranking.more is True
    assert merge([_found("ab"), _found("xb", more=True)], request).ranking.more is True


def test_what_searches_share_is_there_once_and_the_deepest_and_the_first_encoder_are_named() -> None:
    found = [_found("a", name="p"), _found("xyz", name="q", dense=True)]
    merged = merge(found, Request(parse_question("?"), 3, answered=False))
    assert [each.text for each in merged.keywords.keywords] == ["k", "p", "q"]
    assert (merged.keywords.unknown, merged.keywords.model) == (("u", "p", "q"), "mp")
    assert merged.hits.incomplete == ("i", "p", "q")
    assert (merged.hits.depth, merged.hits.encoder, merged.hits.encoder_is_model) == (3, "lsa", True)
    assert merged.hits.dense == (ScoredDoc("v", 1.0),)
    assert merged.queries.queries == (("p",), ("q",))
