from __future__ import annotations

import pytest

from shrag.indexing.query import And, Or, Term, any_of
from shrag.serving.compounds import choose_words, join_words
from shrag.serving.engine import Engine
from shrag.serving.ladder import build_ladder
from shrag.serving.search_settings import SearchSettings
from shrag.serving.words import Word, question_words, searchable
from tests.serving.scripted import ScriptedModel, listed


def _keywords(demo: Engine, question: str) -> list[Word]:
    return searchable(question_words(question, demo.open_index.analyzer, demo.open_index.engine))


@pytest.mark.parametrize(
    ("question", "compound"),
    [
        ("salt marsh soil and carbon", ["salt marsh", "marsh soil", "carbon"]),
        ("salt, marsh", ["salt", "marsh"]),
        ("전자파 차폐 소재의 밀도", ["전자파 차폐", "차폐 소재", "밀도"]),
        ("salt", ["salt"]),
        ("", []),
    ],
)
def test_neighbours_with_nothing_between_them_are_one_keyword(demo: Engine, question: str, compound: list[str]) -> None:
    keywords = _keywords(demo, question)
    assert [word.text for word in choose_words(keywords, question, "compound")] == compound
    assert choose_words(keywords, question, "split") == keywords
    both = choose_words(keywords, question, "both")
    assert {word.text for word in both} == {word.text for word in keywords} | set(compound)


def test_a_compound_is_found_where_all_its_words_are_and_weighs_as_much_as_they() -> None:
    a, b, c = (
        Word(name, (name,), idf, uses, True, True) for name, idf, uses in (("a", 2, 3), ("b", 1, 1), ("c", 4, 1))
    )
    joined = join_words([a, b])
    assert (joined.text, joined.terms, joined.idf, joined.uses) == ("a b", ("a", "b"), 3, 1)
    assert build_ladder([joined, c]) == [
        Or((And((any_of(["a"]), any_of(["b"]))), Term("c"))),
        Or((And((any_of(["a"]), any_of(["b"]))),)),
    ]
    assert join_words([a]) is a


def test_compounds_find_fewer_records_than_their_words(demo: Engine) -> None:
    question = "restored salt marsh soil carbon"
    found = {
        choice: len(demo.search(question, k=100, settings=SearchSettings.from_mapping({"words": choice})).hits.pool)
        for choice in ("compound", "split", "both")
    }
    assert 0 < found["compound"] < found["split"] <= found["both"]


def test_a_models_compounds_stay_whole_are_split_or_both(demo: Engine) -> None:
    model = ScriptedModel(listed("전자파 차폐", "그래핀"), listed("shielding"), [])
    engine = Engine(demo.open_index, model)

    def keywords(choice: str) -> list[str]:
        settings = SearchSettings.from_mapping({"words": choice, "keyword_order": "model", "languages": "ko"})
        return [word.text for word in engine.search("그래핀 전자파 차폐?", settings=settings).keywords.keywords]

    assert keywords("split") == ["전자파", "차폐", "그래핀"]
    assert keywords("compound") == ["전자파 차폐", "그래핀"]
    assert keywords("both") == ["전자파 차폐", "전자파", "차폐", "그래핀"]
