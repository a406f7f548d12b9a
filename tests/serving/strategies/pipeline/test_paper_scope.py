"""Pipelines over papers: restricted to one by its title, over words and over the vectors of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.records import Topic
from shrag.evaluation.experiments.engines import ask_topic
from shrag.evaluation.experiments.spec import Condition
from shrag.evaluation.questions.reference_answers import Reference
from shrag.indexing.build.builder import build_index
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import SettingRejected
from shrag.serving.results import SearchResult
from shrag.serving.search_settings import SearchSettings
from tests.support.scripted_models import ScriptFile

pytestmark = pytest.mark.slow

QUESTION = "How well do films shield?"
PAPERS = {
    "Graphene films": ["Films of graphene shield 30 dB.", "They were grown on copper.", "A film is 5 nm thick."],
    "Graphene films in space": [
        "Films shield satellites.",
        "In orbit films shield 28 dB.",
        "Films age.",
        "Films tear.",
    ],
    "Copper meshes": ["A mesh shields 20 dB."],
}


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Iterator[Engine]:
    """Return an engine over three papers with the vectors of a tiny model; each section is one chunk."""
    home = tmp_path_factory.mktemp("papers-home")
    lines = [
        {"paper_id": f"P{number}", "title": title, "sections": [{"heading": text[:5], "text": text} for text in texts]}
        for number, (title, texts) in enumerate(PAPERS.items())
    ]
    (home / "papers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    add_corpus(home / "corpora", "papers", "papers", [home / "papers.jsonl"])
    build_index(home / "corpora", home / "indexes", "papers", encoder=str(encoder_folder))
    engine = open_engine(home / "indexes", "papers", reranker="lexical")
    yield engine
    engine.close()


def docids(found: SearchResult) -> list[str]:
    return [ranked.record.docid for ranked in found.ranking.records]


def search(engine: Engine, strategy: str, paper: str = "") -> SearchResult:
    return engine.search(QUESTION, strategy=strategy, settings=SearchSettings(paper=paper), every_record=True)


@pytest.mark.parametrize("strategy", ["retrieve(3)", "dense(3)", "retrieve(3) > dense(3) > rrf(4)"])
def test_a_paper_is_found_by_its_title_and_no_other_paper_with_those_words(papers: Engine, strategy: str) -> None:
    everywhere = {docid.partition("#")[0] for docid in docids(search(papers, "retrieve(8)"))}
    assert everywhere >= {"P0", "P1"}
    for title in ("Graphene films", " graphene  FILMS "):
        found = docids(search(papers, strategy, title))
        assert found
        assert {docid.partition("#")[0] for docid in found} == {"P0"}


def test_a_paper_is_searched_in_the_order_of_its_own_scores(papers: Engine) -> None:
    inside = [docid for docid in docids(search(papers, "retrieve(8)")) if docid.startswith("P1")]
    assert docids(search(papers, "retrieve(4)", "Graphene films in space")) == inside


@pytest.mark.parametrize("strategy", ["retrieve(5)", "dense(5)"])
def test_where_a_paper_has_too_few_chunks_other_papers_follow(papers: Engine, strategy: str) -> None:
    found = docids(search(papers, strategy, "Copper meshes"))
    assert found[0] == "P2#0"
    assert len(found) == 5
    assert len(set(found)) == 5


def test_an_experiment_searches_in_the_paper_that_a_reference_names(papers: Engine) -> None:
    topic = Topic("q", QUESTION)
    for own_paper, first in ((True, "P2#0"), (False, "P1")):
        condition = Condition("c", strategy="retrieve(3)", own_paper=own_paper)
        record = ask_topic(papers, condition, 3, topic, {}, Reference("q", paper="Copper meshes"))
        assert record.outcome.top_docids[0].startswith(first)


@pytest.mark.parametrize("paper", ["Graphene", "?!", "Films"])
def test_an_unknown_title_is_rejected(papers: Engine, paper: str) -> None:
    with pytest.raises(SettingRejected, match="Index papers has no paper called "):
        search(papers, "pipeline-1", paper)


def test_presets_search_a_models_vectors_where_there_are_some_unless_the_name_says_words(papers: Engine) -> None:
    by_index, dense, words = (search(papers, f"pipeline-1{source}") for source in ("", "-dense", "-bm25"))
    assert docids(by_index) == docids(dense)
    assert [each.ranking.reranker for each in (by_index, dense, words)] == [
        "tiny-encoder cosine",
        "tiny-encoder cosine",
        "BM25",
    ]
    assert (words.hits.encoder, dense.hits.encoder_is_model) == ("", True)


def test_presets_search_words_where_the_vectors_are_no_models(demo: Engine) -> None:
    assert demo.search(QUESTION, strategy="pipeline-1").ranking.reranker == "BM25"


def test_a_brief_answer_has_the_paper_in_its_prompt_and_is_what_stands_behind_the_reasoning(papers: Engine) -> None:
    model = ScriptFile("pipelines")
    model.write("##Reasoning##\nThe first passage gives it.\n##Answer##\nFilms of graphene shield 30 dB [1].\n")
    engine = Engine(papers.open_index, model=model)
    settings = SearchSettings(paper="Graphene films", answer="brief")
    answer = engine.ask("How many dB do films shield?", strategy="pipeline-1", settings=settings).answer
    assert [(each.part, [sentence.text for sentence in each.sentences]) for each in answer.sections] == [
        ("body", ["Films of graphene shield 30 dB."])
    ]
    assert "Paper: Graphene films" in model.streams[0]
    assert answer.kind == "generated"


@pytest.mark.parametrize(
    "text", ["##NO ANSWER##", "##답변 불가##", "##Reasoning##\nNothing fits.\n##Answer##\n##NO ANSWER##"]
)
def test_a_brief_refusal_is_a_refusal(papers: Engine, text: str) -> None:
    model = ScriptFile("pipelines")
    model.write(text)
    engine = Engine(papers.open_index, model=model)
    answer = engine.ask(QUESTION, strategy="pipeline-1", settings=SearchSettings(answer="brief")).answer
    assert (answer.kind, answer.reason) == ("generated", "nothing_fits")


def test_a_brief_answer_may_be_too_short_to_be_supported(papers: Engine) -> None:
    model = ScriptFile("pipelines")
    model.write("##Answer##\nYes")
    engine = Engine(papers.open_index, model=model)
    answer = engine.ask(QUESTION, strategy="pipeline-1", settings=SearchSettings(answer="brief")).answer
    (section,) = answer.sections
    assert [(each.text, each.supported) for each in section.sentences] == [("Yes", False)]
