"""Query terms: phrases, weights, and what can be searched for."""

from __future__ import annotations

import pytest

from shrag.indexing.bm25 import idf
from shrag.indexing.query import And, Or, Term, any_of
from shrag.indexing.translation.query_translation import Translation, analyze_question
from shrag.serving.engine import Engine
from shrag.serving.events import Keyword
from shrag.serving.retrieval.query_builder import build_subqueries, reduce_query
from shrag.serving.retrieval.query_terms import (
    QueryTerm,
    choose_phrases,
    distinctive_words,
    has_phrase,
    join_terms,
    keyword_of,
    matched_share,
    query_terms,
    question_keywords,
    searchable,
    why_nothing,
)
from shrag.serving.search_settings import SearchSettings
from tests.support.scripted_models import ScriptedModel, listed


def _keywords(demo: Engine, question: str) -> list[QueryTerm]:
    return searchable(query_terms(analyze_question(question, demo.open_index.analyzer, demo.open_index.searcher)))


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
    assert [word.text for word in choose_phrases(keywords, question, "compound")] == compound
    assert choose_phrases(keywords, question, "morphemes") == keywords
    both = choose_phrases(keywords, question, "both")
    assert {word.text for word in both} == {word.text for word in keywords} | set(compound)


def test_a_compound_stands_before_the_words_that_it_is_made_of(demo: Engine) -> None:
    question = "salt marsh soil and carbon"
    both = choose_phrases(_keywords(demo, question), question, "both")
    assert [word.text for word in both] == ["salt marsh", "salt", "marsh soil", "marsh", "soil", "carbon"]


def test_a_compound_is_found_where_all_its_words_are_and_weighs_as_much_as_they() -> None:
    a, b, c = (
        QueryTerm(name, (name,), idf, uses, True, True) for name, idf, uses in (("a", 2, 3), ("b", 1, 1), ("c", 4, 1))
    )
    joined = join_terms([a, b])
    assert (joined.text, joined.terms, joined.idf, joined.frequency) == ("a b", ("a", "b"), 3, 1)
    compound = SearchSettings(words="compound")
    assert build_subqueries(reduce_query([joined, c]), compound) == [
        Or((And((any_of(["a"]), any_of(["b"]))), Term("c"))),
        Or((And((any_of(["a"]), any_of(["b"]))),)),
    ]
    assert join_terms([a]) is a
    assert joined.keyword
    unknown = b._replace(known=False)
    assert [join_terms(pair).known for pair in ([a, b], [a, unknown], [unknown, b])] == [True, False, False]


def test_a_compound_spans_its_words_and_is_shown_as_the_question_has_them(demo: Engine) -> None:
    question = "salt marsh soil, carbon"
    salt, marsh, soil, carbon = _keywords(demo, question)
    joined = join_terms([salt, marsh, soil], question)
    assert (joined.text, joined.start, joined.end) == ("salt marsh soil", 0, 15)
    assert (joined.parts, joined.terms) == ((salt, marsh, soil), ("salt", "marsh", "soil"))
    assert join_terms([soil, carbon], question).text == "soil, carbon"


@pytest.mark.parametrize(
    ("question", "blanks"),
    [
        ("도매가격 예측", ["도매가격", "예측"]),
        ("salt-marsh soil", ["salt-marsh", "soil"]),
        ("salt marsh,soil/carbon", ["salt", "marsh,soil/carbon"]),
        ("salt\nmarsh", ["salt", "marsh"]),
        ("salt, marsh", ["salt", "marsh"]),
        ("salt", ["salt"]),
        ("", []),
    ],
)
def test_keywords_that_no_blank_is_between_are_one_keyword(demo: Engine, question: str, blanks: list[str]) -> None:
    keywords = _keywords(demo, question)
    assert [word.text for word in choose_phrases(keywords, question, "blanks")] == blanks
    assert [word.text for word in choose_phrases(keywords[::-1], question, "blanks")] == blanks


def test_compounds_find_fewer_records_than_their_words(demo: Engine) -> None:
    question = "restored salt marsh soil carbon"
    found = {
        choice: len(
            demo.search(question, k=100, settings=SearchSettings.from_mapping({"words": choice})).hits.candidates
        )
        for choice in ("compound", "morphemes", "both")
    }
    assert 0 < found["compound"] < found["morphemes"] <= found["both"]


def test_a_models_compounds_stay_whole_are_split_or_both(demo: Engine) -> None:
    model = ScriptedModel(listed("전자파 차폐", "그래핀"), listed("shielding"), [])
    engine = Engine(demo.open_index, model)

    def keywords(choice: str) -> list[str]:
        settings = SearchSettings.from_mapping({"words": choice, "keyword_order": "model", "languages": "ko"})
        return [word.text for word in engine.search("그래핀 전자파 차폐?", settings=settings).keywords.keywords]

    assert keywords("morphemes") == ["전자파", "차폐", "그래핀"]
    assert keywords("compound") == ["전자파 차폐", "그래핀"]
    assert keywords("both") == ["전자파 차폐", "전자파", "차폐", "그래핀"]


def _words(demo: Engine, question: str) -> list[QueryTerm]:
    return query_terms(analyze_question(question, demo.open_index.analyzer, demo.open_index.searcher))


def test_words_are_the_content_words_as_written_each_once(demo: Engine) -> None:
    words = _words(demo, "GPT-4와 gpt-4는 그래핀을 어떻게 비교하나? 재귀적으로")
    assert [(word.text, word.frequency, word.keyword, word.known) for word in words] == [
        ("GPT-4", 2, True, True),
        ("그래핀", 1, True, True),
        ("비교", 1, True, True),
        ("재귀", 1, True, False),
    ]
    assert words[0].terms == ("gpt", "gpt4", "4")


def test_words_behind_one_that_only_modifies_are_found_too(demo: Engine) -> None:
    assert [(word.text, word.keyword) for word in _words(demo, "매우 빠르게 그래핀을")] == [
        ("빠르", False),
        ("그래핀", True),
    ]


def test_a_word_weighs_as_its_rarest_term_that_the_index_has(demo: Engine) -> None:
    (word,) = _words(demo, "GPT-4")
    statistics = demo.open_index.searcher.statistics(list(word.terms)).contents
    assert word.idf == max(idf(df, 235) for df in statistics.document_frequencies.values() if df)
    (unknown,) = _words(demo, "재귀")
    assert unknown.idf == idf(0, 235)


def test_a_text_with_one_part_of_a_word_does_not_have_the_word(demo: Engine) -> None:
    words = _words(demo, "GPT-4")
    texts = ({"4"}, {"gpt"}, {"gpt", "4"}, {"gpt4"})
    assert [matched_share(words, terms) for terms in texts] == [0, 0, 1, 1]
    assert [has_phrase(terms, [words]) for terms in texts] == [False, False, True, True]
    assert not has_phrase({"gpt", "4"}, [])


def test_the_share_of_a_question_goes_from_none_to_all() -> None:
    words = [QueryTerm("a", ("a", "a1"), 3.0, 1, True, True), QueryTerm("b", ("b",), 1.0, 1, True, True)]
    assert [matched_share(words, terms) for terms in (set(), {"b"}, {"a1"}, {"a", "b", "c"})] == [0, 0.25, 0.75, 1]
    assert matched_share([], {"a"}) == 0


def test_only_known_nouns_names_and_numbers_can_be_searched_for() -> None:
    words = [QueryTerm(str(n), (str(n),), float(n), 1, keyword=n != 3, known=n != 4) for n in range(6)]
    assert [word.text for word in searchable(words)] == ["0", "1", "2", "5"]


def test_a_word_that_frames_the_request_is_no_keyword_and_has_no_share(demo: Engine) -> None:
    words = _words(demo, "신경망으로 문서를 분류한 연구를 요약해 주세요.")
    assert [word.text for word in words if word.framing] == ["연구", "요약", "주"]
    assert not any(word.framing for word in searchable(words))
    assert matched_share(words, {"신경망", "문서", "분류"}) == 1
    (content,) = [
        word for word in _words(demo, "그래핀 연구의 동향에 관한 연구를 요약해 주세요.") if word.text == "연구"
    ]
    assert (content.framing, content.frequency) == (False, 1)


def test_words_behind_the_framing_use_of_a_word_are_found_too(demo: Engine) -> None:
    words = _words(demo, "그래핀 연구의 동향에 관한 연구를 요약해 주세요.")
    assert [(word.text, word.framing) for word in words] == [
        ("그래핀", False),
        ("연구", False),
        ("동향", False),
        ("관한", False),
        ("요약", True),
        ("주", True),
    ]


def test_the_distinctive_words_are_rare_keywords_that_frame_no_request() -> None:
    words = [
        QueryTerm("rare", ("rare",), 4.0, 1, True, True),
        QueryTerm("half", ("half",), 2.0, 1, True, True),
        QueryTerm("often", ("often",), 1.9, 1, True, True),
        QueryTerm("says", ("say",), 9.0, 1, False, True),
        QueryTerm("study", ("study",), 9.0, 1, True, True, framing=True),
        QueryTerm("please", ("please",), 9.0, 1, False, True, framing=True),
    ]
    assert [word.text for word in distinctive_words(words)] == ["rare", "half"]
    assert distinctive_words(words[3:]) == []


def test_the_keywords_of_a_question_are_its_known_words_by_how_often_it_has_them_and_the_others_are_named(
    demo: Engine,
) -> None:
    words = _words(demo, "그래핀과 재귀, 그래핀")
    graphene = words[0]
    keywords = question_keywords(words)
    assert [(each.text, each.weight) for each in keywords.keywords] == [("그래핀", 2 * graphene.idf)]
    assert keywords.unknown == ("재귀",)


def test_the_translations_of_a_keyword_are_shown_but_for_the_word_itself() -> None:
    translations = tuple(Translation(text, (text,), 1.0) for text in ("그래핀", "graphene", "그라핀"))
    word = QueryTerm("그래핀", ("그래핀",), 3.0, 1, True, True, translations)
    assert keyword_of(word, 0.5) == Keyword("그래핀", ("그래핀",), 0.5, ("graphene", "그라핀"))


def test_a_framing_word_alone_is_a_keyword(demo: Engine) -> None:
    assert [word.text for word in _keywords(demo, "연구가 있나요?")] == ["연구"]


def test_each_query_drops_the_least_important_keyword_of_the_one_before() -> None:
    words = [QueryTerm("A", ("a1", "a2"), 2, 1, True, True), QueryTerm("B", ("b",), 1, 1, True, True)]
    assert build_subqueries(reduce_query(words)) == [any_of(["a1", "a2", "b"]), any_of(["a1", "a2"])]
    assert build_subqueries(reduce_query([])) == []


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("???", "no_keywords"),
        ("무엇이 어떻게 되나요?", "no_keywords"),
        ("zzzz qqqq", "unknown_words"),
        ("그래핀", "nothing_found"),
    ],
)
def test_there_is_a_reason_for_finding_nothing(demo: Engine, question: str, reason: str) -> None:
    assert why_nothing(_words(demo, question)) == reason
