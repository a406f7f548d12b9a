"""What every search engine keeps to: its ranking is that of the formula, over an index of real records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from shrag.corpora.topics import read_topics
from shrag.indexing.bm25 import bm25_score
from shrag.indexing.opening import OpenIndex, open_index
from shrag.indexing.query import Best, Or, Query, Term, Weighted, any_of

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"
ENGINES = ["lucene"]


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest, demo_home: Path) -> OpenIndex:
    """Return the demonstration index behind each engine."""
    return {"lucene": lambda: open_index(demo_home / "indexes", "demo")}[request.param]()


def test_every_question_is_ranked_as_a_plain_scorer_ranks_it(index: OpenIndex) -> None:
    topics = read_topics(DEMO / "topics.tsv")
    records = (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines()
    docids = [line.partition('"CN": "')[2].partition('"')[0] for line in records]
    documents = {found.record.docid: found for found in index.store.fetch(docids) if found is not None}
    assert len(documents) == 170
    parameters = index.manifest.bm25
    for topic in topics:
        (terms,) = index.analyzer.terms([topic.text])
        query = Counter(terms)
        statistics = index.engine.statistics(list(query))
        scores = {
            docid: bm25_score(query, document.contents_terms, statistics.contents, parameters)
            + parameters.title_boost * bm25_score(query, document.title_terms, statistics.title, parameters)
            for docid, document in documents.items()
        }
        (hits,) = index.engine.search([any_of(terms)], 170)
        assert {hit.docid for hit in hits} == {docid for docid, score in scores.items() if score > 0}
        assert all(hit.score == pytest.approx(scores[hit.docid], rel=1e-5) for hit in hits)
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.docid))


def test_fewer_hits_are_the_first_of_more(index: OpenIndex) -> None:
    query = any_of(["그래핀", "탄소", "model", "learn"])
    ((ten,), (fifty,)) = index.engine.search([query], 10), index.engine.search([query], 50)
    assert ten == fifty[:10]


def test_queries_of_a_batch_do_not_touch_each_other(index: OpenIndex) -> None:
    queries: list[Query] = [Term("그래핀"), Or(()), Term("zzz"), any_of(["carbon", "탄소"])]
    assert index.engine.search(queries, 5) == [index.engine.search([query], 5)[0] for query in queries]
    assert index.engine.search([], 5) == []


def test_the_best_of_several_ways_scores_and_a_weight_multiplies(index: OpenIndex) -> None:
    ways = [Term("그래핀"), Term("graphen"), Term("탄소")]
    alone = [{hit.docid: hit.score for hit in hits} for hits in index.engine.search(ways, 170)]
    (best, weighted, nothing) = index.engine.search([Best(tuple(ways)), Weighted(ways[0], 0.5), Best(())], 170)
    expected = {
        docid: max(scores.get(docid, 0.0) for scores in alone) for docid in set().union(*(set(each) for each in alone))
    }
    assert {hit.docid: hit.score for hit in best} == pytest.approx(expected, rel=1e-5)
    assert {hit.docid: hit.score for hit in weighted} == pytest.approx(
        {docid: score / 2 for docid, score in alone[0].items()}, rel=1e-5
    )
    assert nothing == []
