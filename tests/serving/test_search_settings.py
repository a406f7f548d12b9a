from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrag.corpora.records import Topic
from shrag.evaluation.questions.batch import write_run
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.engine import Engine
from shrag.serving.errors import SettingRejected, StrategyUnavailable
from shrag.serving.search_settings import ANSWERING, BUDGET, SEARCH, ExtraQueries, SearchSettings, refuse_unused

# Written out, so that a change of the module's own is noticed.
BOUNDS = {
    "keywords": (1, 10),
    "ands": (0, 9),
    "depth": (0, 1000),
    "calls": (0, 200),
    "seconds": (1, 600),
    "steps": (1, 10),
    "step_records": (0, 20),
    "tree_depth": (1, 8),
    "tree_nodes": (1, 100),
    "tree_children": (1, 12),
}

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"

DEFAULTS = {
    "keywords": 10,
    "ands": 0,
    "and_reading": "grouped",
    "words": "auto",
    "languages": "both",
    "queries": "all",
    "extra_queries": "auto",
    "glossary": True,
    "candidates": "strategy",
    "rerank": True,
    "keyword_order": "tfidf",
    "depth": 0,
    "paper": "",
    "answer": "structured",
    "calls": 48,
    "seconds": 90,
    "steps": 5,
    "step_records": 0,
    "tree_depth": 4,
    "tree_nodes": 24,
    "tree_children": 6,
}


def test_the_defaults_are_the_product() -> None:
    assert SearchSettings.from_mapping({}) == SearchSettings() == SearchSettings.from_mapping(DEFAULTS)
    assert SearchSettings().changed == {}


def test_values_of_a_file_and_of_a_command_line_are_equal() -> None:
    written = SearchSettings.from_mapping({"ands": 3, "glossary": False, "words": "both"})
    typed = SearchSettings.from_mapping({"ands": "3", "glossary": "false", "words": "both"})
    assert written == typed == SearchSettings(ands=3, glossary=False, words="both")
    assert typed.changed == {"ands": 3, "words": "both", "glossary": False}
    assert SearchSettings.from_mapping({"rerank": "true"}) == SearchSettings()


def test_of_the_settings_that_a_strategy_does_not_use_the_first_by_name_is_refused() -> None:
    settings = SearchSettings(paper="x", depth=3, keyword_order="entropy")
    for used, unused in (((), "depth"), (("depth",), "paper"), (("paper",), "depth")):
        with pytest.raises(SettingRejected, match=f"^The strategy tree has no setting {unused}: "):
            refuse_unused(settings, "tree", used)
    refuse_unused(settings, "tree", ("depth", "paper"))
    refuse_unused(SearchSettings(), "tree")


def test_each_setting_is_one_of_the_answer_the_budget_the_search_or_a_plan() -> None:
    assert frozenset({"answer"}) == ANSWERING
    assert frozenset({"calls", "seconds"}) == BUDGET
    plan = {"paper", "steps", "step_records", "tree_depth", "tree_nodes", "tree_children"}
    assert DEFAULTS.keys() - ANSWERING - BUDGET - plan == SEARCH


@pytest.mark.parametrize(
    ("extra_queries", "own"),
    [("auto", False), ("none", False), ("translated", False), ("question", True), ("all", True)],
)
def test_the_questions_own_words_are_a_query_where_the_settings_say_so(extra_queries: ExtraQueries, own: bool) -> None:
    assert SearchSettings(extra_queries=extra_queries).own_query == own


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"and": 1}, f"There is no setting 'and': use {', '.join(DEFAULTS)}. Did you mean ands?"),
        ({"": 1}, f"There is no setting '': use {', '.join(DEFAULTS)}."),
        ({"ands": 10}, "The setting ands is 10: use a whole number from 0 to 9."),
        ({"ands": -1}, "The setting ands is -1: use a whole number from 0 to 9."),
        ({"ands": "-1"}, "The setting ands is '-1': use a whole number from 0 to 9."),
        ({"ands": True}, "The setting ands is True: use a whole number from 0 to 9."),
        ({"ands": 1.0}, "The setting ands is 1.0: use a whole number from 0 to 9."),
        ({"keywords": 0}, "The setting keywords is 0: use a whole number from 1 to 10."),
        ({"keywords": "٣"}, "The setting keywords is '٣': use a whole number from 1 to 10."),
        ({"depth": 1_001}, "The setting depth is 1001: use a whole number from 0 to 1000."),
        ({"tree_depth": 0}, "The setting tree_depth is 0: use a whole number from 1 to 8."),
        ({"answer": "long"}, "The setting answer is 'long': use one of structured, brief."),
        ({"paper": 1}, "The setting paper is 1: use at most 500 characters."),
        ({"paper": "x" * 501}, f"The setting paper is '{'x' * 99}: use at most 500 characters."),
        ({"glossary": 1}, "The setting glossary is 1: use true or false."),
        (
            {"words": "whole"},
            "The setting words is 'whole': use one of auto, known, blanks, morphemes, compound, both.",
        ),
        ({"languages": ["ko"]}, "The setting languages is ['ko']: use one of both, ko, en."),
        (
            {"candidates": "vectors"},
            "The setting candidates is 'vectors': use one of strategy, lexical, dense, hybrid.",
        ),
    ],
)
def test_an_unknown_key_or_value_is_rejected_with_the_choices(mapping: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingRejected) as caught:
        SearchSettings.from_mapping(mapping)
    assert str(caught.value) == said


def test_by_default_the_queries_are_the_papers_where_a_model_chose_the_keywords() -> None:
    paper, own = (SearchSettings().resolve(model_keywords=by_model) for by_model in (True, False))
    assert (paper.words, paper.extra_queries) == ("blanks", "none")
    assert (own.words, own.extra_queries) == ("known", "translated")
    chosen = SearchSettings(words="both", extra_queries="all")
    assert chosen.resolve(model_keywords=True) == chosen.resolve(model_keywords=False) == chosen


def test_a_text_may_have_500_characters() -> None:
    assert SearchSettings(paper="x" * 500).paper == "x" * 500


def test_the_constructor_checks_settings_too() -> None:
    with pytest.raises(SettingRejected, match=r"^The setting ands is 99"):
        SearchSettings(ands=99)


@pytest.mark.parametrize("strategy", ["shrag", "hybrid"])
@pytest.mark.parametrize("name", ["keywords", "ands", "depth"])
def test_a_search_takes_every_bound_of_a_number(demo: Engine, strategy: str, name: str) -> None:
    for value in BOUNDS[name]:
        result = demo.search(QUESTION, strategy=strategy, settings=SearchSettings.from_mapping({name: value}))
        assert result.ranking.records[0].record.docid == "DEMO-SOC-012"


def test_a_number_may_have_its_bounds() -> None:
    least = SearchSettings.from_mapping({name: bounds[0] for name, bounds in BOUNDS.items()})
    most = SearchSettings.from_mapping({name: str(bounds[1]) for name, bounds in BOUNDS.items()})
    assert {name: (getattr(least, name), getattr(most, name)) for name in BOUNDS} == BOUNDS


@pytest.mark.parametrize("name", BOUNDS)
def test_a_number_beyond_its_bounds_is_rejected(name: str) -> None:
    least, most = BOUNDS[name]
    for value in (least - 1, most + 1):
        with pytest.raises(SettingRejected, match=f"{name} is {value}"):
            SearchSettings.from_mapping({name: value})


def test_fewer_keywords_are_the_most_important_ones(demo: Engine) -> None:
    def keywords(count: int) -> list[str]:
        settings = SearchSettings(keywords=count)
        return [keyword.text for keyword in demo.search(QUESTION, settings=settings).keywords.keywords]

    assert keywords(10) == ["갈등", "재택근무", "가정", "사이", "일"]
    assert keywords(2) == ["갈등", "재택근무"]


def test_the_depth_is_how_many_hits_each_query_is_asked_for(demo: Engine) -> None:
    def most(depth: int, k: int) -> int:
        hits = demo.search(QUESTION, k=k, settings=SearchSettings(depth=depth)).hits.hits
        return max(len(found) for found in hits)

    assert [most(0, 5), most(0, 20), most(3, 5), most(3, 20), most(15, 5)] == [10, 20, 3, 3, 15]


def test_the_hits_say_how_many_each_query_was_asked_for(demo: Engine) -> None:
    def depth(question: str, k: int, **settings: object) -> int:
        return demo.search(question, k=k, settings=SearchSettings.from_mapping(settings)).hits.depth

    assert [depth(QUESTION, 5), depth(QUESTION, 100), depth(QUESTION, 100, depth=10)] == [10, 100, 10]
    # A phrase that the index knows makes one query fewer, and the others are asked for more.
    assert depth("강화학습으로 로봇 팔을 제어한 연구는?", 10) == 15
    assert demo.search(QUESTION, k=7, strategy="bm25", every_record=True).hits.depth == 7
    assert demo.search(QUESTION, strategy="pipeline-1").hits.depth == 5


def test_without_the_queries_of_translations_those_of_query_reduction_stay(demo: Engine) -> None:
    every, reduced = (
        demo.search(QUESTION, settings=SearchSettings.from_mapping({"extra_queries": value})).queries.queries
        for value in ("translated", "none")
    )
    assert reduced == every[: len(reduced)]
    assert [len(query) for query in reduced] == [5, 4, 3, 2, 1]
    assert len(every) == 8
    # The keywords are the question's own words, which need no query of their own.
    asked = demo.search(QUESTION, settings=SearchSettings(extra_queries="question")).queries.queries
    assert asked == reduced


def test_without_the_glossary_nothing_is_translated(demo: Engine) -> None:
    question = "How does remote work change conflict between work and family?"
    carried = demo.search(question, k=40)
    plain = demo.search(question, k=40, settings=SearchSettings(glossary=False))
    assert any(keyword.translations for keyword in carried.keywords.keywords)
    assert not any(keyword.translations for keyword in plain.keywords.keywords)
    assert len(plain.queries.queries) < len(carried.queries.queries)
    scores = {ranked.record.docid: ranked.score for ranked in carried.ranking.records}
    korean = [each for each in plain.ranking.records if each.record.language == "ko" and each.record.docid in scores]
    assert all(each.score <= scores[each.record.docid] for each in korean)
    # The next question has it again: nothing was taken away from the index itself.
    assert demo.search(question, k=40).ranking == carried.ranking


def test_without_re_ranking_the_pool_stays_in_its_order(demo: Engine) -> None:
    result = demo.search(QUESTION, k=100, every_record=True, settings=SearchSettings(rerank=False))
    found = tuple(ranked.record.docid for ranked in result.ranking.records)
    assert found == result.hits.candidates
    assert result.ranking.reranker == "order of the candidates"
    assert [ranked.rank for ranked in result.ranking.records] == [
        each.candidate_rank for each in result.ranking.records
    ]


@pytest.mark.parametrize("strategy", ["shrag", "hybrid"])
def test_candidates_come_from_words_from_vectors_or_from_both(demo: Engine, strategy: str) -> None:
    def found(candidates: str) -> tuple[int, int, set[str]]:
        settings = SearchSettings.from_mapping({"candidates": candidates})
        hits = demo.search(QUESTION, strategy=strategy, settings=settings).hits
        return len(hits.hits), len(hits.dense), {*hits.candidates, *hits.incomplete}

    words, vectors, both = found("lexical"), found("dense"), found("hybrid")
    assert (words[:2], vectors[:2], both[:2]) == ((8, 0), (0, 10), (8, 10))
    assert words[2] | vectors[2] == both[2]
    assert found("strategy") == (words if strategy == "shrag" else both)


def test_vectors_alone_without_re_ranking_are_ranked_by_their_cosine(demo: Engine) -> None:
    settings = SearchSettings(candidates="dense", rerank=False)
    result = demo.search(QUESTION, every_record=True, settings=settings)
    complete = [hit.docid for hit in result.hits.dense if hit.docid not in result.hits.incomplete]
    assert [ranked.record.docid for ranked in result.ranking.records] == complete


def test_candidates_by_vectors_need_vectors(demo: Engine) -> None:
    from dataclasses import replace

    bare = Engine(replace(demo.open_index, dense=None))
    for candidates in ("dense", "hybrid"):
        with pytest.raises(StrategyUnavailable, match=r"^Index demo has no vectors, which the strategy shrag needs"):
            bare.search(QUESTION, settings=SearchSettings.from_mapping({"candidates": candidates}))


def test_bm25_rejects_settings(demo: Engine) -> None:
    with pytest.raises(SettingRejected, match=r"^The strategy bm25 has no setting ands: leave it out"):
        demo.search(QUESTION, strategy="bm25", settings=SearchSettings(ands=1))
    assert demo.search(QUESTION, strategy="bm25", settings=SearchSettings(), keyword_order="entropy").ranking.records


def test_the_argument_keyword_order_takes_precedence(demo: Engine) -> None:
    entropy = SearchSettings(keyword_order="entropy")
    assert demo.search(QUESTION, settings=entropy).keywords.order == "entropy"
    assert demo.search(QUESTION, settings=entropy, keyword_order="tfidf").keywords.order == "tfidf"


def test_settings_are_part_of_the_key_of_a_cached_answer(demo: Engine) -> None:
    cache = AnswerCache()
    engine = Engine(demo.open_index, cache=cache)
    for settings in (SearchSettings(), SearchSettings(ands=1), SearchSettings(), SearchSettings(ands=1)):
        engine.search(QUESTION, settings=settings)
    assert (cache.counters.misses, cache.counters.hits) == (2, 2)


def test_a_run_is_made_with_the_settings(demo: Engine, tmp_path: Path) -> None:
    topics = [Topic("1", QUESTION)]
    write_run(demo, topics, tmp_path / "a.run", k=40, strategy="shrag")
    write_run(demo, topics, tmp_path / "b.run", k=40, strategy="shrag", settings=SearchSettings())
    write_run(demo, topics, tmp_path / "c.run", k=40, strategy="shrag", settings=SearchSettings(ands=9))
    a, b, c = ((tmp_path / f"{name}.run").read_text(encoding="utf-8") for name in "abc")
    assert a == b
    assert len(c.splitlines()) < len(a.splitlines())
