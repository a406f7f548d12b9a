from __future__ import annotations

import pytest

from shrag.indexing.glossary.query_translation import analyze_question
from shrag.serving.engine import Engine
from shrag.serving.retrieval.negation import read_wishes
from shrag.serving.retrieval.query_terms import query_terms
from shrag.serving.search_settings import SearchSettings
from tests.support.scripted_models import ScriptedModel, listed

NOTS = SearchSettings(nots=True)


@pytest.mark.parametrize(
    ("question", "unwanted"),
    [
        ("soil carbon except salt marsh", ["salt marsh"]),
        ("soil carbon excluding the salt, and marsh", ["salt"]),
        ("soil carbon, but not in salt marsh or forest", ["salt marsh"]),
        ("Learning without a lecture, other than the soil", ["lecture", "soil"]),
        ("그래핀을 제외한 전자파 차폐 소재", ["그래핀"]),
        ("전자파 차폐 말고 그래핀", ["전자파 차폐"]),
        ("그래핀 없이 전자파를 막는 소재", ["그래핀"]),
        ("제외한 소재", []),
        ("not", []),
        ("Why does soil not hold carbon?", []),
        ("그래핀 말고기 소재", []),
        ("without", []),
        ("Whether or not soil holds carbon", []),
        ("", []),
    ],
)
def test_what_stands_beside_a_cue_is_not_wanted(demo: Engine, question: str, unwanted: list[str]) -> None:
    words = query_terms(analyze_question(question, demo.open_index.analyzer, demo.open_index.engine))
    wishes = read_wishes(question, words)
    assert [" ".join(word.text for word in phrase) for phrase in wishes.unwanted] == unwanted
    excluded = {word.terms for phrase in wishes.unwanted for word in phrase}
    assert wishes.wanted == [word for word in words if word.terms not in excluded]


def test_a_question_that_excludes_all_it_says_excludes_nothing(demo: Engine) -> None:
    words = query_terms(analyze_question("except salt marsh", demo.open_index.analyzer, demo.open_index.engine))
    assert read_wishes("except salt marsh", words) == (words, [])


def test_what_is_excluded_is_neither_searched_for_nor_found(demo: Engine) -> None:
    question = "그래핀을 제외한 전자파 차폐 소재는?"
    plain = demo.search(question, k=100)
    result = demo.search(question, k=100, settings=NOTS)
    assert plain.ranking.records[0].record.docid == "DEMO-MAT-001"
    assert [word.text for word in result.keywords.keywords] == ["전자파", "차폐", "소재"]
    assert all(query[-1] == "− 그래핀" for query in result.queries.queries)
    assert result.ranking.records
    assert not [each.record.docid for each in result.ranking.records if "그래핀" in each.record.text]


def test_without_a_cue_the_setting_changes_nothing(demo: Engine) -> None:
    question = "전자파 차폐 소재는?"
    plain, result = demo.search(question), demo.search(question, settings=NOTS)
    assert (plain.queries, plain.hits, plain.ranking) == (result.queries, result.hits, result.ranking)


def test_a_model_that_chooses_what_is_excluded_is_not_heard(demo: Engine) -> None:
    model = ScriptedModel(listed("그래핀", "전자파 차폐"), listed("shielding"), [])
    result = Engine(demo.open_index, model).search("그래핀을 제외한 전자파 차폐 소재는?", settings=NOTS)
    assert "그래핀" not in [word.text for word in result.keywords.keywords]
