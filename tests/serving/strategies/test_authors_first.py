from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrag.indexing.record_filter import RecordFilter
from shrag.serving.engine import Engine
from shrag.serving.events import Authors
from shrag.serving.request import Turn
from shrag.serving.results import AskResult, SearchResult
from tests.support.author_index import AuthoredRecord, open_author_index
from tests.support.scripted_models import ScriptedModel

KAVRAKI = ("Kavraki, Lydia E.",)


@pytest.fixture(scope="module")
def authors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An index of which r3, r4 and r7 are by Kavraki, and r1 and r2 have more words of motion planning."""
    records = [
        AuthoredRecord("Motion planning motion planning", "Moll, Mark"),
        AuthoredRecord("Planning the motion of motion planning arms", "Moll, Mark"),
        AuthoredRecord("Sampling for motion planning of robots", "Kavraki, Lydia E."),
        AuthoredRecord("Docking of ligands", "Kavraki, Lydia E."),
        AuthoredRecord("What Hassabis said of chess", "Moll, Mark"),
        AuthoredRecord("Intuition in mathematics", "Hassabis, Demis"),
        AuthoredRecord("Motion in general", "Kavraki, Lydia E."),
        AuthoredRecord("Rockets", "; ".join(f"Quist, {chr(65 + n % 26)}{n}" for n in range(60))),
        AuthoredRecord("Rocket engines and their cooling", "Quist, Zz"),
    ]
    with open_author_index(tmp_path_factory.mktemp("authors"), records) as engine:
        yield engine


def docids(result: SearchResult | AskResult) -> list[str]:
    search = result if isinstance(result, SearchResult) else result.search
    return [each.record.docid for each in search.ranking.records]


@pytest.mark.parametrize("strategy", ["shrag", "bm25", "tree", "pipeline-1"])
def test_the_authors_records_on_the_topic_come_first_and_others_behind(authors: Engine, strategy: str) -> None:
    result = authors.search("Kavraki motion planning", strategy=strategy)
    assert docids(result)[0] == "r3"
    assert set(docids(result)[1:]) == {"r1", "r2", "r7"}
    assert [each.rank for each in result] == [1, 2, 3, 4]
    assert result.authors == Authors(KAVRAKI, 1, "first")
    assert result.keywords.unknown == ()


def test_the_answer_quotes_the_authors_record(authors: Engine) -> None:
    result = authors.ask("Kavraki motion planning")
    assert all(0 <= seconds < 60 for seconds in result.search.timings.seconds.values())
    assert [each.docid for each in result.answer.citations][:1] == ["r3"]
    assert docids(result)[:1] == ["r3"]


def test_a_record_with_less_than_half_of_the_topic_stands_where_its_score_puts_it(
    authors: Engine,
) -> None:
    assert docids(authors.search("Kavraki motion planning"))[-1] == "r7"
    assert docids(authors.search("Kavraki motion")) == ["r7", "r3", "r1", "r2"]


def test_of_more_authors_than_a_filter_may_have_those_with_words_of_the_topic_are_taken(
    authors: Engine,
) -> None:
    result = authors.search("papers by Quist on the cooling of engines")
    assert result.authors is not None
    assert (result.authors.count, docids(result)[0]) == (61, "r9")


def test_no_more_records_than_asked_for_are_ranked_and_the_filter_holds(authors: Engine) -> None:
    assert docids(authors.search("Kavraki motion planning", k=1)) == ["r3"]
    only = authors.search("Kavraki motion planning", record_filter=RecordFilter(author=KAVRAKI))
    assert (docids(only), only.authors) == (["r3", "r7"], None)


@pytest.mark.parametrize(
    "question", ["Kavraki motion planning", "papers by Quist on the cooling of engines", "Kavraki"]
)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_further_pages_continue_the_first_and_have_every_record_once(authors: Engine, question: str, k: int) -> None:
    whole = {each.record.docid for each in authors.search(question)}
    found = [authors.search(question, k=k, offset=offset) for offset in range(0, len(whole), k)]
    pages = [docids(page) for page in found]
    assert pages[0] == docids(authors.search(question, k=k))
    assert [each.rank for page in found for each in page] == list(range(1, len(whole) + 1))
    assert sorted(docid for page in pages for docid in page) == sorted(whole)
    assert [page.ranking.more for page in found] == [True] * (len(found) - 1) + [False]
    assert {page.authors for page in found} == {found[0].authors}


def test_hits_are_counted_of_all_records(authors: Engine) -> None:
    counts = authors.search("Kavraki motion planning", facets=True).facets
    assert counts is not None
    assert {each.value: each.count for each in counts.author} == {"Moll, Mark": 2, "Kavraki, Lydia E.": 2}


def test_an_author_without_a_record_on_the_topic_is_no_unknown_word(authors: Engine) -> None:
    result = authors.ask("Kavraki chess")
    assert docids(result) == ["r5"]
    assert result.search.authors == Authors(KAVRAKI, 1, "unmatched")
    assert (result.search.keywords.unknown, result.answer.uncovered) == ((), ())


def test_a_word_that_is_only_a_part_of_the_name_stays_unknown(authors: Engine) -> None:
    assert authors.search("Kavraki rak chess").keywords.unknown == ("rak",)


def test_a_word_of_texts_changes_no_ranking_and_the_authors_are_named(authors: Engine) -> None:
    result = authors.search("Hassabis intuition mathematics")
    assert result.authors == Authors(("Hassabis, Demis",), 1, "possible")
    assert docids(authors.search("Hassabis chess")) == ["r5"]


def test_of_a_name_in_a_long_question_nothing_is_said_unless_its_records_fit(authors: Engine) -> None:
    result = authors.search("Is it true that in 1997 Kavraki was the first to lose at chess?")
    assert result.authors is None
    assert "Kavraki" in result.keywords.unknown
    fitting = authors.search("How do the robots of Kavraki use sampling for the planning of their motion?")
    assert fitting.authors == Authors(KAVRAKI, 1, "first")


def test_a_question_with_choices_is_read_without_authors(authors: Engine) -> None:
    assert authors.search("Kavraki motion planning", choices=["yes", "no"]).authors is None


def test_a_question_after_others_names_authors_as_any_question_does(authors: Engine) -> None:
    history = [Turn("chess")]
    for question in ("Kavraki motion planning", "Kavraki chess", "Hassabis intuition mathematics"):
        alone, later = authors.ask(question), authors.ask(question, history=history)
        assert later.search.follow_up is None
        assert (docids(later), later.search.authors) == (docids(alone), alone.search.authors)
        assert later.answer.citations == alone.answer.citations


def test_what_a_rewritten_follow_up_question_names_is_found(authors: Engine) -> None:
    def ask(rewritten: str) -> SearchResult:
        engine = Engine(authors.open_index, ScriptedModel(english=json.dumps({"question": rewritten})))
        return engine.search("And those of the other one?", history=[Turn("Moll motion planning")], facets=True)

    fitting, listed = ask("Kavraki motion planning"), ask("papers by Kavraki")
    assert (docids(fitting)[0], fitting.authors) == ("r3", Authors(KAVRAKI, 1, "first"))
    assert (docids(listed), listed.authors) == (["r3", "r4", "r7"], Authors(KAVRAKI, 1, "listed"))
    assert fitting.facets is not None
    assert listed.facets is not None
    assert (fitting.facets.total, listed.facets.total) == (4, 3)


def test_the_authors_records_answer_a_follow_up_question_that_names_the_author(authors: Engine) -> None:
    asked = authors.ask("What methods does Kavraki use for it?", history=[Turn("motion planning of robots")])
    assert (docids(asked)[0], asked.search.authors) == ("r3", Authors(KAVRAKI, 1, "first"))
    assert [each.docid for each in asked.answer.citations][:1] == ["r3"]


def test_pages_of_every_record_have_each_duplicate_once(tmp_path: Path) -> None:
    title = "Motion planning of robots with many samples of the free configurations of their arms"
    records = [
        AuthoredRecord(title, "Kavraki, Lydia E."),
        AuthoredRecord(title, "Kavraki, Lydia E."),
        AuthoredRecord("Docking of ligands", "Kavraki, Lydia E."),
        AuthoredRecord("Motion planning", "Moll, Mark"),
    ]
    with open_author_index(tmp_path, records) as engine:
        once = engine.search("Kavraki motion planning robots")
        assert ([each.record.docid for each in once], once[0].duplicates) == (["r1", "r4"], ("r2",))
        pages = [engine.search("Kavraki motion planning robots", k=1, offset=n, every_record=True) for n in range(4)]
    assert [docids(page) for page in pages] == [["r1"], ["r2"], ["r4"], []]
    assert [page.ranking.more for page in pages] == [True, True, False, False]


def test_another_spelling_is_suggested_for_the_whole_question_with_the_authors(demo: Engine) -> None:
    for question, meant in (
        ("Venter transfer learning for automatic speach", "Venter transfer learning for automatic speech"),
        (
            "papers by Venter on speach after stroke, transfer learning",
            "papers by Venter on speech after stroke, transfer learning",
        ),
    ):
        result = demo.ask(question)
        assert result.search.authors == Authors(("Venter, Annelise",), 1, "first")
        assert (result.answer.reason, result.answer.suggestion) == ("nothing_fits", meant)
