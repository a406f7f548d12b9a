"""Strategy menu and example questions."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from starlette.testclient import TestClient

from shrag.indexing.glossary.store import Entry, Glossary, write_glossary
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.page.rendering import render_full_page
from shrag.serving.page.request import PageRequest
from shrag.serving.page.start import example_questions, example_terms, strategy_groups, strategy_view
from shrag.serving.strategies.registry import STRATEGIES
from tests.support.scripted_models import ScriptFile


def test_examples_are_terms_of_the_index_itself_and_are_answered(demo: Engine) -> None:
    terms = example_terms(demo.open_index)
    assert len(terms) == 4
    assert len(set(terms)) == 4
    for side, language in ((0, "ko"), (1, "en")):
        asked = example_questions(demo.open_index, "ko" if language == "ko" else "en", "{term}?")
        assert asked == [f"{names[side]}?" for names in terms]
        for question in asked:
            assert demo.ask(question).answer.citations, question


def test_an_index_without_a_glossary_has_no_examples(demo: Engine) -> None:
    assert example_questions(replace(demo.open_index, glossary=None), "ko", "{term}?") == []


def test_examples_are_mined_pairs_those_in_titles_first_then_those_of_several_words_and_no_term_twice(
    demo: Engine, tmp_path: Path
) -> None:
    write_glossary(
        tmp_path / "glossary",
        [
            Entry("모델", "model", ("모델",), ("model",), 50, "general", 0.9),
            Entry("홑낱말", "single", ("홑낱말",), ("singl",), 40, "keywords", 0.9),
            Entry("두 낱말", "two words", ("두", "낱말"), ("two", "word"), 30, "keywords", 0.9),
            Entry("그래핀", "graphene", ("그래핀",), ("graphen",), 9, "parenthetical", 0.9),
            Entry("그래핀", "graphene widget", ("그래핀",), ("graphen", "widget"), 8, "parenthetical", 0.9),
            Entry("그라핀", "graphene", ("그라핀",), ("graphen",), 7, "parenthetical", 0.9),
        ],
    )
    with closing(Glossary(tmp_path / "glossary")) as glossary:
        terms = example_terms(replace(demo.open_index, glossary=glossary))
    assert terms == [("그래핀", "graphene"), ("두 낱말", "two words"), ("홑낱말", "single")]


LINE = "retrieve(10) > rerank(5)"


def _offered(engine: Engine, strategy: str = "shrag") -> dict[str, dict[str, object]]:
    groups = strategy_groups(engine, PageRequest(None, "en", strategy=strategy))
    return {one["code"]: one for each in groups for one in each["strategies"]}


def test_every_strategy_is_offered_and_what_it_lacks_is_said(demo: Engine) -> None:
    offered = _offered(demo)
    assert offered.keys() == STRATEGIES.keys()
    assert {name for name, one in offered.items() if one["lacks"] is None} == set(demo.strategies)
    assert {offered[name]["lacks"] for name in ("rewrite", "cot", "hyde", "raise-direct")} == {"model"}
    assert {name for name, one in _offered(Engine(demo.open_index, ScriptFile("tree"))).items() if one["lacks"]} == {
        "raise-0.84", "raise-0.80",
    }  # fmt: skip


def test_the_usual_strategy_needs_no_place_in_the_address(demo: Engine) -> None:
    assert [(one["code"], one["value"]) for one in _offered(demo).values() if one["chosen"]] == [("shrag", "")]
    assert [one["value"] for one in _offered(demo, "tree").values() if one["chosen"]] == ["tree"]


def test_a_strategy_of_the_address_that_has_no_name_is_offered_too(demo: Engine) -> None:
    for strategy in (LINE, "nothing of the kind"):
        (group,) = [
            each
            for each in strategy_groups(demo, PageRequest(None, "en", strategy=strategy))
            if each["group"] == "custom"
        ]
        assert [(one["value"], one["chosen"]) for one in group["strategies"]] == [(strategy, True)]


def test_a_composition_is_shown_by_its_line() -> None:
    assert strategy_view("pipeline-2", "en")["pipeline"] == "retrieve(15) > rerank(5)"
    assert strategy_view("pipeline-2", "en")["name"] == "Pipeline 2: search and re-ranking"
    assert strategy_view("pipeline-2(9, 3)", "en")["pipeline"] == "retrieve(9) > rerank(3)"
    assert strategy_view(f" {LINE}", "ko") == {"name": "", "description": "", "pipeline": LINE, "code": f" {LINE}"}
    assert strategy_view("tree", "ko")["pipeline"] == ""
    assert strategy_view("x" * 5_000, "ko")["pipeline"] == ""
    assert len(strategy_view("x" * 5_000, "ko")["code"]) == 100


def test_the_form_keeps_the_strategy_and_says_why_another_cannot_be_asked(demo: Engine) -> None:
    html = render_full_page("page.html", demo, PageRequest(None, "en", strategy="tree"))
    assert '<option value="tree" selected data-description="Divides a question that one search cannot answer' in html
    assert '<option value="rewrite" disabled data-description="Rewrites' in html
    assert "Simpler questions (needs a language model)</option>" in html
    assert "(needs vectors)</option>" in html
    assert '<option value="" data-description="Searches with the' in html
    korean = render_full_page("page.html", demo, PageRequest(None, "ko", strategy="<b>"))
    assert '<option value="&lt;b&gt;" selected' in korean
    assert "간단한 질문으로 바꾸어 검색 (언어 모델 필요)" in korean


def test_the_page_answers_by_the_strategy_asked_for_and_shows_its_line(demo: Engine) -> None:
    client = TestClient(create_app(demo), base_url="http://127.0.0.1", raise_server_exceptions=False)
    asked = {"q": "재택근무와 갈등", "ui": "en"}
    for strategy, line in (("pipeline-6", "filter(0.6)"), (LINE, "retrieve(10) &gt; rerank(5)")):
        html = client.get("/", params=asked | {"strategy": strategy}).text
        assert f"{line}</code>" in html
        assert "OR queries" not in html
        assert "&amp;strategy=" in html  # the link that reproduces the question
    usual = client.get("/", params=asked | {"strategy": " "}).text
    assert "Search with fewer and fewer keywords (SHRAG)" in usual
    assert "OR queries" in usual
    assert "strategy=" not in usual.replace('"strategy"', "")


def test_a_strategy_that_cannot_be_asked_is_a_page_that_says_why_and_offers_the_usual_way(demo: Engine) -> None:
    client = TestClient(create_app(demo), base_url="http://127.0.0.1", raise_server_exceptions=False)
    cases = [
        ("rewrite", 409, "needs a language model, and this server has none"),
        ("raise-0.84", 409, "This index has no vectors for this strategy"),
        ("nonsense", 422, "There is no strategy &#39;nonsense&#39;"),
        ("rerank(5) > retrieve(10)", 422, "retrieve"),
    ]
    for strategy, status, says in cases:
        page = client.get("/", params={"q": "onion", "ui": "en", "strategy": strategy})
        assert (page.status_code, says in page.text) == (status, True), strategy
        assert '<a href="/?ui=en&amp;q=onion">Ask with the default strategy</a>' in page.text
        assert 'data-action="retry"' not in page.text.partition("<template")[0]
        stream = client.get("/stream", params={"q": "onion", "ui": "en", "strategy": strategy})
        assert stream.status_code == status
    korean = client.get("/", params={"q": "양파", "ui": "ko", "strategy": "rewrite"}).text
    assert "이 방식으로는 질문할 수 없습니다" in korean
    assert "언어 모델이 필요하지만" in korean
